#!/usr/bin/env python3
"""Makes the table of what device kernels cost, from which the program predicts their time without a device.

    bench/predict_gpu.py table --nvcc NVCC --include include [--capabilities 80,89,90,100,120] [--out FILE]
    bench/predict_gpu.py table --code DIR --include include ...  from fatbinaries that are there: NAME.CAPABILITY.fatbin
    bench/predict_gpu.py check --code DIR --include include [--table FILE]   compares with the table of the program
    bench/predict_gpu.py show KERNEL [--table FILE] [--capability 90]       prints what one kernel costs

Disassembles every kernel, finds its loops and says for each unit of its work (bench/sass/units.json) how many
instructions of each pipe, requests and wavefronts it costs, and how long one warp alone takes. The program knows how
often each unit occurs (bench/mbirk/gpu/launches*.cpp). docs/gpu.md derives one kernel by hand.

Needs cuobjdump and nvdisasm: of the CUDA toolkit, or of PyPI's nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm.
Exit code: 0 done; 1 `check` found a difference of more than 2 %; 2 bad usage or input; 77 a tool is missing."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))
from sass import disassembly, tools, units  # noqa: E402

TABLE = ROOT / "mbirk" / "gpu" / "data" / "kernel_costs.json"
CAPABILITIES = (80, 89, 90, 100, 120)
TOLERANCE = 0.02
# Numbers that `check` compares. The others follow from them or are small.
COMPARED = ("issue", "fma", "fp64", "special", "integer", "wavefronts", "LDG", "STG")


class Fault(Exception):
    """Bad input, in one line."""


def short_name(demangled):
    """vcd_direction<qggmrf_cylinder> from void mbirk::exec::detail::run_block<mbirk::kernel::on_warps<...>>(...)."""
    name = demangled.replace("mbirk::simd::warp_backend<mbirk::exec::cuda_warp>", "B")
    name = re.sub(r"mbirk::(kernel|exec::detail)::", "", name)
    name = re.sub(r"\((?:bool|int)\)", "", name)
    begin = name.find("run_block<")
    if begin < 0:
        return None
    name = name[begin + len("run_block<"):name.index(">(")].strip()
    name = re.sub(r"\s+(?=>)", "", name).replace(", ", ",")
    name = re.sub(r"^on_warps<(.*),(?:no|worker)_scratch>$", r"\1", name)
    name = re.sub(r"\bB,|<B>|,B\b", lambda m: "" if m[0] != "<B>" else "", name)
    return name


def spec_of(name, kernels):
    """The longest entry of units.json that names this kernel, or a kernel template that it is made of; else None."""
    matching = [k for k in kernels if re.match(re.escape(k) + r"\b", name)]
    return kernels[max(matching, key=len)] if matching else None


def costs_of(text, facts, sources, spec):
    """{kernel: costs} of one disassembly. facts: {symbol: registers and shared bytes}."""
    rare = re.compile(spec["rare"])
    functions = disassembly.parse(text)
    names = tools.demangle(functions)
    made = {}
    for symbol, function in functions.items():
        name = short_name(names[symbol])
        if name is None:
            continue
        entry = dict(facts.get(symbol, {}))
        own = spec_of(name, spec["kernels"])
        if own:
            entry["units"] = units.by_variant(function, own, sources, rare)
        else:
            entry["units"] = {"": {"loop": units.hottest_loop(function, sources, rare)}}
        made[name] = entry
    return made


def make_table(args):
    spec = json.loads((ROOT / "sass" / "units.json").read_text())
    sources = units.Sources(args.include)
    table = {}
    with tempfile.TemporaryDirectory(prefix="mbirk-sass-") as scratch:
        code = args.code or tools.compile_kernels(args.nvcc, args.include, args.capabilities, scratch)
        if not code.is_dir():
            raise Fault(f"--code {code}: not found, expected a folder of fatbinaries")
        found = sorted(code.glob("*.fatbin"))
        if not found:
            raise Fault(f"--code {code}: holds no *.fatbin, expected those of src/cuda")
        for file in found:
            for capability, text, facts in tools.disassemble(file, args.capabilities):
                for name, entry in costs_of(text, facts, sources, spec).items():
                    table.setdefault(name, {})[str(capability)] = entry
    if not table:
        raise Fault(f"{code}: holds no kernel of mbirk for the capabilities {args.capabilities}")
    return {"made by": "bench/predict_gpu.py table", "kernels": {k: table[k] for k in sorted(table)}}


def write_table(table, path):
    """A line for each kernel and capability: short enough for a string of the program, and differences are readable."""
    kernels = []
    for name, capabilities in table["kernels"].items():
        rows = [f"   {json.dumps(c)}: {json.dumps(capabilities[c], sort_keys=True, separators=(',', ':'))}"
                for c in sorted(capabilities, key=int)]
        kernels.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(rows) + "}")
    path.write_text(f'{{\n "made by": "{table["made by"]}",\n "kernels": {{\n' + ",\n".join(kernels) + "}\n}\n")


def read_table(path):
    try:
        return json.loads(path.read_text())["kernels"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Fault(f"{path}: {error}, expected a table of bench/predict_gpu.py") from None


def differences(old, new, capabilities):
    """Lines, one for each number that differs by more than the tolerance."""
    lines = []
    for kernel in sorted(old.keys() | new.keys()):
        if kernel not in new or kernel not in old:
            lines.append(f"{kernel}: only in the {'old' if kernel in old else 'new'} table")
            continue
        for capability in map(str, capabilities):
            a, b = (t[kernel].get(capability) for t in (old, new))
            if a is None or b is None:
                lines.append(f"{kernel}, {capability}: only in the {'old' if a else 'new'} table")
                continue
            names = {(v, u) for t in (a, b) for v, us in t["units"].items() for u in us}
            for variant, unit in sorted(names):
                x, y = (t["units"].get(variant, {}).get(unit, {}) for t in (a, b))
                for number in COMPARED:
                    before, now = x.get(number, 0), y.get(number, 0)
                    # Few instructions may differ by one; what matters is the whole unit.
                    if abs(now - before) > max(TOLERANCE * max(x.get("issue", 0), y.get("issue", 0)), 0.5):
                        lines.append(f"{kernel}, {capability}, {variant or '-'} {unit}: {number} {before:g} -> {now:g}")
    return lines


def check(args):
    table = read_table(args.table)
    made = make_table(args)["kernels"]
    there = sorted({int(c) for k in made.values() for c in k})
    lines = differences(table, made, there)
    print(f"{len(made)} kernels of capabilities {there}")
    for line in lines[:40]:
        print("DIFFERS:", line)
    if lines:
        print(f"{len(lines)} numbers differ by more than {TOLERANCE:.0%}: if the kernels were changed, run "
              "bench/predict_gpu.py table")
    return bool(lines)


def show(args):
    table = read_table(args.table)
    chosen = [k for k in table if args.kernel in k]
    if not chosen:
        raise Fault(f"show {args.kernel}: no such kernel, expected a part of one of {', '.join(sorted(table))}")
    for kernel in chosen:
        entry = table[kernel].get(str(args.capability))
        if entry is None:
            raise Fault(f"--capability {args.capability}: not in the table, expected one of {', '.join(table[kernel])}")
        print(f"{kernel}, sm_{args.capability}: {entry.get('registers')} registers, "
              f"{entry.get('shared')} bytes of shared memory")
        for variant, all_units in entry["units"].items():
            for unit, cost in all_units.items():
                numbers_text = ", ".join(f"{k} {v:g}" for k, v in cost.items())
                print(f"  {variant + ' packs' if variant else '':8} {unit:18}", numbers_text)
    return 0


def numbers(text):
    try:
        return tuple(int(c) for c in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}', expected capabilities such as 80,90") from None


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Fault(message)


def arguments():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    for name in ("table", "check"):
        command = commands.add_parser(name)
        command.add_argument("--include", type=pathlib.Path, default=ROOT.parent / "include")
        command.add_argument("--code", type=pathlib.Path)
        command.add_argument("--capabilities", type=numbers, default=CAPABILITIES)
        command.add_argument("--nvcc")
        command.add_argument("--out" if name == "table" else "--table", type=pathlib.Path, default=TABLE)
    command = commands.add_parser("show")
    command.add_argument("kernel")
    command.add_argument("--table", type=pathlib.Path, default=TABLE)
    command.add_argument("--capability", type=int, default=90)
    args = parser.parse_args()
    if args.command != "show" and bool(args.code) == bool(args.nvcc):
        raise Fault("expected one of --code and --nvcc")
    return args


def main():
    try:
        args = arguments()
        if args.command == "table":
            args.out.parent.mkdir(parents=True, exist_ok=True)
            write_table(make_table(args), args.out)
            return 0
        return check(args) if args.command == "check" else show(args)
    except tools.Missing as error:
        print(f"predict_gpu.py: {error}", file=sys.stderr)
        return 77
    except (Fault, OSError, tools.Failed, units.Mismatch) as error:
        print(f"predict_gpu.py: {error}".splitlines()[0], file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

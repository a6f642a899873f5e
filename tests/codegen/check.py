"""Compares what the compiler made of probe.cpp: by_hand (the library against a hand-written kernel) or tracing (none
against tracing).

Ends with 0 when they agree, 1 when not, 77 when this compiler cannot make AVX2 and FMA code (a skip)."""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
for name in ("compiler", "nm", "objdump", "include", "work"):
    parser.add_argument("--" + name, required=True)
parser.add_argument("check", choices=("by_hand", "tracing"))
args = parser.parse_args()
folder = pathlib.Path(__file__).parent
# Plain -O2, no threads: the comparison covers the code of the kernel and of the launch around it.
flags = ["-std=c++20", "-O2", "-DNDEBUG", "-mavx2", "-mfma", "-Wno-psabi", "-fno-asynchronous-unwind-tables",
         "-I", args.include]
failures = []


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def compile_probe(name, *defines):
    output = pathlib.Path(args.work) / f"probe_{args.check}_{name}.o"
    result = run(args.compiler, *flags, *defines, "-c", str(folder / "probe.cpp"), "-o", str(output))
    if result.returncode:
        sys.exit(f"{name} does not compile:\n{result.stderr}")
    return str(output)


def symbols(path, *options):
    """Demangled names, without the leading addresses and symbol types."""
    lines = run(args.nm, "-C", *options, path, check=True).stdout.splitlines()
    return {re.sub(r"^\s*([0-9a-f]+\s+)?[A-Za-z]\s+", "", line) for line in lines}


def functions(path):
    """{demangled name: [(address, mnemonic, operands)]}"""
    found, current = {}, None
    for line in run(args.objdump, "-d", "-C", "--no-show-raw-insn", path, check=True).stdout.splitlines():
        if header := re.match(r"^[0-9a-f]+ <(.*)>:$", line):
            current = found.setdefault(header[1], [])
        elif current is not None and (code := re.match(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$", line)):
            current.append((int(code[1], 16), code[2], code[3]))
    return found


def inner_loop(code):
    """Mnemonics of the shortest loop that has an FMA: from the target of a backward jump to the jump."""
    loops = []
    for end, (address, mnemonic, operands) in enumerate(code):
        target = re.match(r"([0-9a-f]+)\b", operands) if mnemonic.startswith("j") else None
        if target and int(target[1], 16) < address:
            body = [c[1] for c in code if int(target[1], 16) <= c[0] <= address]
            if any(m.startswith("vfmadd") for m in body):
                loops.append(body)
    return min(loops, key=len, default=[])


def accumulators(path, owner):
    """The loops by (packs, taps): accumulate<packs, taps> by hand, accumulate<taps, constant<packs>> of ours."""
    loops = {}
    for name, code in functions(path).items():
        if owner not in name:
            continue
        if match := re.search(r"accumulate<(?P<taps>\d), ?mbirk::simd::constant<(?P<packs>\d)> ?>"
                              r"|accumulate<(?P<hand>\d), ?(?P<its>\d)>", name):
            loops[match["packs"] or match["hand"], match["taps"] or match["its"]] = inner_loop(code)
    return loops


def expect(ok, text):
    print(("ok      " if ok else "WRONG   ") + text)
    if not ok:
        failures.append(text)


if run(args.compiler, *flags, "-x", "c++", "-", "-fsyntax-only",
       input="#include <immintrin.h>\n__m256 f(__m256 a) { return _mm256_fmadd_ps(a, a, a); }").returncode:
    print(f"skipped: {args.compiler} has no AVX2 and FMA")
    sys.exit(77)

plain = compile_probe("none")
if args.check == "by_hand":
    hand = compile_probe("by_hand", "-DMBIRK_BY_HAND")
    ours, theirs = symbols(plain, "-u"), symbols(hand, "-u")
    expect(ours == theirs, f"undefined symbols: {len(ours)} and {len(theirs)}; only ours: {sorted(ours - theirs)}, "
                           f"only by hand: {sorted(theirs - ours)}")
    ours, theirs = accumulators(plain, "mbirk::kernel::"), accumulators(hand, "by_hand::")
    expect(len(ours) == 6 * 2 and ours.keys() == theirs.keys(), f"instances: {sorted(ours)} and {sorted(theirs)}")
    for key in sorted(ours.keys() & theirs.keys()):
        packs, taps = map(int, key)
        counts = [sum(m.startswith("vfmadd") for m in loop) for loop in (ours[key], theirs[key])]
        expect(counts == [packs * taps] * 2,
               f"{packs} packs, {taps} taps: FMA instructions {counts}, expected {packs * taps}")
        calls = [m for m in ours[key] if m.startswith("call")]
        expect(not calls, f"{packs} packs, {taps} taps: no call in the loop")
        more = collections.Counter(ours[key]) - collections.Counter(theirs[key])
        less = collections.Counter(theirs[key]) - collections.Counter(ours[key])
        expect(abs(len(ours[key]) - len(theirs[key])) <= 2,
               f"{packs} packs, {taps} taps: {len(ours[key])} instructions, by hand {len(theirs[key])}; "
               f"more {dict(more)}, less {dict(less)}")
else:
    traced = compile_probe("tracing", "-DMBIRK_TRACING")
    kernels = [{n: c for n, c in functions(path).items() if re.match(r"(void )?mbirk::kernel::", n)}
               for path in (plain, traced)]
    expect(bool(kernels[0]), f"{len(kernels[0])} kernel functions")
    expect(kernels[0].keys() == kernels[1].keys(),
           f"the same set with tracing; differ: {sorted(kernels[0].keys() ^ kernels[1].keys())}")
    for name in sorted(kernels[0].keys() & kernels[1].keys()):
        same = [[c[1] for c in k[name]] for k in kernels]
        expect(same[0] == same[1],
               f"{len(same[0])} and {len(same[1])} instructions, the same ones: {name.split('(')[0]}")
    found, expected = ([n for n in symbols(path) if "trac" in n] for path in (plain, traced))
    expect(not found, f"no symbol of tracing without it: {found}")
    expect(bool(expected), f"{len(expected)} symbols of tracing with it")
    names = symbols(traced, "--defined-only")
    expect(not any("tracing" in n for n in names if re.match(r"(void )?mbirk::kernel::", n)),
           "no kernel symbol names the policy")
sys.exit(bool(failures))

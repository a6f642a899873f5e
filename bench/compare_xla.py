#!/usr/bin/env python3
"""What XLA estimates for the operations beside what mbirk counts: a table in Markdown.

  build/venv-check/bin/python bench/compare_xla.py --mbirk build/release/bench/mbirk/mbirk [--size 32] [--ops GLOB]

Runs `mbirk profile`, lets XLA (jaxlib, CPU) parse, estimate, compile and run every StableHLO module that it wrote, and
checks that the estimate for the text as it is written is the one that the writer predicted. Ends with 1 when a module
is rejected or a prediction is wrong.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

checker = pathlib.Path(__file__).resolve().parent.parent / "tests" / "check" / "check_hlo.py"


def short(x):
    for unit, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(x) >= unit:
            return f"{x / unit:.3g}{name}"
    return f"{x:.0f}"


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--mbirk", required=True, help="the program")
parser.add_argument("--size", type=int, default=32)
parser.add_argument("--ops", default="*", help="a shell pattern for the operations")
args = parser.parse_args()

wrong = 0
with tempfile.TemporaryDirectory() as scratch:
    command = [args.mbirk, "profile", "--sizes", str(args.size), "--runs", "1", "--quiet", "--ops", args.ops,
               "--out", scratch]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    report = json.loads(next(pathlib.Path(scratch).glob("mbirk_profile_*.json")).read_text())
    size = str(args.size)
    print(f"| operation at {size} | form | flops counted | by XLA's rules | graph | XLA as written | XLA compiled | "
          "XLA / counted | bytes compulsory | XLA compiled |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for operation, forms in report["graphs"][size].items():
        counted = report["cost_analysis"][size].get(operation)
        if counted is None:  # a part of an operation, such as a subset update
            continue
        for form, graph in forms.items():
            module = next(pathlib.Path(scratch).glob("graphs/*/" + graph["module"]))
            run = subprocess.run([sys.executable, str(checker), str(module), "--json",
                                  "--flops", str(graph["xla flops"]),
                                  "--transcendentals", str(graph["xla transcendentals"])],
                                 capture_output=True, text=True)
            if run.returncode:
                wrong += 1
                print(f"{module.name}: {run.stdout[-500:]} {run.stderr[-500:]}", file=sys.stderr)
                continue
            xla = json.loads(run.stdout.splitlines()[0])
            written, compiled = xla["estimate as written"], xla["estimate compiled"]
            by_rules = counted["flops xla"]
            # XLA counts the body of a loop once, so a ratio to the count of all iterations would be meaningless.
            ratio = "loops" if graph["while loops"] else f"{written['flops'] / by_rules:.2f}" if by_rules else "-"
            print(f"| {operation} | {form} | {short(counted['flops'])} | {short(by_rules)} | {short(graph['flops'])} | "
                  f"{short(written['flops'])} | {short(compiled.get('flops', 0))} | {ratio} | "
                  f"{short(graph['bytes compulsory'])} | {short(compiled.get('bytes accessed', 0))} |")
sys.exit(1 if wrong else 0)

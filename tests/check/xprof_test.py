"""Lets XProf's own converters read what `mbirk profile` writes, for a host run and for a run of emulated device
kernels, and holds the flops that the viewer shows against those that were counted. Usage: xprof_test.py PROGRAM. Ends
with 77 where xprof is missing (a skip)."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import xprof  # noqa: F401
except ImportError as e:
    print("skipped:", e)
    sys.exit(77)

PROGRAM, HERE = sys.argv[1], pathlib.Path(__file__).parent
COMMON = ("overview_page,input_pipeline_analyzer,trace_viewer@,trace_viewer,framework_op_stats,hlo_stats,op_profile,"
          "roofline_model,memory_profile,memory_viewer,graph_viewer")


def check(scratch, name, tools, arguments):
    out = pathlib.Path(scratch) / name
    subprocess.run([PROGRAM, "profile", "--runs", "2", "--quiet", "--out", str(out)] + arguments, check=True,
                   stdout=subprocess.DEVNULL)
    seen = out / "seen.json"
    subprocess.run([sys.executable, "-B", str(HERE / "check_xprof.py"), str(out / "traces"), "--require", tools,
                    "--values", "--json", str(seen)], check=True)
    return json.loads(next(out.glob("mbirk_profile_*.json")).read_text()), json.loads(seen.read_text())


with tempfile.TemporaryDirectory() as scratch:
    report, seen = check(scratch, "host", COMMON, ["--sizes", "8,16"])
    assert len(seen) == 2 and not report["errors"], (list(seen), report["errors"])
    for run, result in seen.items():
        costs = report["cost_analysis"][run.split("/")[1].removeprefix("vol")]
        overview = result["tools"]["overview_page"]["show"][0]
        assert overview["steps"] == len(costs), f"{run}: {overview['steps']} steps, {len(costs)} operations"
        shown, counted = (sum(r["rawFlops"] for r in result["tools"]["op_profile"]["show"]),
                          sum(c["flops"] for c in costs.values()))
        # the counts of a launch are the mean, a whole number: half a flop off at most
        assert abs(shown - counted) <= sum(c["launches"] for c in costs.values()) / 2, (
            f"{run}: the viewer shows {shown} flops, {counted} were counted")
        print(f"{run}: {shown} of {counted} flops")
    check(scratch, "emulated", COMMON + ",kernel_stats", ["--policy", "emulated", "--sizes", "8"])

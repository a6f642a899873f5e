"""Lets XLA parse, estimate, compile and run the StableHLO of generate.cpp: results as in the golden cases, flops and
transcendentals exactly as the writer predicted them. With a second argument, the program, also every module that it
writes for size 16. Ends with 77 where jax is missing (a skip)."""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

folder, program = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
# XLA's own passes, which count the flops, are not affected; LLVM takes half of the time with this.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_backend_optimization_level=0"
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "check"))
import check_hlo  # noqa: E402
try:
    import jax  # noqa: F401
    import numpy as np
except ImportError as e:
    print("skipped:", e)
    sys.exit(77)


def check(name, *arguments):
    """Whether the checker succeeds. Runs in this process, as loading XLA takes longer than checking most modules."""
    said, sys.argv = io.StringIO(), ["check_hlo.py", *arguments]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = check_hlo.main()
        except Exception:
            code = traceback.format_exc()
    # if XLA ends the process, the culprit is the module after the last printed one
    print("WRONG  " if code else "ok     ", name, flush=True)
    if code:
        print(said.getvalue()[-2000:], code)
    return not code


failed = 0
cases = json.loads((folder / "cases.json").read_text())
with tempfile.TemporaryDirectory() as scratch:
    for case in cases:
        arguments = [str(folder / case["module"]), "--flops", str(case["flops"]),
                     "--transcendentals", str(case["transcendentals"])]
        if case["inputs"]:
            at = pathlib.Path(case["folder"])
            arrays = [np.load(at / (name + ".npy")) if name else None for name in case["inputs"]]
            views = next((a for name, a in zip(case["inputs"], arrays) if name == "angles"), None)
            arrays = [np.zeros_like(views) if a is None else a.astype(np.int32) if a.dtype.kind == "i"
                      else a.astype(np.float32) for a in arrays]
            expected = [np.load(at / (name + ".npy")) for name in case["expected"]]
            np.savez(pathlib.Path(scratch) / "in.npz", **{f"arg{k}": a for k, a in enumerate(arrays)})
            np.savez(pathlib.Path(scratch) / "out.npz", **{f"out{k}": a for k, a in enumerate(expected)})
            # float32 sums of up to 500 terms in another order, and sines of angles in float32: 1e-5 of the largest
            # element
            largest = max(float(np.abs(a).max()) for a in expected)
            arguments += ["--inputs", f"{scratch}/in.npz", "--expect", f"{scratch}/out.npz", "--rtol", "0",
                          "--atol", str(1e-5 * largest)]
        failed += not check(case["module"], *arguments)

    if program:
        subprocess.run([program, "profile", "--sizes", "16", "--runs", "1", "--threads", "1", "--quiet",
                        "--out", scratch], check=True, stdout=subprocess.DEVNULL)
        report = json.loads(next(pathlib.Path(scratch).glob("mbirk_profile_*.json")).read_text())
        for operation, forms in report["graphs"]["16"].items():
            for form in forms.values():
                cases.append(form)
                module = next(pathlib.Path(scratch).glob("graphs/*/" + form["module"]))
                failed += not check(form["module"], str(module), "--flops", str(form["xla flops"]),
                                    "--transcendentals", str(form["xla transcendentals"]), "--quickly")
print(f"{len(cases) - failed} of {len(cases)} modules")
sys.exit(1 if failed or not cases else 0)

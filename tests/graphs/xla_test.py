"""Lets XLA parse, estimate, compile and run the StableHLO of generate.cpp: results as in the golden cases, flops and transcendentals exactly as the writer
predicted them. With a second argument, the program, also every module that it writes for size 32. Ends with 77 where jax is missing (a skip)."""
import json
import pathlib
import subprocess
import sys
import tempfile

folder, golden_checker = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent.parent / "check" / "check_hlo.py"
try:
    import jax  # noqa: F401
    import numpy as np
except ImportError as e:
    print("skipped:", e)
    sys.exit(77)

failed = 0
cases = json.loads((folder / "cases.json").read_text())
with tempfile.TemporaryDirectory() as scratch:
    for case in cases:
        command = [sys.executable, str(golden_checker), str(folder / case["module"]), "--flops", str(case["flops"]), "--transcendentals", str(case["transcendentals"])]
        if case["inputs"]:
            at = pathlib.Path(case["folder"])
            arrays = [np.load(at / (name + ".npy")) if name else None for name in case["inputs"]]
            views = next((a for name, a in zip(case["inputs"], arrays) if name == "angles"), None)
            arrays = [np.zeros_like(views) if a is None else a.astype(np.int32) if a.dtype.kind == "i" else a.astype(np.float32) for a in arrays]
            expected = [np.load(at / (name + ".npy")) for name in case["expected"]]
            np.savez(pathlib.Path(scratch) / "in.npz", **{f"arg{k}": a for k, a in enumerate(arrays)})
            np.savez(pathlib.Path(scratch) / "out.npz", **{f"out{k}": a for k, a in enumerate(expected)})
            # float32 sums of up to 500 terms in another order, and sines of angles in float32: 1e-5 of the largest element
            largest = max(float(np.abs(a).max()) for a in expected)
            command += ["--inputs", f"{scratch}/in.npz", "--expect", f"{scratch}/out.npz", "--rtol", "0", "--atol", str(1e-5 * largest)]
        run = subprocess.run(command, capture_output=True, text=True)
        print("ok     " if run.returncode == 0 else "WRONG  ", case["module"])
        if run.returncode:
            failed += 1
            print(run.stdout[-2000:], run.stderr[-2000:])

    if len(sys.argv) > 2:
        subprocess.run([sys.argv[2], "profile", "--sizes", "32", "--runs", "1", "--quiet", "--out", scratch], check=True, stdout=subprocess.DEVNULL)
        report = json.loads(next(pathlib.Path(scratch).glob("mbirk_profile_*.json")).read_text())
        for operation, forms in report["graphs"]["32"].items():
            for form in forms.values():
                cases.append(form)
                module = next(pathlib.Path(scratch).glob("graphs/*/" + form["module"]))
                run = subprocess.run([sys.executable, str(golden_checker), str(module), "--flops", str(form["xla flops"]), "--transcendentals",
                                      str(form["xla transcendentals"])], capture_output=True, text=True)
                print("ok     " if run.returncode == 0 else "WRONG  ", form["module"])
                if run.returncode:
                    failed += 1
                    print(run.stdout[-2000:], run.stderr[-2000:])
print(f"{len(cases) - failed} of {len(cases)} modules")
sys.exit(1 if failed or not cases else 0)

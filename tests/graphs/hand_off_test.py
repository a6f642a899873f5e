"""Builds and runs the testbench of every hand-off folder: float against the golden cases, fixed point against exact
arithmetic and bit for bit."""
import json
import pathlib
import subprocess
import sys

folders = sorted(p.parent for p in pathlib.Path(sys.argv[1]).glob("*/build.sh"))
failed = 0
for folder in folders:
    run = subprocess.run(["sh", str(folder / "build.sh")], capture_output=True, text=True)
    design = json.loads((folder / "design.json").read_text())
    warned = "warning" in run.stderr
    ok = (run.returncode == 0 and not warned and "WRONG" not in run.stdout and run.stdout.count("ok ") >= 2
          and design["loops"] and design["types"]["within bound"])
    print("ok     " if ok else "WRONG  ", folder.name, design["types"]["arithmetic"]["width"],
          design["types"]["data"]["width"])
    if not ok:
        failed += 1
        print(run.stdout, run.stderr[-3000:])

# A testbench that cannot fail would show nothing: one wrong bit in a vector must be detected.
victim = folders[0] / "vectors"
name = next(p for p in victim.iterdir() if p.suffix == ".fixed")
bytes_before = name.read_bytes()
name.write_bytes(bytes_before[:-8] + bytes(8 - 1) + b"\x41")
found = subprocess.run([str(folders[0] / "tb"), str(victim)], capture_output=True).returncode == 1
name.write_bytes(bytes_before)
print("ok     " if found else "WRONG  ", "a changed vector is found")
sys.exit(1 if failed or not found or len(folders) < 8 else 0)

"""bench/gpu.sh with stand-ins for everything that it runs (the device, the programs, the sanitizer), its tables, and
how the peers are compared."""
import contextlib, json, os, pathlib, shutil, stat, subprocess, sys, tempfile, unittest

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
script = root / "bench/gpu.sh"
sys.path.insert(0, str(root / "bench"))
import compare_gpu, gpu_report

# Words in PLANTED select the behaviour of the stand-ins.
NVIDIA_SMI = """#!/usr/bin/env bash
case "$*" in
  *compute_cap*) echo "9.0, GPU-1, Paper GPU" ;;
  *clocks.sm,*) for k in 1 2 3; do echo "$((1000 + k)), 3000, 90, 40, [N/A]"; echo "1980, 3201, $((80 + k)), 50, 400.5"; done; exec sleep 60 ;;
  *driver_version*) echo 580.1 ;;
  *) exit 1 ;;
esac
"""
TEST_CUDA = """#!/usr/bin/env bash
if [[ "$*" == *list_tests* ]]; then echo "Projector/Oracle."; for k in {1..30}; do echo "  Case/$k"; done; exit; fi
[[ $PLANTED != *no_device* ]] || exit 77
file=${GTEST_OUTPUT#json:}
failed='' && [[ $PLANTED != *test_fails* ]] || failed=', "failures": [{}]'
found='{"tests": 2, "failures": 0, "time": "1s", "testsuites": [{"name": "A", "testsuite": [{"name": "b"'"$failed"'}]}]}'
[[ -z ${GTEST_OUTPUT:-} ]] || echo "$found" >"${file}test_cuda.json"
[[ -z $failed ]]
"""
SANITIZER = """#!/usr/bin/env bash
echo "========= ERROR SUMMARY: 0 errors"
[[ $PLANTED != *race* || "$*" != *racecheck* ]] || { echo "========= RACECHECK SUMMARY: 1 hazard"; exit 99; }
"""
PROGRAM = """#!/usr/bin/env python3
import json, os, pathlib, sys
words = sys.argv[1:]
assert words[words.index("--policy") + 1] == "cuda"
out = pathlib.Path(words[words.index("--out") + 1])
out.mkdir(parents=True, exist_ok=True)
if words[0] == "run":
    print("op output error allowed")
    print("forward_project  out_forward_project.npy  5.00e-06  1e-05  ok")
    bad = "wrong" in os.environ["PLANTED"] and "cone_odd" in words[1]
    print("back_project  out_back_project.npy ", "2.0e-05  1e-05  OUT" if bad else "1.00e-06  1e-05  ok")
    sys.exit(bad)
n = int(words[words.index("--sizes") + 1])
rows = [{"operation": "median_filter3d", "volume_size": n, "run": k, "time": n * 1e-5 * k, "traced": k == 2, "uploads": 1, "downloads": 0}
        for k in (1, 2, 3)]
(out / f"mbirk_profile_{n}.json").write_text(json.dumps({"measurements": rows, "errors": [], "environment": {}}))
"""
CELLS = """#!/usr/bin/env python3
import json, os, signal, sys
words, all_ops = sys.argv[1:], "forward_project,back_project,sparse_forward_project,sparse_back_project,hessian_diagonal,direct_filter"
value = lambda name, other=None: words[words.index(name) + 1] if name in words else other
ops = value("--ops", all_ops).split(",")
data = {"environment": {"cuda_runtime": "13.0"}, "ops": ops, "running": None, "results": [], "errors": [], "skipped": []}
for op in ops:
    e = {"cell": value("--cells"), "geometry": value("--geometry"), "operation": op}
    crash = "crash" in os.environ["PLANTED"] and op == "back_project" and e["geometry"] == "cone"
    if "memory" in os.environ["PLANTED"] and op == "forward_project":
        data["errors"].append(e | {"error": "out of memory"})
    elif not crash:
        data["results"].append(e | {"recon_shape": [4, 4, 4], "warm": 3, "calls": 9, "ms_median": 2.0, "ms_min": 1.0, "ms_max": 3.0, "ms": [2.0],
                                    "ms_queued": None, "giga_per_second": 1000.0, "bytes_device": 2**30})
    data["running"] = e if crash else None
    open(value("--out"), "w").write(json.dumps(data))
    if crash:
        os.kill(os.getpid(), signal.SIGSEGV)
sys.exit(bool(data["errors"]))
"""
CMAKE = """#!/usr/bin/env bash
echo "$*" >>"$CALLS"
if [[ $1 == -S ]]; then
  [[ $PLANTED != *configure* ]] || { echo "CMake Error: no compiler"; exit 1; }
  [[ $PLANTED != *no_packages* ]] || printf -- '-- mbirk: %s is off because fmt was not found\\n' "the program" "unit testing"
elif [[ $PLANTED == *compile* && "$*" == *test_cuda* ]]; then
  echo "a.cu(1): error: planted"
  exit 1
fi
"""
CTEST_FILE = """add_test(device.cuda "{tests}")
set_tests_properties(device.cuda PROPERTIES LABELS "unit;cuda" SKIP_RETURN_CODE 77)
"""


def write_program(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.build, self.out, tools = self.folder / "build", self.folder / "out", self.folder / "tools"
        write_program(tools / "nvidia-smi", NVIDIA_SMI)
        write_program(tools / "compute-sanitizer", SANITIZER)
        self.environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PLANTED": ""}
        self.environment.pop("CUDA_VISIBLE_DEVICES", None)

    def place_programs(self):
        tests = self.build / "tests/device/test_cuda"
        write_program(tests, TEST_CUDA)
        write_program(self.build / "bench/mbirk/mbirk", PROGRAM)
        write_program(self.build / "bench/mbirk_gpu_cells", CELLS)
        (self.build / "CTestTestfile.cmake").write_text(CTEST_FILE.format(tests=tests))

    def run_script(self, *words, planted=""):
        done = subprocess.run(["bash", str(script), *words], cwd=self.folder,
                              env=self.environment | {"PLANTED": planted}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=250)
        return done

    def run_parts(self, parts, code, planted=""):
        self.place_programs()
        done = self.run_script("--parts", parts, "--build", str(self.build), "--out", "out", "--quick", planted=planted)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertEqual([f.name for f in self.build.glob("run.*")], [], "the work folder is left behind")
        return json.loads(next(self.out.glob("gpu_*.json")).read_text()), next(self.out.glob("gpu_*.md")).read_text()

    def test_help(self):
        done = self.run_script("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for option in ("--parts", "--headers", "--out", "--build", "--quick",
                       "build,test,sanitize,profile,cells,peers"):
            self.assertIn(option, done.stdout)

    def test_bad_usage(self):
        for words, what in ((["--fly"], "--fly"), (["--parts"], "--parts"), (["--parts", "test,fly"], "fly"),
                            (["--parts", "--quick"], "--parts"), (["--headers", "nowhere"], "nowhere"),
                            (["--out"], "--out"), (["more"], "more")):
            done = self.run_script(*words)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), words)
            self.assertIn(what, done.stderr)

    def test_no_device(self):
        write_program(self.folder / "tools/nvidia-smi", "#!/usr/bin/env bash\nexit 9\n")
        self.environment["CUDA_VISIBLE_DEVICES"] = "-1"
        done = self.run_script("--build", str(self.build), "--out", str(self.out))
        self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (3, "", 1), done)
        self.assertIn("no CUDA device", done.stderr)
        self.assertFalse(self.build.exists() or self.out.exists())

    def test_all_parts_but_build(self):
        data, text = self.run_parts("test,sanitize,profile,cells", 0)
        parts = data["parts"]
        self.assertTrue(all(s["status"] == "ok" for p in parts.values() for s in p["steps"]), parts)
        self.assertEqual(parts["test"]["programs"][0]["tests"], 2)
        cases = {c["case"]: c for c in parts["test"]["reference_cases"]}
        self.assertEqual(set(cases), {f.parent.name for f in (root / "tests/golden").glob("*/case.json")})
        self.assertEqual((cases["cone_odd"]["entries"], cases["cone_odd"]["within"],
                          cases["cone_odd"]["worst_of_allowed"]), (2, 2, 0.5))
        self.assertEqual([t["tool"] for t in parts["sanitize"]["tools"]], ["memcheck"])
        self.assertEqual({m["volume_size"] for m in parts["profile"]["measurements"]}, {32, 64})
        self.assertEqual(len(parts["cells"]["results"]), 2 * 2 * 6)
        self.assertEqual((parts["cells"]["errors"], parts["cells"]["skipped"]), ([], []))
        self.assertIn("Failed: nothing.", text)
        self.assertIn("Not run: build, peers.", text)
        for file in ("test.log", "sanitize.log", "profile.log", "cells.log"):
            self.assertTrue((self.out / file).exists(), file)

    def test_parts_add_up(self):
        self.run_parts("cells", 0)
        data, _ = self.run_parts("sanitize", 0)
        self.assertEqual(set(data["parts"]), {"cells", "sanitize"})
        file = next(self.out.glob("gpu_*.json"))
        file.write_text(json.dumps(data | {"environment": data["environment"] | {"commit": "another"}}))
        self.run_parts("cells", 0)
        self.assertEqual(sorted(len(json.loads(f.read_text())["parts"]) for f in self.out.glob("gpu_*.json")), [1, 2])

    def test_failures_are_said_and_the_rest_goes_on(self):
        data, text = self.run_parts("test,sanitize,cells", 1, planted="test_fails wrong memory crash")
        parts = data["parts"]
        failed = {s["step"] for p in parts.values() for s in p["steps"] if s["status"] == "failed"}
        self.assertLessEqual({"ctest -L cuda", "reference case cone_odd", "200x208x160 parallel", "200x208x160 cone"},
                             failed)
        self.assertEqual(parts["test"]["programs"][0]["failed"], ["A.b"])
        self.assertEqual({c["case"]: c["within"] for c in parts["test"]["reference_cases"]}["cone_odd"], 1)
        # Operations after the one that ended the process are run in another process.
        cone = [r["operation"] for r in parts["cells"]["results"]
                if (r["cell"], r["geometry"]) == ("200x208x160", "cone")]
        self.assertEqual(cone, ["sparse_forward_project", "sparse_back_project", "hessian_diagonal", "direct_filter"])
        errors = {(e["cell"], e["geometry"], e["operation"]): e["error"] for e in parts["cells"]["errors"]}
        self.assertEqual(errors["512x448x384", "parallel", "forward_project"], "out of memory")
        self.assertIn("ended", errors["512x448x384", "cone", "back_project"])
        self.assertIn("`test: ctest -L cuda`", text)

    def test_a_race_and_a_test_without_a_device(self):
        script_text = script.read_text()
        self.assertIn("tools=(memcheck racecheck initcheck synccheck)", script_text)
        data, _ = self.run_parts("test", 1, planted="no_device")
        self.assertIn("skipped", [s["message"] for s in data["parts"]["test"]["steps"] if s["status"] == "failed"][0])
        self.place_programs()
        done = self.run_script("--parts", "sanitize", "--build", str(self.build), "--out", "out", planted="race")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        tools = json.loads(next(self.out.glob("gpu_*.json")).read_text())["parts"]["sanitize"]
        self.assertEqual({s["step"]: s["status"] for s in tools["steps"]},
                         {"memcheck": "ok", "racecheck": "failed", "initcheck": "ok", "synccheck": "ok"})
        self.assertIn("1 hazard", tools["tools"][1]["summary"])

    def run_build(self, code, *words, planted=""):
        calls = self.folder / "calls"
        self.environment["CALLS"] = str(calls)
        write_program(self.folder / "tools/cmake", CMAKE)
        self.place_programs()
        done = self.run_script("--parts", "build", "--build", str(self.build), "--out", "out", *words, planted=planted)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return (calls.read_text().splitlines(),
                json.loads(next(self.out.glob("gpu_*.json")).read_text())["parts"]["build"]["steps"])

    def test_build(self):
        headers = self.folder / "my headers"
        for name in ("fmt/format.h", "nlohmann/json.hpp", "zlib.h", "libz.a",
                     "googletest/googletest/src/gtest-all.cc"):
            (headers / name).parent.mkdir(parents=True, exist_ok=True)
            (headers / name).write_text("")
        calls, steps = self.run_build(0, "--headers", str(headers))
        self.assertEqual([(s["step"], s["status"]) for s in steps], [("configure", "ok"), ("compile", "ok")])
        self.assertRegex(calls[0], r"-DCMAKE_CUDA_ARCHITECTURES=\d+ ")
        for option in ("-DMBIRK_CUDA=ON", "-DCMAKE_BUILD_TYPE=Release", f"-DZLIB_INCLUDE_DIR={headers}",
                       f"-DZLIB_LIBRARY={headers}/libz.a"):
            self.assertIn(option, calls[0])
        for package, text in (("fmt", "FMT_HEADER_ONLY=1"), ("nlohmann_json", f"{headers}]"),
                              ("GTest", f"{headers}/googletest/googletest/src/gtest-all.cc")):
            self.assertIn(f"-D{package}_DIR={self.build}/headers/{package}", calls[0])
            self.assertIn(text, (self.build / f"headers/{package}/{package}Config.cmake").read_text())
        self.assertNotIn("CLI11_DIR", calls[0])
        self.assertIn("--target mbirk_gpu_cells mbirk_program mbirk_devices test_cuda", calls[1])

    def test_a_target_that_does_not_compile(self):
        calls, steps = self.run_build(1, planted="compile")
        self.assertEqual([(s["step"], s["status"]) for s in steps],
                         [("configure", "ok"), ("compile", "failed"), ("mbirk_gpu_cells", "ok"),
                          ("mbirk_program", "ok"), ("mbirk_devices", "ok"), ("test_cuda", "failed")])
        self.assertIn("planted", steps[1]["message"])
        self.assertFalse((self.build / "tests/device/test_cuda").exists(), "an earlier program is still there")
        self.assertTrue((self.build / "bench/mbirk/mbirk").exists())

    def test_packages_that_are_missing(self):
        calls, steps = self.run_build(1, planted="no_packages")
        self.assertEqual([(s["step"], s["status"]) for s in steps],
                         [("configure", "ok"), ("the program", "failed"), ("the C++ tests", "failed"),
                          ("compile", "ok")])
        self.assertTrue(calls[1].split(" -- ")[0].endswith("--target mbirk_gpu_cells"), calls[1])
        calls, steps = self.run_build(1, planted="configure")
        self.assertEqual([(s["step"], s["status"], s["message"]) for s in steps],
                         [("configure", "failed", "exit code 1: CMake Error: no compiler")])

    def test_nothing_built(self):
        done = self.run_script("--parts", "test,sanitize,profile,cells,peers", "--build", str(self.build),
                               "--out", str(self.out))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        data = json.loads(next(self.out.glob("gpu_*.json")).read_text())
        for name in ("test", "sanitize", "profile", "cells", "peers"):
            self.assertIn("--parts build", data["parts"][name]["steps"][0]["message"])

    def test_shellcheck(self):
        if not shutil.which("shellcheck"):
            self.skipTest("shellcheck is not installed")
        done = subprocess.run(["shellcheck", str(script)], stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


class Tables(unittest.TestCase):
    def test_example(self):
        self.maxDiff = None
        data = json.loads((here / "gpu_example.json").read_text())
        self.assertEqual(gpu_report.table(data), (here / "gpu_example.md").read_text())

    def test_what_was_not_run(self):
        data = {"ops": ["a", "b", "c", "d", "e"], "running": {"operation": "c"}, "results": [{"operation": "a"}],
                "errors": [{"operation": "b"}], "skipped": []}
        self.assertEqual(gpu_report.missing_ops(data), ["d", "e"])
        self.assertEqual(gpu_report.missing_ops({"running": None, "results": [], "errors": [], "skipped": []}), [])

    def test_clocks_are_those_of_a_busy_device(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "clocks.csv")
            file.write_text("345, 3201, 0, 30, 70\n1980, 3201, 90, 50, 400\n1970, 3201, 99, 52, 500\n"
                            "1990, [N/A], 99, 52, 500\n19")
            self.assertEqual(gpu_report.clocks(file)["sm_mhz"], {"median": 1975, "min": 1970, "max": 1980})
            self.assertEqual(gpu_report.clocks(file)["samples"], 2)
            self.assertIsNone(gpu_report.clocks(pathlib.Path(folder, "none")))


class Side:
    """Takes the next of `ms` at each call; fails when none is left."""

    def __init__(self, *ms):
        self.ms, self.calls = list(ms), []

    def measure(self, op, budget):
        self.calls.append(op)
        if not self.ms:
            raise MemoryError("no more")
        return [self.ms.pop(0)] * 5


class Peers(unittest.TestCase):
    def test_ratios_of_rounds(self):
        sides = {"mbirk": Side(1, 2, 4), "other": Side(10, 30, 20), "third": Side(5)}
        ms, ratios, times, failed = compare_gpu.compare("op", sides, 3, 100)
        self.assertEqual(ms, {"mbirk": 2, "other": 20, "third": 5})
        self.assertEqual(ratios["other"], {"median": 10, "min": 5, "max": 15, "rounds": 3})
        self.assertEqual(ratios["third"], {"median": 2.5, "min": 5, "max": 5, "rounds": 1})
        self.assertEqual(list(failed), ["third"])
        self.assertEqual(len(sides["third"].calls), 2, "a side that failed is not asked again")
        self.assertEqual([len(t) for t in times.values()], [3, 3, 1])

    def test_nothing_to_compare_with(self):
        ms, ratios, _, failed = compare_gpu.compare("op", {"mbirk": Side(), "other": Side(1, 1)}, 2, 100)
        self.assertEqual((ms, ratios, list(failed)), ({"other": 1}, {}, ["mbirk"]))

    def test_as_many_calls_as_the_time_allows(self):
        calls = []
        self.assertGreaterEqual(len(compare_gpu.timed(lambda: calls.append(1), 60)), compare_gpu.REPEATS_SHORT)
        self.assertEqual(len(calls), compare_gpu.WARM + compare_gpu.REPEATS_SHORT)
        self.assertEqual(len(compare_gpu.timed(lambda: calls.append(1), 0)), 1)

    def test_bad_usage(self):
        for words in ([], ["--cells", "3x4"], ["--ops", "fly"], ["--geometry", "fan"], ["--rounds", "0"],
                      ["--program", "/nowhere"]):
            with (open(os.devnull, "w") as nothing, contextlib.redirect_stderr(nothing),
                  self.assertRaises(SystemExit) as end):
                sys.argv = ["compare_gpu.py", "--program", sys.executable, "--json", "x"][: 5 if words else 1] + words
                compare_gpu.arguments()
            self.assertEqual(end.exception.code, 2, words)


if __name__ == "__main__":
    unittest.main()

"""bench/instructions.py with stand-ins for compiler and valgrind: storing, judging, other compilers, missing
programs."""
import json, os, pathlib, subprocess, sys, tempfile, unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/instructions.py"
COMPILER = """#!/bin/sh
[ "$1" = --version ] && { echo "${COMPILER:-stand-in 1.0}"; exit; }
for word; do [ "$before" = -o ] && out=$word; before=$word; done
printf '#!/bin/sh\\necho alpha\\necho beta\\n' >"$out"; chmod +x "$out"
"""
VALGRIND = """#!/bin/sh
for name; do :; done
[ "$name" = alpha ] && count=${ALPHA:-1000} || count=2000
echo "==1== Collected : $count" >&2
"""


class Instructions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.kept = self.folder / "kept.json"
        for name, text in (("cxx", COMPILER), ("valgrind", VALGRIND)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def run_script(self, *words, **environment):
        words = [sys.executable, "-B", str(SCRIPT), "--cxx", str(self.folder / "cxx"),
                 "--build", str(self.folder / "build"), *map(str, words)]
        paths = f"{self.folder}:{os.environ['PATH']}"
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=os.environ | {"PATH": paths} | environment)

    def keep(self):
        done = self.run_script("--write", self.kept)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_keeps(self):
        self.keep()
        document = json.loads(self.kept.read_text())
        self.assertEqual(document["instructions"], {"alpha": 1000, "beta": 2000})
        self.assertEqual(document["compiler"], "stand-in 1.0")

    def test_judges(self):
        self.keep()
        self.assertEqual(self.run_script("--check", self.kept).returncode, 0)
        self.assertEqual(self.run_script("--check", self.kept, ALPHA="1020").returncode, 0, "2 % is allowed")
        worse = self.run_script("--check", self.kept, ALPHA="1021")
        self.assertEqual(worse.returncode, 1)
        self.assertRegex(worse.stdout, r"alpha +1000 +1021 +1.021 +MORE")
        self.assertEqual(self.run_script("--check", self.kept, "--tolerance", "0.05", ALPHA="1021").returncode, 0)

    def test_another_compiler_is_not_judged(self):
        self.keep()
        other = self.run_script("--check", self.kept, ALPHA="5000", COMPILER="stand-in 2.0")
        self.assertEqual(other.returncode, 0)
        self.assertIn("not judged: kept counts are of stand-in 1.0, these of stand-in 2.0", other.stdout)

    def test_an_operation_that_is_missing(self):
        self.keep()
        document = json.loads(self.kept.read_text())
        document["instructions"]["gamma"] = 1
        self.kept.write_text(json.dumps(document))
        done = self.run_script("--check", self.kept)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"gamma +1 +missing")

    def test_what_cannot_be_run(self):
        for words, environment, text in ((["--check", self.folder / "none"], {}, "is no file of --write"),
                                         (["--cxx", "no-such-compiler"], {}, "no-such-compiler"),
                                         ([], {"ALPHA": "0"}, "counted nothing in alpha"),
                                         (["--write", "a", "--check", "b"], {}, "not allowed")):
            done = self.run_script(*words, **environment)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()

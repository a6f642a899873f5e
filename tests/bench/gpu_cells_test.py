"""mbirk_gpu_cells without a device: shapes and sizes against formulas, bad usage."""
import json, math, pathlib, subprocess, sys, tempfile, unittest

program = sys.argv.pop()


def run(*words):
    return subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100)


class Cells(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "out.json")

    def plan(self, *words):
        done = run("--plan", "--out", str(self.file), *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(self.file.read_text())

    def test_shapes_and_sizes(self):
        data = self.plan("--cells", "20x18x16,21x19x17")
        self.assertEqual((data["errors"], data["skipped"], data["running"]), ([], [], None))
        self.assertEqual(len(data["results"]), 2 * 2 * 6)
        by_name = {(r["cell"], r["geometry"], r["operation"]): r for r in data["results"]}
        for (cell, geometry, op), r in by_name.items():
            views, rows, channels = map(int, cell.split("x"))
            # Parallel beam has as many slices as rows; the cone beam has voxels of half a channel, magnified twice onto
            # the detector.
            self.assertEqual(r["recon_shape"], [channels, channels, rows], r)
            inside = by_name[cell, geometry, "forward_project"]["pixels"]
            # The pixels of the circular reconstruction mask, up to a ring of one pixel.
            self.assertLess(abs(inside - math.pi * channels**2 / 4), math.pi * channels, r)
            pixels = (channels**2 if op == "hessian_diagonal" else math.ceil(inside / 128) if op.startswith("sparse")
                      else inside)
            self.assertEqual(r["pixels"], pixels, r)
            if op == "direct_filter":
                self.assertEqual(r["samples"], views * rows * channels)
            else:
                self.assertEqual(r["pairs"], views * pixels * rows, r)

    def test_a_choice(self):
        data = self.plan("--cells", "5x4x6", "--geometry", "cone", "--ops", "hessian_diagonal,back_project")
        self.assertEqual(data["ops"], ["hessian_diagonal", "back_project"])
        self.assertEqual([(r["geometry"], r["operation"]) for r in data["results"]],
                         [("cone", "hessian_diagonal"), ("cone", "back_project")])

    def test_what_is_cut_is_said(self):
        data = self.plan("--cells", "400x4x400,5x4x6", "--geometry", "parallel", "--ops", "forward_project",
                         "--budget", "0")
        self.assertEqual([len(data[kind]) for kind in ("results", "errors", "skipped")], [0, 0, 2])
        self.assertIn("budget", data["skipped"][0]["reason"])

    def test_bad_usage(self):
        for words, what in ((["--out"], "--out"), ([], "--out"), (["--fly"], "--fly"), (["--cells", "3x4"], "3x4"),
                            (["--cells", "3x4x0"], "3x4x0"), (["--cells", "3x4x5x6"], "3x4x5x6"),
                            (["--cells", ""], "--cells"), (["--ops", "fly"], "fly"), (["--warm", "0"], "--warm"),
                            (["--geometry", "fan"], "fan"), (["--repeats", "two"], "two"), (["--budget", "-1"], "-1")):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), words)
            self.assertIn(what, done.stderr)
        self.assertEqual(run("--plan", "--cells", "5x4x6", "--out", str(self.file / "below")).returncode, 2)


if __name__ == "__main__":
    unittest.main()

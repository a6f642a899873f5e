#!/usr/bin/env python3
"""Times mbirk against MBIRJAX 0.7.3 (JAX on the CPU, its defaults) on this machine, in one run, the two sides alternating.

    python3 bench/compare_mbirjax.py [--sizes 64,128] [--rounds 5] [--ops 'cone_*'] [--json out.json]
    python3 bench/compare_mbirjax.py --check        # do both sides compute the same numbers? (smallest size)

If this interpreter lacks MBIRJAX, a virtual environment is made once (--venv) and the script goes on there.

A size N is the problem of `mbirk profile`: recon N^3, sinogram (N/2, N, N), mask on; parallel beam over half a turn, voxel
pitch 1; cone beam over a full turn, source_detector_dist 4N, source_iso_dist 2N, voxel pitch 0.5.
In each round either side is timed once, warm, through its public interface: mbirk in the third run of `mbirk profile`, MBIRJAX
(compiled before) in the second of two calls, until its result is ready. In every other round the other side begins.
Ratios are MBIRJAX time / mbirk time and hold for this run only. '*': other processes took more than 10 % of a core
meanwhile; repeat on a quiet machine.

Exit code: 0 done; 1 an operation failed or --check found a difference; 2 bad usage."""
import argparse, fnmatch, importlib.metadata, json, os, pathlib, platform, re, statistics, subprocess, sys, tempfile, time, venv

VERSION = "0.7.3"
GATE = 2e-5                              # --check: allowed max|a - b| / max|reference|
INPUTS = {"forward_project": ["recon"], "back_project": ["sinogram"], "sparse_forward_project": ["voxel_values", "pixel_indices"],
          "sparse_back_project": ["sinogram", "pixel_indices"], "hessian_diagonal": []}
OPS = [f"{geometry}_{kind}" for geometry in ("parallel", "cone") for kind in INPUTS]
ROOT = pathlib.Path(__file__).resolve().parent.parent


class Failure(Exception):
    """One operation of one side failed; the others go on."""


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--mbirk", type=pathlib.Path, default=ROOT / "build/release/bench/mbirk/mbirk", help="the program (default %(default)s)")
    ap.add_argument("--sizes", default="64,128", help="comma-separated, even (default %(default)s)")
    ap.add_argument("--rounds", type=int, default=5, help="timed calls of each side (default %(default)s)")
    ap.add_argument("--ops", default="*", metavar="GLOB", help="among " + " ".join(OPS))
    ap.add_argument("--check", action="store_true", help="compare results instead of times")
    ap.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write every single time here")
    ap.add_argument("--venv", type=pathlib.Path, default=ROOT / "build/venv-mbirjax", help="where MBIRJAX is or will be (default %(default)s)")
    args = ap.parse_args()
    try:
        args.sizes = sorted({int(n) for n in args.sizes.split(",")})
    except ValueError:
        ap.error(f"--sizes: expected numbers such as 64,128, got {args.sizes!r}")
    if any(n < 8 or n % 2 for n in args.sizes):
        ap.error("--sizes: expected even numbers, at least 8")
    if args.rounds < 1:
        ap.error("--rounds: expected at least 1")
    args.ops = [op for op in OPS if fnmatch.fnmatchcase(op, args.ops)]
    if not args.ops:
        ap.error("--ops: no operation has such a name; there are " + " ".join(OPS))
    args.mbirk = args.mbirk.resolve()
    if not os.access(args.mbirk, os.X_OK) or args.mbirk.is_dir():
        ap.error(f"--mbirk: no program at {args.mbirk}; build it (Release) or say where it is")
    return args


def need_mbirjax(folder):
    """Returns if MBIRJAX can be imported here; otherwise goes on in a virtual environment that has it."""
    if any(d.version == VERSION for d in importlib.metadata.distributions(name="mbirjax")):
        return
    folder = folder.resolve()
    python = folder / "bin/python"
    if pathlib.Path(sys.prefix).resolve() == folder or not python.exists():
        print(f"installing mbirjax=={VERSION} into {folder} (once)", file=sys.stderr, flush=True)
        try:
            if not python.exists():
                venv.create(folder, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", f"mbirjax=={VERSION}"], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"compare_mbirjax.py: mbirjax=={VERSION} could not be installed into {folder}: {error}")
    os.execv(python, [str(python), *sys.argv])


class MbirJax:
    """One geometry and size on the MBIRJAX side: the model, its inputs, and each operation as a call."""

    def __init__(self, geometry, n, random):
        import mbirjax, numpy as np      # mbirjax before any other JAX user: it decides how many CPU devices JAX shows
        import jax.numpy as jnp
        self.geometry, self.shape = geometry, (n // 2, n, n)
        self.angles = np.linspace(0, np.pi if geometry == "parallel" else 2 * np.pi, n // 2, endpoint=False).astype(np.float32)
        self.model = (mbirjax.ParallelBeamModel(self.shape, self.angles) if geometry == "parallel" else
                      mbirjax.ConeBeamModel(self.shape, self.angles, source_detector_dist=4.0 * n, source_iso_dist=2.0 * n))
        self.names = ["delta_det_channel", "delta_det_row", "det_channel_offset", "det_row_offset", "delta_voxel", "voxel_row_aspect",
                      "voxel_slice_aspect", "use_ror_mask"]          # of the parameters
        self.names += ["source_detector_dist", "source_iso_dist", "recon_slice_offset", "use_curved_detector"] if geometry == "cone" else []
        assert tuple(self.model.get_params("recon_shape")) == (n, n, n)
        assert self.model.get_params("delta_voxel") == (1.0 if geometry == "parallel" else 0.5)
        rng = np.random.default_rng(0)
        if random:                                                   # positive noise: every cell of the result is tested
            self.recon, self.sinogram = rng.random((n, n, n), np.float32), rng.random(self.shape, np.float32)
        else:                                                        # two nested ellipsoids and their projection with 1 % noise
            z, y, x = np.meshgrid(*[np.linspace(-1, 1, n)] * 3, indexing="ij")
            inside = lambda a, b, c: ((x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 <= 1).transpose(1, 2, 0)
            self.recon = np.ascontiguousarray((0.01 * (inside(.8, .7, .8) + inside(.4, .3, .4))).astype(np.float32))
            clean = self.model.forward_project(self.recon)
            self.sinogram = (clean + rng.normal(0, 0.01 * clean.max(), self.shape)).astype(np.float32)
        np.random.seed(0)
        self.indices = mbirjax.gen_pixel_partition((n, n, n), 4)[0]     # subset 0: a quarter of the pixels inside the mask
        self.voxels = self.recon.reshape(-1, n)[np.asarray(self.indices)]
        self.on_device = {"voxels": jnp.asarray(self.voxels), "sinogram": jnp.asarray(self.sinogram)}    # what its own loops pass

    def call(self, kind):
        """The operation; the dense ones return a host array, the sparse ones a device array that may not be ready yet."""
        m = self.model
        result = {"forward_project": lambda: m.forward_project(self.recon),
                  "back_project": lambda: m.back_project(self.sinogram),
                  "sparse_forward_project": lambda: m.sparse_forward_project(self.on_device["voxels"], self.indices),
                  "sparse_back_project": lambda: m.sparse_back_project(self.on_device["sinogram"], self.indices),
                  "hessian_diagonal": lambda: m.compute_hessian_diagonal()}[kind]()
        return result.block_until_ready() if hasattr(result, "block_until_ready") else result

    def seconds(self, kind):
        self.call(kind)                                              # mbirk is timed warm, so is this side
        start = time.perf_counter()
        self.call(kind)
        return time.perf_counter() - start


def mbirk(program, *words):
    """Runs the program; what it says is shown only if it fails."""
    done = subprocess.run([str(program), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failure(f"mbirk {words[0]}: exit code {done.returncode}: {done.stdout.strip()[-500:]}")


def mbirk_seconds(program, op, n):
    """(seconds of one call after the warm-up, without tracing; the environment mbirk reports)"""
    with tempfile.TemporaryDirectory(prefix="mbirk-compare-") as out:
        mbirk(program, "profile", "--sizes", n, "--ops", op, "--runs", 3, "--out", out, "--quiet")
        files = sorted(pathlib.Path(out).glob("mbirk_profile_*.json"))
        if not files:
            raise Failure("mbirk profile wrote no mbirk_profile_*.json")
        run = json.loads(files[-1].read_text())
    times = [m["time"] for m in run["measurements"] if (m["operation"], m["volume_size"]) == (op, n) and m["run"] >= 3 and not m.get("traced")]
    if not times or min(times) <= 0:
        raise Failure(f"mbirk profile has no usable time of {op} at {n}: times {times}, errors {run.get('errors')}")
    return statistics.median(times), run["environment"]


def busy_seconds():
    """(CPU seconds spent so far by everything on this machine, by this program and what it has run)"""
    ticks = sum(map(int, pathlib.Path("/proc/stat").read_text().split()[1:4]))              # user, nice, system
    return ticks / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])


def measure(args, op, n, jax_side):
    """(all rounds of one operation and size as one record of the report, mbirk's environment)"""
    kind = op.split("_", 1)[1]
    jax_side.call(kind)                                                                 # compiles
    ours, theirs, environment = [], [], None
    wall, (machine, own) = time.perf_counter(), busy_seconds()
    for i in range(args.rounds):
        for side in ("mbirk", "mbirjax") if i % 2 == 0 else ("mbirjax", "mbirk"):
            if side == "mbirjax":
                theirs.append(jax_side.seconds(kind))
            else:
                seconds, environment = mbirk_seconds(args.mbirk, op, n)
                ours.append(seconds)
    (machine_end, own_end), wall = busy_seconds(), time.perf_counter() - wall
    others = max(0.0, (machine_end - machine - (own_end - own) - 0.03) / wall)             # 0.03 s: resolution of the counters
    ratios = [b / a for a, b in zip(ours, theirs)]
    return {"operation": op, "volume_size": n, "mbirk": ours, "mbirjax": theirs,
            "ratio_of_medians": statistics.median(theirs) / statistics.median(ours), "ratio_min": min(ratios), "ratio_max": max(ratios),
            "other_processes_cores": others}, environment


def compare_times(args):
    print(f"{'operation':34}{'N':>5}  {'mbirk ms: median':>17}{'min':>10}  {'MBIRJAX ms: median':>19}{'min':>10}  {'ratio':>8}  (over rounds)")
    load, rows, errors, environment = os.getloadavg(), [], [], None
    for n in args.sizes:
        jax_side = None
        for op in args.ops:
            geometry = op.split("_", 1)[0]
            try:
                if jax_side is None or jax_side.geometry != geometry:
                    jax_side = MbirJax(geometry, n, random=False)
                row, environment = measure(args, op, n, jax_side)
            except Failure as failure:
                errors.append({"operation": op, "volume_size": n, "error": str(failure)})
                print(f"{op:34}{n:5}  failed: {failure}", flush=True)
                continue
            rows.append(row)
            ms = [1e3 * f(row[side]) for side in ("mbirk", "mbirjax") for f in (statistics.median, min)]
            mark = " *" if row["other_processes_cores"] > 0.1 else ""
            print(f"{op:34}{n:5}  {ms[0]:17.3f}{ms[1]:10.3f}  {ms[2]:19.3f}{ms[3]:10.3f}  {row['ratio_of_medians']:8.1f}  "
                  f"({row['ratio_min']:.1f} .. {row['ratio_max']:.1f}){mark}", flush=True)
    cpu = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    cpu, cores, load_after = cpu[1] if cpu else platform.machine(), len(os.sched_getaffinity(0)), os.getloadavg()
    versions = {"mbirjax": VERSION, "python": platform.python_version()} | {p: importlib.metadata.version(p) for p in ("jax", "jaxlib", "numpy")}
    versions["mbirjax devices"] = jax_side.model.device_summary if jax_side else None
    print(f"\nmachine: {cpu}, {cores} cores; load average before {load[0]:.2f}, after {load_after[0]:.2f}; rounds: {args.rounds}")
    print("MBIRJAX: " + ", ".join(f"{k} {v}" for k, v in versions.items()))
    print("mbirk:   " + json.dumps(environment))
    if args.json:
        machine = {"cpu": cpu, "cores": cores, "load_average_before": load, "load_average_after": load_after}
        args.json.write_text(json.dumps({"machine": machine, "versions": versions, "environment": environment, "rounds": args.rounds,
                                         "results": rows, "errors": errors}, indent=1) + "\n")
    return 1 if errors else 0


def compare_results(args):
    """Writes one case folder per geometry, lets `mbirk run` compute it, and holds the results against MBIRJAX's."""
    import numpy as np
    n, bad = args.sizes[0], 0
    print(f"{'operation':34}{'N':>5}  {'max error / max reference':>26}  (allowed {GATE:g})")
    for geometry in sorted({op.split("_", 1)[0] for op in args.ops}, reverse=True):
        side = MbirJax(geometry, n, random=True)
        kinds = [op.split("_", 1)[1] for op in args.ops if op.startswith(geometry)]
        with tempfile.TemporaryDirectory(prefix="mbirk-compare-") as folder:
            case, out = pathlib.Path(folder, "case"), pathlib.Path(folder, "out")
            case.mkdir(), out.mkdir()
            arrays = {"angles": side.angles, "recon": side.recon, "sinogram": side.sinogram, "voxel_values": side.voxels,
                      "pixel_indices": side.indices} | {f"out_{kind}": side.call(kind) for kind in kinds}
            for name, array in arrays.items():
                np.save(case / f"{name}.npy", np.ascontiguousarray(array))
            (case / "case.json").write_text(json.dumps({
                "name": f"{geometry}_{n}", "geometry": geometry, "sinogram_shape": side.shape, "recon_shape": side.recon.shape,
                "angles": "angles.npy", "params": {name: side.model.get_params(name) for name in side.names},
                "ops": [{"op": kind, "inputs": {name: f"{name}.npy" for name in INPUTS[kind]}, "output": f"out_{kind}.npy", "rtol": GATE,
                         "args": {"coeff_power": 1} if kind == "sparse_back_project" else {}} for kind in kinds]}, indent=1))
            try:
                mbirk(args.mbirk, "run", case, "--out", out, "--quiet")
            except Failure as failure:                                                  # the table says which results are missing
                print(failure)
                bad += 1
            for kind in kinds:
                result, reference = out / f"out_{kind}.npy", np.asarray(arrays[f"out_{kind}"], np.float64)
                text, ok = "no result", False
                if result.exists():
                    got = np.load(result)
                    text = f"shape {got.shape}, not {reference.shape}"
                    if got.shape == reference.shape:
                        error = np.abs(got - reference).max() / np.abs(reference).max()
                        text, ok = f"{error:.2e}", bool(error <= GATE)                      # NaN is not ok
                bad += not ok
                print(f"{geometry + '_' + kind:34}{n:5}  {text:>26}  {'ok' if ok else 'OUT'}")
    return 1 if bad else 0


if __name__ == "__main__":
    args = arguments()
    need_mbirjax(args.venv)
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")               # loading from its compile cache logs long, harmless notes
    import warnings
    warnings.filterwarnings("ignore", message="TkAgg not available")                     # MBIRJAX's viewer, not used here
    sys.exit(compare_results(args) if args.check else compare_times(args))

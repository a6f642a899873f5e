#!/usr/bin/env python3
"""Times mbirk against MBIRJAX (JAX on CUDA) and the ASTRA toolbox on this machine's CUDA device, the sides alternating.

    python3 bench/compare_gpu.py --program build/gpu/bench/mbirk_gpu_cells --json FILE [--cells VxRxC,...]
                                 [--geometry parallel,cone] [--ops NAME,...] [--rounds 3] [--budget 400]

Cells and operations are those of mbirk_gpu_cells (its --help). Whatever cannot be imported is said, under `peers` in
the file, and left out: MBIRJAX, or a JAX without CUDA; ASTRA (forward_project and back_project only), which also needs
PyTorch or CuPy for arrays on the device. In each round every side is timed once, warm, mbirk as a process of its own;
in every other round in the opposite order. A round of a side is 3 calls and then at least 5 (9 where they take less
than 5 ms), each until its result is ready: fewer where the time of the operation does not allow them. All data are
random, in [0, 1), and lie on the device. The budget (seconds) is spread over the operations; what is not begun is in
`skipped`.

Exit code: 0 done, also without peers; 1 something is in `errors`; 2 bad usage."""
import argparse, json, os, pathlib, statistics, subprocess, sys, tempfile, time

OPS = ("forward_project", "back_project", "sparse_forward_project", "sparse_back_project", "hessian_diagonal",
       "direct_filter")
SUBSETS = 128  # subsets of the pixel partition; mbirk_gpu_cells uses as many
WARM, REPEATS, REPEATS_SHORT = 3, 5, 9


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", type=pathlib.Path, required=True, help="mbirk_gpu_cells")
    ap.add_argument("--json", type=pathlib.Path, required=True, metavar="FILE",
                    help="written anew after every operation")
    ap.add_argument("--cells", default="200x208x160,512x448x384,513x449x385,1024x1008x992")
    ap.add_argument("--geometry", default="parallel,cone")
    ap.add_argument("--ops", default=",".join(OPS))
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--budget", type=float, default=400)
    args = ap.parse_args()
    try:
        args.cells = [tuple(int(n) for n in cell.split("x")) for cell in args.cells.split(",")]
    except ValueError:
        ap.error("--cells: expected VIEWSxROWSxCHANNELS such as 200x208x160")
    if any(len(cell) != 3 or min(cell) < 1 for cell in args.cells):
        ap.error("--cells: expected VIEWSxROWSxCHANNELS such as 200x208x160")
    args.geometry, args.ops = args.geometry.split(","), args.ops.split(",")
    if not set(args.geometry) <= {"parallel", "cone"}:
        ap.error("--geometry: expected parallel, cone or both")
    if not set(args.ops) <= set(OPS):
        ap.error("--ops: expected some of " + ",".join(OPS))
    if args.rounds < 1:
        ap.error("--rounds: expected at least 1")
    if not os.access(args.program, os.X_OK) or args.program.is_dir():
        ap.error(f"--program: no program at {args.program}")
    return args


class Failure(Exception):
    """One side of one operation."""


def timed(call, budget):
    """[milliseconds of each warm call]: call() returns when its result is ready."""
    start, last, warm, times = time.perf_counter(), 0.0, 0, []

    def once():
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin

    while warm < WARM and (warm == 0 or time.perf_counter() - start + last * (WARM - warm + REPEATS) <= budget):
        last = once()
        warm += 1
    while True:
        last = once()
        times.append(1e3 * last)
        enough = len(times) >= (REPEATS_SHORT if last < 5e-3 else REPEATS)
        if enough or time.perf_counter() - start + last > budget:
            return times


class Mbirk:
    """mbirk_gpu_cells, one process per round."""

    def __init__(self, program, cell, geometry):
        self.program, self.cell, self.geometry, self.environment, self.last = (
            program, "x".join(map(str, cell)), geometry, None, {})

    def measure(self, op, budget):
        with tempfile.TemporaryDirectory(prefix="mbirk-compare-") as folder:
            file = pathlib.Path(folder, "out.json")
            words = ["--cells", self.cell, "--geometry", self.geometry, "--ops", op, "--op-budget", f"{budget:.1f}",
                     "--out", file]
            try:
                done = subprocess.run([self.program, *map(str, words)], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=budget + 90)
                data = json.loads(file.read_text())
            except (OSError, ValueError, subprocess.TimeoutExpired) as error:
                raise Failure(f"mbirk_gpu_cells: {error}")
        if done.returncode or not data["results"]:
            why = data["errors"][0]["error"] if data["errors"] else done.stdout.strip()[-300:]
            raise Failure(f"mbirk_gpu_cells: exit code {done.returncode}: {why}")
        self.environment, self.last = data["environment"], data["results"][0]
        return self.last["ms"]


def scan_of(cell, geometry):
    """(angles, source_detector_dist, source_iso_dist), equal to those of mbirk_gpu_cells."""
    import numpy as np
    views, _, channels = cell
    angles = np.linspace(0, np.pi if geometry == "parallel" else 2 * np.pi, views, endpoint=False).astype(np.float32)
    return angles, 4.0 * channels, 2.0 * channels


class MbirJax:
    """One cell and geometry on one device, where its inputs and results lie."""
    ops = OPS

    @staticmethod
    def available():
        """Name and version of the package, or raises ImportError."""
        # JAX allocates memory on demand, up to a share: mbirk and ASTRA need theirs beside it.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.6")
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        os.environ.setdefault("MPLBACKEND", "agg")
        import mbirjax, jax                             # in this order: mbirjax sets up how JAX sees devices
        if jax.default_backend() not in ("gpu", "cuda"):
            raise ImportError(f"JAX {jax.__version__} shows no CUDA device, only {jax.default_backend()}")
        from importlib import metadata
        return f"{metadata.version('mbirjax')}, jax {jax.__version__} on {jax.devices()[0].device_kind}"

    def __init__(self, cell, geometry):
        import mbirjax, jax, jax.numpy as jnp, numpy as np
        angles, far, near = scan_of(cell, geometry)
        self.jax = jax
        self.model = m = (mbirjax.ParallelBeamModel(cell, angles) if geometry == "parallel" else
                          mbirjax.ConeBeamModel(cell, angles, source_detector_dist=far, source_iso_dist=near))
        m.set_params(verbose=0)
        m.configure_devices(1)
        shape = self.recon_shape = tuple(int(n) for n in m.get_params("recon_shape"))
        np.random.seed(0)
        self.indices = mbirjax.gen_pixel_partition(shape, SUBSETS)[0]
        random = lambda key, size: jax.random.uniform(jax.random.key(key), size, jnp.float32)
        self.make = {"x": lambda: random(1, shape), "y": lambda: random(2, cell),
                     "values": lambda: random(3, (len(self.indices), shape[2]))}
        self.arrays = {}

    def call_of(self, op):
        m, indices = self.model, self.indices
        needed = {"forward_project": "x", "sparse_forward_project": "values", "hessian_diagonal": ""}.get(op, "y")
        self.arrays = {k: a for k, a in self.arrays.items() if k == needed}            # one input at a time
        if needed and needed not in self.arrays:
            self.arrays[needed] = self.make[needed]()
        a = self.arrays.get(needed)
        return {"forward_project": lambda: m.forward_project(a, output_sharded=True),
                "back_project": lambda: m.back_project(a, output_sharded=True),
                "sparse_forward_project": lambda: m.sparse_forward_project(a, indices),
                "sparse_back_project": lambda: m.sparse_back_project(a, indices),
                "hessian_diagonal": lambda: m.compute_hessian_diagonal(output_sharded=True),
                "direct_filter": lambda: m.direct_filter(a, output_sharded=True)}[op]

    def measure(self, op, budget):
        call = self.call_of(op)
        return timed(lambda: self.jax.block_until_ready(call()), budget)


class Astra:
    """One cell and geometry: the volume is (slices, rows, cols), the projections (rows, views, channels), both on the
    device, linked, not copied."""
    ops = ("forward_project", "back_project")

    @staticmethod
    def arrays():
        """(make(shape), wait()) of PyTorch or CuPy."""
        try:
            import torch
            if not torch.cuda.is_available():
                raise ImportError("torch shows no CUDA device")
            return (lambda shape: torch.rand(shape, device="cuda", dtype=torch.float32), torch.cuda.synchronize,
                    f"arrays of torch {torch.__version__}")
        except ImportError:
            import cupy
            return (lambda shape: cupy.random.random(shape, dtype=cupy.float32), cupy.cuda.Device().synchronize,
                    f"arrays of cupy {cupy.__version__}")

    @staticmethod
    def available():
        import astra, astra.experimental
        if not astra.use_cuda():
            raise ImportError(f"astra {astra.__version__} was built without CUDA or finds no device")
        return f"{astra.__version__}, {Astra.arrays()[2]}"

    def __init__(self, cell, geometry):
        import astra
        self.astra = astra
        angles, far, near = scan_of(cell, geometry)
        views, rows, channels = cell
        # both other packages size it like this: voxels as large as channels at the axis
        self.recon_shape = channels, channels, rows
        voxel = 1.0 if geometry == "parallel" else near / far
        half = [voxel * n / 2 for n in (channels, channels, rows)]
        volume = astra.create_vol_geom(channels, channels, rows, -half[0], half[0], -half[1], half[1],
                                       -half[2], half[2])
        detector = (astra.create_proj_geom("parallel3d", 1.0, 1.0, rows, channels, angles)
                    if geometry == "parallel" else
                    astra.create_proj_geom("cone", 1.0, 1.0, rows, channels, angles, near, far - near))
        make, self.wait, _ = Astra.arrays()
        self.projector = astra.create_projector("cuda3d", detector, volume)
        self.x, self.y = make((rows, channels, channels)), make((rows, views, channels))

    def __del__(self):
        if hasattr(self, "projector"):
            self.astra.projector3d.delete(self.projector)

    def measure(self, op, budget):
        from astra import experimental
        forward = op == "forward_project"
        run, out = (experimental.direct_FP3D, self.y) if forward else (experimental.direct_BP3D, self.x)
        out *= 0
        self.wait()

        def call():
            run(self.projector, self.x, self.y)
            self.wait()
        times = timed(call, budget)
        if not float(out.max()) > 0:                                     # some versions do not raise
            raise Failure(f"{op} wrote nothing")
        out *= 1 / float(out.max())  # this array is the input of the other direction
        return times


def find_peers():
    """({name: class}, {name: its version, or why it is missing})"""
    found, said = {}, {}
    for name, side in (("mbirjax", MbirJax), ("astra", Astra)):
        try:
            said[name] = side.available()
            found[name] = side
        except Exception as error:  # each library fails in its own way while it is imported
            said[name] = (f"not importable: {type(error).__name__}: "
                          f"{str(error).strip().splitlines()[0] if str(error).strip() else ''}")
    return found, said


def compare(op, sides, rounds, budget):
    """({side: median of medians}, {side: ratio to mbirk}, {side: every time}, {side: why it failed})"""
    times, failed, start = {name: [] for name in sides}, {}, time.perf_counter()
    for k in range(rounds):
        spent = time.perf_counter() - start
        if k and spent * (k + 1) / k > budget:
            break
        share = max(1.0, (budget - spent) / ((rounds - k) * len(sides)))
        for name in list(sides) if k % 2 == 0 else list(sides)[::-1]:
            if name in failed:
                continue
            try:
                times[name].append(sides[name].measure(op, share))
            except Exception as error:  # mostly out of memory, which each library reports with its own type
                failed[name] = f"{name}: {type(error).__name__}: {str(error).strip()[:300]}"
    medians = {name: [statistics.median(t) for t in rows] for name, rows in times.items()}
    ms = {name: statistics.median(m) for name, m in medians.items() if m}
    ratios = {}
    for name in ms:
        by_round = [b / a for a, b in zip(medians.get("mbirk", []), medians[name])]
        if name != "mbirk" and by_round and "mbirk" in ms:
            ratios[name] = {"median": ms[name] / ms["mbirk"], "min": min(by_round), "max": max(by_round),
                            "rounds": len(by_round)}
    return ms, ratios, times, failed


def write(file, data):
    partial = file.with_name(file.name + ".partial")
    partial.write_text(json.dumps(data, indent=1) + "\n")
    partial.replace(file)


def main():
    args = arguments()
    start = time.perf_counter()
    peers, said = find_peers()
    data = {"peers": said, "environment": None, "running": None, "results": [], "errors": [], "skipped": []}
    write(args.json, data)
    for name, text in said.items():
        print(f"peers: {name}: {text}", flush=True)
    if not peers:
        print("peers: nothing to compare with", flush=True)
        return 0

    todo = [(cell, geometry, op) for cell in args.cells for geometry in args.geometry for op in args.ops]
    sides, made_for = {}, None
    for k, (cell, geometry, op) in enumerate(todo):
        entry = {"cell": "x".join(map(str, cell)), "geometry": geometry, "operation": op}
        left = args.budget - (time.perf_counter() - start)
        if left < 2:
            data["skipped"].append(entry | {"reason": f"the budget of {args.budget:g} s was used up"})
            continue
        data["running"] = entry
        write(args.json, data)
        if made_for != (cell, geometry):
            sides.clear()                               # gives their memory back before the next ones ask for theirs
            sides["mbirk"] = Mbirk(args.program.resolve(), cell, geometry)
            made_for = cell, geometry
            for name, side in peers.items():
                try:
                    sides[name] = side(cell, geometry)
                except Exception as error:
                    data["errors"].append({**entry, "operation": "set-up",
                                           "error": f"{name}: {type(error).__name__}: {str(error).strip()[:300]}"})
        here = {name: side for name, side in sides.items() if name == "mbirk" or op in side.ops}
        if len(here) == 1:
            data["skipped"].append(entry | {"reason": "no peer that could be set up has it"})
        else:
            ms, ratios, times, failed = compare(op, here, args.rounds, left / (len(todo) - k))
            shapes = {name: list(side.recon_shape) for name, side in here.items() if name != "mbirk"}
            if "mbirk" in ms:
                data["environment"] = here["mbirk"].environment
                shapes["mbirk"] = here["mbirk"].last["recon_shape"]
                if len({tuple(s) for s in shapes.values()}) > 1:
                    data["errors"].append(entry | {"error": f"the sides do not have the same reconstruction: {shapes}"})
            data["errors"] += [entry | {"error": why} for why in failed.values()]
            if ms:
                data["results"].append(entry | {"ms": ms, "ratios": ratios, "times": times, "recon_shapes": shapes})
                print(f"{entry['cell']:>15} {geometry + '_' + op:32} "
                      + "  ".join(f"{name} {t:.3f} ms" for name, t in ms.items())
                      + "".join(f"  {name}/mbirk {r['median']:.2f}" for name, r in ratios.items()), flush=True)
            for why in failed.values():
                print(f"{entry['cell']:>15} {geometry}_{op}: {why}", flush=True)
        data["running"] = None
        write(args.json, data)
    write(args.json, data)
    return 1 if data["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())

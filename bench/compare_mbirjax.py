#!/usr/bin/env python3
"""Times mbirk against MBIRJAX 0.7.3 (JAX on the CPU, its defaults) on this machine, in one run, the two sides
alternating.

    python3 bench/compare_mbirjax.py [--sizes 64,128] [--rounds 5] [--budget 40] [--ops 'cone_*'] [--json out.json]
    python3 bench/compare_mbirjax.py --check        # do both sides compute the same numbers? (smallest size)

If this interpreter lacks MBIRJAX, a virtual environment is made once (--venv) and the script goes on there.

A size N is the problem of `mbirk profile`: recon N^3, sinogram (N/2, N, N), mask on; parallel beam over half a turn,
voxel pitch 1; cone beam over a full turn, source_detector_dist 4N, source_iso_dist 2N, voxel pitch 0.5; translation
with the same distances and a recon (N/4, N, N) whose rows are 2 long, the views a raster over half its width and
height, without mask; multi-axis parallel beam over a full turn at elevations of 30 degrees, voxel pitch 1. mbir_recon,
prox_map and qggmrf_denoise do 1 iteration with everything that such a call sets up; the utilities (no geometry in the
name) have N^3 voxels. In each round either side is timed once, warm, through its public interface: mbirk in the third
run of `mbirk profile`, MBIRJAX (compiled before, on the devices it chooses itself) in the second of two calls, until
its result is ready. In every other round the other side begins. There are --rounds rounds, fewer but at least 1 where a
side would take longer than --budget seconds.
When MBIRJAX ends its process (XLA does so when its CPU devices lock each other out), the operation is tried once more
in a new one, and then on one device. What MBIRJAX lowers and compiles even in a warm call (median_filter3d does; --json
has it) is taken off its time. Ratios are MBIRJAX time / mbirk time and hold for this run only. '*': other processes
took more than 10 % of a core meanwhile; repeat on a quiet machine.

--check draws the same pixel partitions on both sides (seed 0) and keeps MBIRJAX on one device: its iterative results
depend on the number of devices, because slices at the border between two are refreshed once an iteration only.

Exit code: 0 done; 1 an operation failed or --check found a difference; 2 bad usage."""
import argparse, collections, contextlib, fnmatch, importlib.metadata, io, itertools, json, multiprocessing, os, pathlib
import platform, re, statistics, subprocess, sys, tempfile, time, venv

VERSION = "0.7.3"
COMPILE_EVENTS = ("/jax/core/compile/jaxpr_to_mlir_module_duration", "/jax/core/compile/backend_compile_duration")
# An operation as cases name it; geometry: of the problem it is called on; gate: allowed max|a - b| / max|reference| in
# --check up to 129 channels and beyond, where two float32 FFTs (and with them everything that starts from a filtered
# sinogram) differ by more.
Operation = collections.namedtuple("Operation", "op geometry inputs args gate")


def operations():
    """{name in `mbirk profile`: Operation}"""
    sino, seed, ops = ["sinogram"], {"seed": 0}, {}
    once = {"max_iterations": 1} | seed
    for geometry, direct in ("parallel", "fbp"), ("cone", "fdk"), ("multiaxis", "fbp"), ("translation", "fdk"):
        for kind, op, inputs, args, gate in (
                ("forward_project", "", ["recon"], {}, (2e-5, 2e-5)), ("back_project", "", sino, {}, (2e-5, 2e-5)),
                ("sparse_forward_project", "", ["voxel_values", "pixel_indices"], {}, (2e-5, 2e-5)),
                ("sparse_back_project", "", ["sinogram", "pixel_indices"], {"coeff_power": 1}, (2e-5, 2e-5)),
                ("hessian_diagonal", "", [], {}, (2e-5, 2e-5)), ("direct_filter", "", sino, {}, (5e-6, 3e-5)),
                ("mbir_recon", "recon", sino, once, (2e-5, 1e-4)),
                ("prox_map", "", ["prox_input", "sinogram"], once, (2e-5, 1e-4)),
                (direct + "_recon", "", sino, {}, (3e-5, 4e-4)), (direct + "_filter", "", sino, {}, (5e-6, 3e-5)),
                ("direct_recon", "", sino, {}, (3e-5, 4e-4)), ("gen_weights_mar", "", sino, {}, (2e-6, 2e-6))):
            if geometry != "translation" or kind != "gen_weights_mar":   # needs a reconstruction that separates metal
                ops[f"{geometry}_{kind}"] = Operation(op or kind, geometry, inputs, args, gate)
    ops["gen_weights_transmission"] = Operation("gen_weights", "parallel", sino, {"weight_type": "transmission"},
                                                (2e-6, 2e-6))
    ops["qggmrf_denoise"] = Operation("qggmrf_denoise", "parallel", ["image"], once, (5e-6, 5e-6))
    ops["median_filter3d"] = Operation("median_filter3d", "parallel", ["image"], {}, (0, 0))
    for op in ("gen_pixel_partition", "gen_pixel_partition_blue_noise", "gen_pixel_partition_grid"):
        ops[op] = Operation(op, "parallel", [], {"num_subsets": 4} | seed, (0, 0))
    return ops


OPS = operations()
ROOT = pathlib.Path(__file__).resolve().parent.parent


class Failure(Exception):
    """One operation of one side failed; the other operations continue."""


def options(doc, ops, rounds, venv):
    """A parser with the options that every comparison takes."""
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--mbirk", type=pathlib.Path, default=ROOT / "build/release/bench/mbirk/mbirk",
                    help="the program (default %(default)s)")
    ap.add_argument("--sizes", default="64,128", help="comma-separated, even (default %(default)s)")
    ap.add_argument("--rounds", type=int, default=rounds, help="timed calls of each side (default %(default)s)")
    ap.add_argument("--budget", type=float, default=40, metavar="SECONDS",
                    help="of one operation, size and side (default %(default)g)")
    ap.add_argument("--ops", default="*", metavar="GLOB", help="among " + " ".join(ops))
    ap.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write every single time here")
    ap.add_argument("--venv", type=pathlib.Path, default=ROOT / "build" / venv,
                    help="where Python packages are or will be (default %(default)s)")
    return ap


def parsed(ap, ops, smallest):
    """The arguments, after a check that they make sense."""
    args = ap.parse_args()
    try:
        args.sizes = sorted({int(n) for n in args.sizes.split(",")})
    except ValueError:
        ap.error(f"--sizes: expected numbers such as 64,128, got {args.sizes!r}")
    if any(n < smallest or n % 2 for n in args.sizes):
        ap.error(f"--sizes: expected even numbers, at least {smallest}")
    if args.rounds < 1:
        ap.error("--rounds: expected at least 1")
    if not args.budget > 0:
        ap.error("--budget: expected more than 0 seconds")
    args.ops = [op for op in ops if fnmatch.fnmatchcase(op, args.ops)]
    if not args.ops:
        ap.error("--ops: no operation has such a name; there are " + " ".join(ops))
    args.mbirk = args.mbirk.resolve()
    if not os.access(args.mbirk, os.X_OK) or args.mbirk.is_dir():
        ap.error(f"--mbirk: no program at {args.mbirk}; build it (Release) or say where it is")
    return args


def arguments():
    ap = options(__doc__, OPS, 5, "venv-mbirjax")
    ap.add_argument("--check", action="store_true", help="compare results instead of times")
    return parsed(ap, OPS, 8)


def need_mbirjax(folder):
    """Returns if MBIRJAX can be imported here; otherwise restarts in a virtual environment that has it."""
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


def quiet():
    import warnings
    warnings.filterwarnings("ignore", message="TkAgg not available")    # MBIRJAX's viewer, not used here


class MbirJax:
    """One geometry and size on the MBIRJAX side: the model, its inputs, and each operation as a call."""

    def __init__(self, geometry, n, check, one_device=False):
        import mbirjax                                  # before jax: it decides how many CPU devices JAX shows
        import jax, jax.numpy as jnp, numpy as np
        self.geometry, self.shape = geometry, (n // 2, n, n)
        self.model, self.view_list, self.views = self.make_model(mbirjax, np, n)
        self.recon_shape = tuple(self.model.get_params("recon_shape"))
        self.denoiser = mbirjax.QGGMRFDenoiser((n, n, n))
        for model in (self.model, self.denoiser):
            model.set_params(verbose=0)
            if check or one_device:
                model.configure_devices(1)
        self.names = ["delta_det_channel", "delta_det_row", "det_channel_offset", "det_row_offset", "delta_voxel",
                      "voxel_row_aspect", "voxel_slice_aspect", "use_ror_mask"]  # model parameters passed on to mbirk
        self.names += ["source_detector_dist", "source_iso_dist"] if geometry in ("cone", "translation") else []
        self.names += ["recon_slice_offset"] if geometry in ("cone", "multiaxis") else []
        self.names += ["use_curved_detector"] if geometry == "cone" else []
        assert self.recon_shape == ((n // 4 if geometry == "translation" else n), n, n)
        assert self.model.get_params("delta_voxel") == (0.5 if geometry in ("cone", "translation") else 1.0)
        rng = np.random.default_rng(0)
        if check:                                       # positive noise: every cell of the result is tested
            self.recon, self.sinogram = rng.random(self.recon_shape, np.float32), rng.random(self.shape, np.float32)
            self.image = rng.random((n, n, n), np.float32)
        else:                                           # two nested ellipsoids and their projection with 1 % noise
            z, y, x = np.meshgrid(*[np.linspace(-1, 1, k) for k in (n, self.recon_shape[0], n)], indexing="ij")
            inside = lambda a, b, c: ((x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 <= 1).transpose(1, 2, 0)
            self.recon = np.ascontiguousarray((0.01 * (inside(.8, .7, .8) + inside(.4, .3, .4))).astype(np.float32))
            noisy = lambda clean: (clean + rng.normal(0, 0.01 * clean.max(), clean.shape)).astype(np.float32)
            self.sinogram, self.image = noisy(self.model.forward_project(self.recon)), noisy(self.recon)
        np.random.seed(0)
        mask = self.model.get_params("use_ror_mask")
        # subset 0: a quarter of the pixels inside the mask
        self.indices = mbirjax.gen_pixel_partition(self.recon_shape, 4, use_ror_mask=mask)[0]
        self.voxels = self.recon.reshape(-1, n)[np.asarray(self.indices)]
        # MBIRJAX's own loops pass device arrays
        self.on_device = {"voxels": jnp.asarray(self.voxels), "sinogram": jnp.asarray(self.sinogram)}
        self.compiling = compiling = []                              # seconds of each compilation
        jax.monitoring.register_event_duration_secs_listener(
            lambda event, seconds, **_: compiling.append(seconds) if event in COMPILE_EVENTS else None)

    def make_model(self, mbirjax, np, n):
        """(the model, the name of its list of views in case.json, the list)"""
        distances = {"source_detector_dist": 4.0 * n, "source_iso_dist": 2.0 * n}
        if self.geometry == "translation":
            across = int(np.ceil(np.sqrt(n // 2)))
            down = -(-(n // 2) // across)
            vectors = mbirjax.gen_translation_vectors(across, down, 0.25 * n / across,
                                                      0.25 * n / down)[:n // 2].astype(np.float32)
            model = mbirjax.TranslationModel(self.shape, vectors, **distances)
            model.set_params(no_warning=True, delta_voxel=0.5, voxel_row_aspect=4.0, recon_shape=(n // 4, n, n))
            return model, "translation_vectors", vectors
        angles = np.linspace(0, np.pi if self.geometry == "parallel" else 2 * np.pi, n // 2,
                             endpoint=False).astype(np.float32)
        if self.geometry == "multiaxis":
            angles = np.stack([angles, np.full_like(angles, np.pi / 6)], axis=1)
            model = mbirjax.MultiAxisParallelModel(self.shape, angles)
            model.set_params(recon_shape=(n, n, n), no_warning=True)
            return model, "angles", angles
        if self.geometry == "parallel":
            return mbirjax.ParallelBeamModel(self.shape, angles), "angles", angles
        return mbirjax.ConeBeamModel(self.shape, angles, **distances), "angles", angles

    def call(self, op):
        """Runs the named operation on host arrays (sparse ones: device arrays) and waits for its result."""
        import jax, mbirjax, numpy as np
        m, y, shape = self.model, self.sinogram, self.recon.shape
        once = {"max_iterations": 1, "stop_threshold_change_pct": 0, "logfile_path": None, "print_logs": False}
        calls = {"forward_project": lambda: m.forward_project(self.recon),
                 "back_project": lambda: m.back_project(y),
                 "sparse_forward_project": lambda: m.sparse_forward_project(self.on_device["voxels"], self.indices),
                 "sparse_back_project": lambda: m.sparse_back_project(self.on_device["sinogram"], self.indices),
                 "hessian_diagonal": lambda: m.compute_hessian_diagonal(),
                 "recon": lambda: m.recon(y, **once)[0],
                 "prox_map": lambda: m.prox_map(self.recon, y, **once)[0],
                 "gen_weights_mar": lambda: mbirjax.gen_weights_mar(m, y),
                 "gen_weights": lambda: mbirjax.gen_weights(y, "transmission"),
                 "qggmrf_denoise": lambda: self.denoiser.denoise(self.image, **once)[0],
                 "median_filter3d": lambda: mbirjax.median_filter3d(self.image),
                 "gen_pixel_partition": lambda: mbirjax.gen_pixel_partition(shape, 4),
                 "gen_pixel_partition_blue_noise": lambda: mbirjax.gen_pixel_partition_blue_noise(shape, 4),
                 "gen_pixel_partition_grid": lambda: mbirjax.gen_pixel_partition_grid(shape, 4)}
        np.random.seed(0)
        try:
            with contextlib.redirect_stdout(io.StringIO()):          # gen_weights_mar prints its thresholds
                # else: filters, direct reconstructions
                return jax.block_until_ready(calls[op]() if op in calls else getattr(m, op)(y))
        except (ValueError, RuntimeError, MemoryError) as error:     # JAX's own are RuntimeErrors
            raise Failure(f"MBIRJAX {op}: {error}")

    def seconds(self, op):
        """(seconds of a warm call without compilation, seconds of compilation)"""
        self.call(op)                                                # both sides are timed warm
        self.compiling.clear()
        start = time.perf_counter()
        self.call(op)
        seconds, compiling = time.perf_counter() - start, sum(self.compiling)
        return seconds - compiling, compiling


def mbirk(program, *words):
    """Runs the program; its output is shown only if it fails."""
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
    times = [m["time"] for m in run["measurements"]
             if (m["operation"], m["volume_size"]) == (op, n) and m["run"] >= 3 and not m.get("traced")]
    if not times or min(times) <= 0:
        raise Failure(f"mbirk profile has no usable time of {op} at {n}: times {times}, errors {run.get('errors')}")
    return statistics.median(times), run["environment"]


def busy_seconds():
    """(CPU seconds spent so far by everything on this machine, by this program and its children)"""
    ticks = sum(map(int, pathlib.Path("/proc/stat").read_text().split()[1:4]))              # user, nice, system
    return ticks / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])


def machine_of(load, rounds):
    """Prints this machine and its load, and returns both for the report; load: the averages before."""
    cpu = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    cpu, cores, after = cpu[1] if cpu else platform.machine(), len(os.sched_getaffinity(0)), os.getloadavg()
    print(f"\nmachine: {cpu}, {cores} cores; load average before {load[0]:.2f}, after {after[0]:.2f}; "
          f"rounds: at most {rounds}")
    return {"cpu": cpu, "cores": cores, "load_average_before": load, "load_average_after": after}


def measure(args, name, n, jax_side):
    """(all rounds of one operation and size as one record of the report, mbirk's environment)"""
    op = OPS[name].op
    jax_side.call(op)                                                                   # compiles
    ours, theirs, compiling, environment, spent = [], [], [], None, {"mbirk": 0.0, "mbirjax": 0.0}
    wall, (machine, own) = time.perf_counter(), busy_seconds()
    for i in range(args.rounds):
        if i and max(spent.values()) * (i + 1) / i > args.budget:
            break
        for side in ("mbirk", "mbirjax") if i % 2 == 0 else ("mbirjax", "mbirk"):
            start = time.perf_counter()
            if side == "mbirjax":
                seconds, compiled = jax_side.seconds(op)
                theirs.append(seconds), compiling.append(compiled)
            else:
                seconds, environment = mbirk_seconds(args.mbirk, name, n)
                ours.append(seconds)
            spent[side] += time.perf_counter() - start
    (machine_end, own_end), wall = busy_seconds(), time.perf_counter() - wall
    others = max(0.0, (machine_end - machine - (own_end - own) - 0.03) / wall)  # 0.03 s: resolution of the counters
    ratios = [b / a for a, b in zip(ours, theirs)]
    return {"operation": name, "volume_size": n, "mbirk": ours, "mbirjax": theirs, "mbirjax_compiling": compiling,
            "ratio_of_medians": statistics.median(theirs) / statistics.median(ours),
            "ratio_min": min(ratios), "ratio_max": max(ratios), "other_processes_cores": others}, environment


def worker(pipe, args, geometry, n, ops, one_device):
    """Process of its own, because XLA aborts its process when the collectives of two CPU devices lock each other out:
    measures ops in turn."""
    log = tempfile.TemporaryFile()
    os.dup2(log.fileno(), 2)                                                            # XLA's last words are long
    quiet()
    side = MbirJax(geometry, n, check=False, one_device=one_device)
    for op in ops[:1] if one_device else ops:
        pipe.send(("begin", op))
        try:
            row, environment = measure(args, op, n, side)
            pipe.send(("row", row | {"one_device": one_device}, environment))
        except Failure as failure:
            pipe.send(("failed", op, str(failure)))
    if not one_device:
        pipe.send(("end", side.model.device_summary))


def measured(args, geometry, n, ops):
    """Messages from the workers: ("row", record, environment), ("failed", op, why) for every op, ("end", devices)."""
    spawn, tries = multiprocessing.get_context("spawn"), collections.Counter()
    while ops:
        here, there = spawn.Pipe(duplex=False)
        process = spawn.Process(target=worker, args=(there, args, geometry, n, ops, tries[ops[0]] == 2))
        process.start()
        there.close()
        current = ops[0]
        try:
            while True:
                message = here.recv()
                if message[0] == "begin":
                    current = message[1]
                    continue
                yield message
                if message[0] != "end":
                    ops = ops[ops.index(current) + 1:]
        except EOFError:
            process.join()
        if current in ops:                                                              # it died with this one
            tries[current] += 1
            if tries[current] == 3:
                yield "failed", current, f"MBIRJAX ended its process three times, exit code {process.exitcode}"
                ops = ops[ops.index(current) + 1:]


def compare_times(args):
    print(f"{'operation':34}{'N':>5}  {'mbirk ms: median':>17}{'min':>10}  {'MBIRJAX ms: median':>19}{'min':>10}  "
          f"{'ratio':>8}  (over rounds: how many)")
    load, rows, errors, environment, devices = os.getloadavg(), [], [], None, None
    for n in args.sizes:
        for geometry, group in itertools.groupby(args.ops, lambda op: OPS[op].geometry):
            for kind, *message in measured(args, geometry, n, list(group)):
                if kind == "end":
                    devices = message[0]
                elif kind == "failed":
                    errors.append({"operation": message[0], "volume_size": n, "error": message[1]})
                    print(f"{message[0]:34}{n:5}  failed: {message[1]}", flush=True)
                else:
                    row, environment = message
                    rows.append(row)
                    ms = [1e3 * f(row[side]) for side in ("mbirk", "mbirjax") for f in (statistics.median, min)]
                    mark = ((" *" if row["other_processes_cores"] > 0.1 else "")
                            + (" (MBIRJAX on 1 device)" if row["one_device"] else ""))
                    print(f"{row['operation']:34}{n:5}  {ms[0]:17.3f}{ms[1]:10.3f}  {ms[2]:19.3f}{ms[3]:10.3f}  "
                          f"{row['ratio_of_medians']:8.2f}  "
                          f"({row['ratio_min']:.2f} .. {row['ratio_max']:.2f}: {len(row['mbirk'])}){mark}", flush=True)
    versions = ({"mbirjax": VERSION, "python": platform.python_version()}
                | {p: importlib.metadata.version(p) for p in ("jax", "jaxlib", "numpy")})
    versions["mbirjax devices"] = devices
    machine = machine_of(load, args.rounds)
    print("MBIRJAX: " + ", ".join(f"{k} {v}" for k, v in versions.items()))
    print("mbirk:   " + json.dumps(environment))
    if args.json:
        args.json.write_text(json.dumps({"machine": machine, "versions": versions, "environment": environment,
                                         "rounds": args.rounds, "results": rows, "errors": errors}, indent=1) + "\n")
    return 1 if errors else 0


def compare_results(args):
    """Writes one case folder per geometry, has `mbirk run` compute it, and compares the results with MBIRJAX's."""
    import numpy as np
    n, bad = args.sizes[0], 0
    print(f"{'operation':34}{'N':>5}  {'max error / max reference':>26}  {'allowed':>8}")
    for geometry in ("parallel", "cone", "multiaxis", "translation"):
        ops = {name: OPS[name] for name in args.ops if OPS[name].geometry == geometry}
        if not ops:
            continue
        side, allowed = MbirJax(geometry, n, check=True), {name: o.gate[n > 129] for name, o in ops.items()}
        with tempfile.TemporaryDirectory(prefix="mbirk-compare-") as folder:
            case, out = pathlib.Path(folder, "case"), pathlib.Path(folder, "out")
            case.mkdir(), out.mkdir()
            arrays = {side.view_list: side.views, "recon": side.recon, "prox_input": side.recon, "image": side.image,
                      "sinogram": side.sinogram, "voxel_values": side.voxels, "pixel_indices": side.indices}
            references = {name: np.asarray(side.call(o.op)) for name, o in ops.items()}
            for name, array in (arrays | references).items():
                np.save(case / f"{name}.npy", np.ascontiguousarray(array))
            (case / "case.json").write_text(json.dumps({
                "name": f"{geometry}_{n}", "geometry": geometry, "sinogram_shape": side.shape,
                "recon_shape": side.recon.shape, side.view_list: f"{side.view_list}.npy",
                "params": {name: side.model.get_params(name) for name in side.names},
                "ops": [{"op": o.op, "inputs": {i: f"{i}.npy" for i in o.inputs}, "output": f"{name}.npy",
                         "rtol": allowed[name], "args": o.args} for name, o in ops.items()]}, indent=1))
            try:
                mbirk(args.mbirk, "run", case, "--out", out, "--quiet")
            except Failure as failure:                              # the table says which results are missing
                print(failure)
                bad += 1
            for name, reference in references.items():
                result, text, ok = out / f"{name}.npy", "no result", False
                if result.exists():
                    got = np.load(result)
                    text = f"shape {got.shape}, not {reference.shape}"
                    if got.shape == reference.shape:
                        error = np.abs(got - reference.astype(np.float64)).max() / np.abs(reference).max()
                        text, ok = f"{error:.2e}", bool(error <= allowed[name])             # NaN is not ok
                bad += not ok
                print(f"{name:34}{n:5}  {text:>26}  {allowed[name]:8g}  {'ok' if ok else 'OUT'}")
    return 1 if bad else 0


if __name__ == "__main__":
    args = arguments()
    need_mbirjax(args.venv)
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # loading from its compile cache logs long, harmless notes
    quiet()
    sys.exit(compare_results(args) if args.check else compare_times(args))

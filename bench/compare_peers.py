#!/usr/bin/env python3
"""Times mbirk against other tomography packages (ASTRA, RTK, svmbir, LEAP) on this machine's CPU, in one run, the sides
alternating.

    python3 bench/compare_peers.py [--sizes 64,128] [--rounds 3] [--budget 40] [--ops 'cone_*'] [--peers rtk,svmbir]
                                   [--leap DIR] [--json out.json]

ASTRA, RTK and svmbir come from PyPI into a virtual environment of their own (--venv), once; Debian packages: python3,
python3-venv, and g++ where PyPI has no built svmbir for this Python. LEAP is built by yourself for the CPU: DIR has
leapctype.py, leap_filter_sequence.py and libleapct.so. Each of them is optional: what cannot be installed or imported
is said in one line and left out. MBIRJAX is compared by compare_mbirjax.py.

A size N is the problem of `mbirk profile`: recon N^3, sinogram (N/2, N, N); parallel beam over half a turn, voxel pitch
1; cone beam over a full turn, source_detector_dist 4N, source_iso_dist 2N, voxel pitch 0.5. The object is two nested
ellipsoids, the inner one off-centre; the sinogram is mbirk's projection of it with 1 % noise, for all peers the same.

Peers have other matrices (the table names them), so before it is timed each result is held against mbirk's: the
relative L2 difference, of volumes within 0.9 of the radius of its mask, after the one fitted scale that a row names, is
at most 5 %; beyond that nothing is timed. (A mirrored geometry: 6 % and more.) Times: mbirk in the third run of `mbirk
profile` (its own phantom and noise); a peer after one call to warm up, the median of as many public calls as fit into
50 ms (1 to 25), on arrays that lie in its own containers and order before. In each round every side is timed once, in
every other round in the opposite order. --rounds rounds, fewer but at least 1 where a side would take longer than
--budget seconds. Ratios are peer time / mbirk time and hold for this run only. '*': other processes took more than 10 %
of a core meanwhile; repeat on a quiet machine.

Exit code: 0 done, also without peers; 1 an operation failed or a result differs; 2 bad usage."""
import collections, importlib, importlib.metadata, itertools, json, os, pathlib, platform, statistics, subprocess
import sys, tempfile, time, venv

from compare_mbirjax import Failure, busy_seconds, machine_of, mbirk, mbirk_seconds, options, parsed
from peers import ITERATIONS, PEERS

BOUND = 0.05                                                             # limit of the relative L2 difference
# mbirk's operations in the comparison, named as in cases.
Operation = collections.namedtuple("Operation", "op geometry inputs args")
OPS = {f"{geometry}_{name}": Operation(op, geometry, [given], {})
       for geometry, direct in (("parallel", "fbp_recon"), ("cone", "fdk_recon"))
       for name, op, given in (("forward_project", "forward_project", "recon"),
                               ("back_project", "back_project", "sinogram"), (direct, direct, "sinogram"))}
OPS["parallel_mbir_recon"] = Operation("recon", "parallel", ["sinogram"], {"max_iterations": ITERATIONS})


class Problem:
    """One geometry and size: the scan, the object, its sinogram, and mbirk's results."""

    def __init__(self, program, geometry, n):
        import numpy as np
        self.program, self.geometry, self.n, self.shape = program, geometry, n, (n // 2, n, n)
        self.cone = geometry == "cone"
        self.pitch, self.far, self.near = 0.5 if self.cone else 1.0, 4.0 * n, 2.0 * n
        self.angles = np.linspace(0, 2 * np.pi if self.cone else np.pi, n // 2, endpoint=False).astype(np.float32)
        z, y, x = np.meshgrid(*[np.linspace(-1, 1, n)] * 3, indexing="ij")
        inside = lambda a, b, c, u=0, v=0, w=0: (
            ((x - u) / a) ** 2 + ((y - v) / b) ** 2 + ((z - w) / c) ** 2 <= 1).transpose(1, 2, 0)
        self.recon = np.ascontiguousarray(
            0.01 * (inside(.8, .7, .8) * 1.0 + inside(.4, .3, .4, .2, -.3, .1)), np.float32)
        # until there is one; sigma_x: 5 % of the contrast
        self.sinogram, self.sigma_y, self.sigma_x = self.recon, 1.0, 5e-4
        clean = self.references([f"{geometry}_forward_project"]).popitem()[1]
        self.sigma_y = 0.01 * float(clean.max())
        self.sinogram = (clean + np.random.default_rng(0).normal(0, self.sigma_y, clean.shape)).astype(np.float32)

    def references(self, names):
        """{operation: mbirk's result}"""
        import numpy as np
        params = {"delta_voxel": self.pitch, "use_ror_mask": True, "auto_regularize_flag": False,
                  "sigma_y": self.sigma_y, "sigma_x": self.sigma_x}
        params |= {"source_detector_dist": self.far, "source_iso_dist": self.near} if self.cone else {}
        with tempfile.TemporaryDirectory(prefix="mbirk-compare-") as folder:
            case, out = pathlib.Path(folder, "case"), pathlib.Path(folder, "out")
            case.mkdir(), out.mkdir()
            for name in ("angles", "recon", "sinogram"):
                np.save(case / f"{name}.npy", getattr(self, name))
            (case / "case.json").write_text(json.dumps({
                "name": f"{self.geometry}_{self.n}", "geometry": self.geometry, "sinogram_shape": self.shape,
                "recon_shape": self.recon.shape, "angles": "angles.npy", "params": params,
                "ops": [{"op": OPS[name].op, "inputs": {i: f"{i}.npy" for i in OPS[name].inputs},
                         "args": OPS[name].args, "output": f"{name}.npy", "rtol": 1} for name in names]}))
            mbirk(self.program, "run", case, "--out", out, "--quiet")
            return {name: np.load(out / f"{name}.npy") for name in names}


def arguments():
    ap = options(__doc__, OPS, 3, "venv-peers")
    ap.add_argument("--peers", default=",".join(PEERS), metavar="LIST", help="comma-separated (default %(default)s)")
    ap.add_argument("--leap", type=pathlib.Path, metavar="DIR", help="where LEAP is")
    args = parsed(ap, OPS, 16)
    args.peers = args.peers.split(",")
    if not set(args.peers) <= set(PEERS):
        ap.error("--peers: expected some of " + ",".join(PEERS))
    return args


def enter(folder):
    """Restarts in the virtual environment, which is created if it does not exist."""
    folder = folder.resolve()
    if pathlib.Path(sys.prefix).resolve() == folder:
        return
    try:
        if not (folder / "bin/python").exists():
            venv.create(folder, with_pip=True)
        os.execv(folder / "bin/python", [str(folder / "bin/python"), *sys.argv])
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"compare_peers.py: no virtual environment could be made in {folder}: {error}")


def found(peer):
    """Its version, once it is installed and can be imported; raises whatever its import raises."""
    package = peer.requirements[0].partition("==")[0]
    try:
        importlib.metadata.version(package)
    except ImportError:
        print(f"installing {' '.join(peer.requirements)} (once)", file=sys.stderr, flush=True)
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *peer.requirements],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Failure(f"cannot be installed: {done.stdout.strip()[-200:]}")
        importlib.invalidate_caches()
    importlib.import_module(peer.module)
    return "as built" if peer is PEERS["leap"] else f"{package} {importlib.metadata.version(package)}"


def find_peers(args):
    """({name: class}, {name: its version, or why it is left out})"""
    peers, said = {}, {}
    sys.path[:0] = [str(args.leap.resolve())] if args.leap else []
    for name in args.peers:
        if name == "leap" and not args.leap:
            said[name] = "not given (--leap)"
            continue
        try:
            said[name] = found(PEERS[name])
            peers[name] = PEERS[name]
        except Exception as why:  # each library fails in its own way while it is imported
            said[name] = " ".join(f"left out: {type(why).__name__}: {why}".split())
    return peers, said


def warm_seconds(call):
    """Median time of 1 to 25 warm calls, as many as fit into 50 ms, which is the rule of `mbirk profile`."""
    call()
    times = []
    while not times or (sum(times) < 0.05 and len(times) < 25):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def difference(method, reference):
    """(relative L2 difference, the scale that was fitted)"""
    import numpy as np
    got = np.asarray(method.result())
    if got.shape != reference.shape:
        raise Failure(f"its shape is {got.shape}, not {reference.shape}")
    if "forward" in method.operation:
        there = np.ones(reference.shape, bool)
    else:                                               # (rows, cols, slices); peers cut different circles out, or none
        i = np.arange(len(reference)) - (len(reference) - 1) / 2
        there = np.broadcast_to((np.hypot(i[:, None], i) < 0.45 * len(i))[:, :, None], reference.shape)
    a, b = got[there].astype(np.float64), reference[there].astype(np.float64)
    scale = float(a @ b / (a @ a)) if method.fit else 1.0
    return float(np.linalg.norm(scale * a - b) / np.linalg.norm(b)), scale


def measure(args, name, n, methods):
    """([the times of each round] of each method, those of mbirk, cores that other processes took, mbirk's
    environment)"""
    ours, theirs, spent, environment = [], [[] for _ in methods], [0.0] * (len(methods) + 1), None
    wall, (machine, own) = time.perf_counter(), busy_seconds()
    for i in range(args.rounds):
        if i and max(spent) * (i + 1) / i > args.budget:
            break
        for side in range(len(spent)) if i % 2 == 0 else reversed(range(len(spent))):
            time.sleep(0.05)  # the previous side's thread team stops spinning meanwhile
            start = time.perf_counter()
            if side:
                m = methods[side - 1]
                theirs[side - 1].append((warm_seconds(m.call) - (warm_seconds(m.less) if m.less else 0.0)) / m.parts)
            else:
                took, environment = mbirk_seconds(args.mbirk, name, n)
                ours.append(took)
            spent[side] += time.perf_counter() - start
    (machine_end, own_end), wall = busy_seconds(), time.perf_counter() - wall
    return theirs, ours, max(0.0, (machine_end - machine - (own_end - own) - 0.03) / wall), environment


def checked(sides, names, problem, report):
    """{operation: [(peer, method)]} of those whose results are near mbirk's; report(operation, peer, model, why) of the
    others."""
    references, good = problem.references(names), collections.defaultdict(list)
    for name, side in sides.items():
        for method in side.methods():
            if method.operation not in names:
                continue
            try:
                error, scale = difference(method, references[method.operation])
                if not error <= BOUND:
                    raise Failure(f"differs from mbirk by {100 * error:.1f} %")
                good[method.operation].append((name, method, error, scale))
            except Exception as why:                                     # each library has error types of its own
                report(method.operation, side.title, method.model, f"{type(why).__name__}: {why}"[:300])
    return good


def compare(args, peers):
    """(rows, errors, mbirk's environment)"""
    rows, errors, environment = [], [], None
    print(f"{'operation':26}{'N':>5}  {'peer: model, cores':38}{'differs %':>10}{'mbirk ms':>11}{'peer ms':>11}"
          f"{'ratio':>9}  (over rounds: how many)")
    for n, geometry in itertools.product(args.sizes, ("parallel", "cone")):
        names = [op for op in args.ops if OPS[op].geometry == geometry]

        def report(operation, peer, model, why):
            errors.append({"operation": operation, "volume_size": n, "peer": peer, "model": model, "error": why})
            print(f"{operation:26}{n:5}  {peer + ': ' + model:38}  failed: {why}", flush=True)
        if not names:
            continue
        sides = {}
        try:
            problem = Problem(args.mbirk, geometry, n)
            for name, peer in peers.items():
                try:
                    sides[name] = peer(problem)
                except Exception as why:
                    report("set-up", peer.title, geometry, f"{type(why).__name__}: {why}"[:300])
            for operation, found in checked(sides, names, problem, report).items():
                theirs, ours, others, environment = measure(args, operation, n, [method for _, method, _, _ in found])
                for (name, method, error, scale), times in zip(found, theirs):
                    title, ratios = sides[name].title, [b / a for a, b in zip(ours, times)]
                    ratio = statistics.median(times) / statistics.median(ours)
                    rows.append({"operation": operation, "volume_size": n, "peer": title, "model": method.model,
                                 "cores": method.cores, "difference": error, "scale": scale, "mbirk": ours,
                                 "peer_times": times, "ratio_of_medians": ratio, "ratio_min": min(ratios),
                                 "ratio_max": max(ratios), "other_processes_cores": others})
                    label = (f"{title}: {method.model}" + (f", scale {scale:.3f}" if method.fit else "")
                             + f", {method.cores}")
                    print(f"{operation:26}{n:5}  {label:38}{100 * error:10.2f}{1e3 * statistics.median(ours):11.3f}"
                          f"{1e3 * statistics.median(times):11.2f}{ratio:9.1f}  "
                          f"({min(ratios):.1f} .. {max(ratios):.1f}: {len(times)}){' *' if others > 0.1 else ''}",
                          flush=True)
        except Failure as why:                                           # mbirk itself failed
            report("all", "mbirk", geometry, str(why))
        finally:
            for side in sides.values():
                side.close()
    return rows, errors, environment


def main():
    args = arguments()
    enter(args.venv)
    peers, said = find_peers(args)
    for name, text in said.items():
        print(f"{PEERS[name].title}: {text}", flush=True)
    if not peers:
        print("nothing to compare with")
        return 0
    load = os.getloadavg()
    rows, errors, environment = compare(args, peers)
    machine = machine_of(load, args.rounds)
    print("mbirk:   " + json.dumps(environment))
    if args.json:
        args.json.write_text(json.dumps({"machine": machine, "peers": said, "python": platform.python_version(),
                                         "environment": environment, "rounds": args.rounds, "results": rows,
                                         "errors": errors}, indent=1) + "\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

"""The commands that faults.py disturbs: small inputs, arguments, and what their outputs look like when they are
complete."""
import gzip
import hashlib
import json
import lzma
import math
import os
import pathlib
import re
import signal
import struct
import zlib

TEMPORARY = re.compile(r"\.mbirk-[0-9a-f]{16}\.tmp$")
SIZE = 8


def npy(shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}f", *values))


def sinogram(views=SIZE, rows=SIZE, channels=SIZE):
    """A disk, more or less."""
    middle, radius = channels * 3.3 / 8, channels * 3 / 8
    values = [max(0.0, 1 - ((c - middle) / radius) ** 2) * (1 + 0.1 * math.sin(v + r))
              for v in range(views) for r in range(rows) for c in range(channels)]
    return npy((views, rows, channels), values)


def angles():
    return npy((SIZE,), [math.pi * k / SIZE for k in range(SIZE)])


def is_complete(data, suffixes):
    """Whether a file ends where its kind, which its suffixes tell, ends."""
    suffix = suffixes[-1] if suffixes else ""
    try:
        if suffix == ".gz":
            return is_complete(gzip.decompress(data), suffixes[:-1])
        if suffix == ".xz":
            return is_complete(lzma.decompress(data), suffixes[:-1])
        if suffix == ".json":
            json.loads(data)
        elif suffix == ".npy":
            header = 10 + struct.unpack("<H", data[8:10])[0]
            shape = re.search(rb"'shape': \(([^)]*)\)", data[:header])[1]
            return len(data) == header + 4 * math.prod(int(n) for n in shape.split(b",") if n.strip())
        elif suffix == ".h5":  # the superblock of version 0 has the end of the file
            return data.startswith(b"\x89HDF\r\n\x1a\n") and len(data) >= struct.unpack("<Q", data[40:48])[0] > 0
        elif suffix == ".png":
            return data.endswith(b"IEND\xaeB`\x82")
        elif suffix == ".html":
            return data.rstrip().endswith(b"</html>")
        elif suffix == ".csv":
            lines = data.decode().split("\n")
            return lines[-1] == "" and len({line.split('"')[0].count(",") for line in lines[:-1]}) == 1
        return len(data) > 0
    except (ValueError, OSError, EOFError, struct.error, TypeError, zlib.error, lzma.LZMAError):
        return False


class Scenario:
    """A command with its inputs in `template`.

    bits: outputs that are the same in every run. outputs: all that a run of exit code 0 leaves, other than in folders
    that are named by the time."""
    kinds = sampled_kinds = ("write", "print", "open", "link", "rename", "sync", "remove", "folder", "memory", "any")
    checkpoint = None
    state = ()  # the files of the checkpoint
    most = None  # how many places of a kind fail, if the command is too slow for all

    def __init__(self, harness, name, inputs, arguments, bits=(), others=(), old=()):
        self.loud = [a for a in arguments if a != "--quiet"]
        self.name, self.arguments, self.bits, self.outputs = name, arguments, bits, [*bits, *others]
        self.template = harness.scratch / f"{name}-template"
        self.template.mkdir()
        for file, data in inputs.items():
            (self.template / file).parent.mkdir(parents=True, exist_ok=True)
            (self.template / file).write_bytes(data)
        self.inputs = {file: hashlib.sha256(data).digest() for file, data in inputs.items()}
        # What stands where an output will be is kept until the output is complete.
        self.old = {file: b"old" for file in old}
        for file, data in self.old.items():
            (self.template / file).parent.mkdir(parents=True, exist_ok=True)
            (self.template / file).write_bytes(data)
        folder = harness.fresh(self, "reference")
        run = harness.run(folder, arguments, None)
        if run.code != 0:
            raise SystemExit(f"{name}: the undisturbed run has exit code {run.code}: {run.err}")
        self.reference = {file: (folder / file).read_bytes() for file in bits}

    def next_arguments(self, folder):
        return self.arguments

    def has_next_run(self):
        """Whether each run is followed by one that mends everything: unless it takes too long, and shows nothing."""
        return not self.most or self.checkpoint is not None

    def reports_failures(self, folder):
        """Whether a result names what failed, so that exit code 1 needs no line."""
        return False

    def has_bits(self, file, data):
        return data == self.reference[file]

    def problems(self, folder, complete, temporary):
        """complete: all outputs must be there.  temporary: a killed run may have left temporary files."""
        for file, digest in self.inputs.items():
            if hashlib.sha256((folder / file).read_bytes()).digest() != digest:
                yield f"the input {file} was changed"
        for at, _, names in os.walk(folder):
            for name in names:
                path = pathlib.Path(at) / name
                file = str(path.relative_to(folder))
                if TEMPORARY.search(name):
                    if not temporary:
                        yield f"{file} is left"
                elif file in self.inputs:
                    continue
                elif file in self.reference:
                    data = path.read_bytes()
                    if not self.has_bits(file, data) and (complete or data != self.old.get(file)):
                        yield f"{file} has other bits"
                elif path.read_bytes() != self.old.get(file) and not is_complete(path.read_bytes(), path.suffixes):
                    yield f"{file} is not complete"


class Recon(Scenario):
    checkpoint = "state/x.checkpoint"
    state = (checkpoint,)

    def __init__(self, harness, extension="npy"):
        geometry = {"geometry": "parallel", "angles": "angles.npy", "params": {"sharpness": 0.5}}
        out = f"out.{extension}"
        inputs = {"sinogram.npy": sinogram(), "angles.npy": angles(),
                  "geometry.json": json.dumps(geometry).encode()}
        arguments = ["recon", "sinogram.npy", "--geometry", "geometry.json", "--out", out,
                     "--checkpoint", self.checkpoint, "--save-parameters", "saved.json", "--monitor", "monitor.csv",
                     "--threads", "1", "--max-iterations", "3", "--stop-threshold-change-pct", "0", "--quiet"]
        (harness.scratch / "state").mkdir(exist_ok=True)
        npy_only = ["out.json"] if extension == "npy" else []
        super().__init__(harness, f"recon {extension}", inputs | {"state/keep": b"keep"}, arguments,
                         [out, "saved.json", "out.png"], ["monitor.csv", self.checkpoint, *npy_only], old=[out])
        folder = harness.fresh(self, "volume")
        harness.run(folder, [a.replace(out, "volume.npy") for a in arguments], None)
        self.volume = (folder / "volume.npy").read_bytes()[-4 * SIZE ** 3:]

    def has_bits(self, file, data):
        """An HDF5 file has times in it, so its volume is compared."""
        if not file.endswith(".h5"):
            return super().has_bits(file, data)
        return self.volume in data and is_complete(data, [".h5"])

    def next_arguments(self, folder):
        resume = ["--resume", self.checkpoint] if (folder / self.checkpoint).exists() else []
        return [*self.arguments, *resume]


def recon_hdf5(harness):
    return Recon(harness, "h5")


class Prepare(Scenario):
    """Line integrals come out as they went in, after views whose angles are radians in one file and degrees in the
    other."""
    def __init__(self, harness):
        inputs = {"sinogram.npy": sinogram(), "angles.npy": angles()}
        arguments = ["prepare", "sinogram.npy", "--angles", "angles.npy", "--angle-unit", "rad", "--out", "out/scan.h5",
                     "--threads", "1", "--quiet"]
        super().__init__(harness, "prepare", inputs | {"out/keep": b"keep"}, arguments, ["out/scan.h5"],
                         old=["out/scan.h5"])

    def has_bits(self, file, data):
        """The file has times in it, so what it holds is compared: sinogram and angles."""
        degrees = struct.pack(f"<{SIZE}d", *(struct.unpack("<f", struct.pack("<f", math.pi * k / SIZE))[0]
                                             * 180 / math.pi for k in range(SIZE)))
        return sinogram()[-4 * SIZE ** 3:] in data and degrees in data and is_complete(data, [".h5"])


def recon_slabs(harness):
    """A direct reconstruction that does not fit into the memory it may take."""
    inputs = {"sinogram.npy": sinogram(rows=5120, channels=32), "angles.npy": angles()}
    arguments = ["recon", "sinogram.npy", "--angles", "angles.npy", "--angle-unit", "rad", "--method", "fbp",
                 "--memory-limit", "30MiB", "--out", "out.npy", "--threads", "1", "--quiet"]
    made = Scenario(harness, "recon slabs", inputs, arguments, ["out.npy", "out.json", "out.png"], old=["out.npy"])
    made.most = 300  # it writes 13000 times
    return made


class ReconSweeps(Scenario):
    """An iterative reconstruction that does not fit into the memory it may take: two sweeps over four slabs."""
    checkpoint = "state"
    state = (checkpoint, checkpoint + ".slices")
    most = 300

    def __init__(self, harness):
        inputs = {"sinogram.npy": sinogram(rows=512, channels=96), "angles.npy": angles()}
        arguments = ["recon", "sinogram.npy", "--angles", "angles.npy", "--angle-unit", "rad", "--max-iterations", "2",
                     "--slab-sweeps", "2", "--memory-limit", "50MiB", "--out", "out.npy", "--checkpoint", "state",
                     "--threads", "1", "--quiet"]
        super().__init__(harness, "recon sweeps", inputs, arguments, ["out.npy", "out.json", "out.png"],
                         ["state", "state.slices"], old=["out.npy"])

    def next_arguments(self, folder):
        resume = ["--resume", "state"] if (folder / "state").exists() else []
        return [*self.arguments, *resume]


def recon_sweeps(harness):
    return ReconSweeps(harness)


class Resumed(Scenario):
    """Goes on from the state of a reconstruction that was killed halfway, and saves its own in the same place."""
    most = 300
    sampled_kinds = ("write", "rename", "sync", "any")

    def __init__(self, harness, name, begun):
        folder = harness.fresh(begun, "synced")
        whole = harness.run(folder, begun.arguments)
        middle = harness.counts(folder)[0]["sync"] // 2
        folder = harness.fresh(begun, "begun")
        killed = harness.run(folder, begun.arguments, f"sync:{middle}:{middle}:kill")
        if whole.code != 0 or killed.code != -signal.SIGKILL:
            raise SystemExit(f"{name}: exit codes {whole.code} and {killed.code}, expected 0 and the end by SIGKILL")
        kept = {file: (folder / file).read_bytes() for file in [*begun.inputs, *begun.state]}
        self.checkpoint = begun.checkpoint
        super().__init__(harness, name, kept, [*begun.arguments, "--resume", self.checkpoint],
                         begun.bits, begun.outputs, begun.old)
        for file in begun.state:  # they are replaced
            del self.inputs[file]
        if self.reference != begun.reference:
            raise SystemExit(f"{self.name}: the undisturbed run has other bits than one that was not killed")


def recon_resumed(harness):
    return Resumed(harness, "recon resumed", harness.scenario("recon npy"))


def recon_sweeps_resumed(harness):
    return Resumed(harness, "recon sweeps resumed", harness.scenario("recon sweeps"))


def calibrate(harness):
    inputs = {"sinogram.npy": sinogram(channels=24), "angles.npy": angles()}
    arguments = ["calibrate", "sinogram.npy", "--angles", "angles.npy", "--angle-unit", "rad", "--iterations", "2",
                 "--out", "found.json", "--threads", "1", "--quiet"]
    return Scenario(harness, "calibrate", inputs, arguments, ["found.json"], old=["found.json"])


def run(harness):
    case = {"name": "small", "geometry": "parallel", "sinogram_shape": [SIZE] * 3, "angles": "angles.npy", "params": {},
            "ops": [{"op": "forward_project", "inputs": {"recon": "recon.npy"}, "args": {}, "output": "forward.npy"},
                    {"op": "back_project", "inputs": {"sinogram": "sinogram.npy"}, "args": {},
                     "output": "deep/back.npy"}]}
    inputs = {"case/case.json": json.dumps(case).encode(), "case/angles.npy": angles(),
              "case/recon.npy": sinogram(), "case/sinogram.npy": sinogram()}
    return Scenario(harness, "run", inputs,
                    ["run", "case", "--out", "out", "--threads", "1", "--instrument", "tracing", "--quiet"],
                    ["out/forward.npy", "out/deep/back.npy"], ["out/trace.json"], old=["out/forward.npy"])


PROFILE = ["profile", "--sizes", "8", "--runs", "2", "--ops", "gen_weights_transmission", "--threads", "1", "--quiet"]


def profiles(harness, number):
    """Results of the profiler, for the commands that read them."""
    made = harness.scratch / "profiles"
    made.mkdir(exist_ok=True)
    while len(harness.profiles) < number:
        done = harness.run(made, PROFILE, None)
        if done.code != 0:
            raise SystemExit(f"profile: exit code {done.code}: {done.err}")
        harness.profiles = [path.read_bytes() for path in sorted(made.glob("output/*.json"))]
    return {f"run{k}.json": data for k, data in enumerate(harness.profiles[:number])}


def report(harness):
    return Scenario(harness, "report", profiles(harness, 1), ["report", "run0.json", "--out", "page.html", "--quiet"],
                    ["page.html"], old=["page.html"])


def report_of_two(harness):
    return Scenario(harness, "report of two", profiles(harness, 2),
                    ["report", "run0.json", "run1.json", "--out", "all.json", "--quiet"], [], ["all.json"])


class Profile(Scenario):
    def reports_failures(self, folder):
        return any(json.loads(path.read_bytes())["errors"] for path in folder.glob("output/*.json"))


def profile(harness):
    made = Profile(harness, "profile", {"keep": b"keep"}, PROFILE)
    made.most = harness.share and 1  # it takes a second
    made.sampled_kinds = ("write", "any")
    return made


MADE = {"recon npy": Recon, "recon h5": recon_hdf5, "recon slabs": recon_slabs, "recon sweeps": recon_sweeps,
        "recon resumed": recon_resumed, "recon sweeps resumed": recon_sweeps_resumed, "prepare": Prepare,
        "calibrate": calibrate, "run": run, "report": report, "report of two": report_of_two, "profile": profile}

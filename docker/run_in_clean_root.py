#!/usr/bin/env python3
"""Does what docker/Dockerfile says, in clean Debian roots, where there is no container engine: so the recipe is known to work.

    docker/run_in_clean_root.py --work DIR [--target cpu] [--build-arg NAME=VALUE] [--env NAME=VALUE] [--bind FILE] [--reuse STAGE] [--run 'ARGS']

It takes the stages that the target needs, in order. FROM debian:<release> is a fresh root by mmdebstrap with the essential packages and apt, RUN a shell in
it by chroot with mounts and processes of its own, COPY a copy that .dockerignore allows, USER, WORKDIR, ENV and ARG what they are. What the script
does not know is an error, never passed over. At the end the image's ENTRYPOINT runs as its USER with ARGS (--run; without it with CMD), and the size is
said. It is no container: the kernel, network and devices are this machine's.

--env and --bind are for what this network needs: variables of every RUN, and files that roots see in the same place, read-only.
Roots stay in DIR: <stage>/; the fresh one is kept as <release>.tar and taken again, and so is the root of a stage that --reuse names.
Needs root, mmdebstrap and util-linux. Exit code: 0 done, 1 a step failed, 2 bad usage.
"""
import argparse, fnmatch, json, os, pathlib, re, shlex, shutil, subprocess, sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
# Debian's images do this too: apt keeps neither the packages that it has installed nor an index of packages.
APT = """DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };
Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";
"""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Failure(Exception):
    pass


def instructions(text):
    """(word, rest) of every instruction; lines that end in a backslash go on, lines of comment are left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        word, rest = line.strip().split(None, 1)
        yield word.upper(), rest.strip()


def expanded(text, values):
    """$NAME and ${NAME} of ARG and ENV. Other forms are the shell's, and RUN's only."""
    def value(match):
        name = match[1] or match[2]
        if name not in values:
            raise Failure(f"{match[0]} has no value in: {text}")
        return values[name]
    return re.sub(r"\$(?:(\w+)|\{(\w+)\})", value, text)


def split_options(rest):
    options = []
    while rest.startswith("--"):
        option, rest = rest.split(None, 1)
        options.append(option[2:].split("=", 1))
    return options, rest


class Stage:
    def __init__(self, name, source):
        self.name, self.source, self.steps = name, source, []
        self.values, self.environment = {}, {"PATH": PATH}
        self.user, self.workdir, self.entrypoint, self.command = "root", "/", [], []


def stages_of(text, build_args):
    outer, stages = {}, {}
    for word, rest in instructions(text):
        if word == "FROM":
            source, _, name = expanded(rest, outer).partition(" AS ")
            if not name:
                raise Failure(f"a stage without a name: FROM {rest}")
            stages[name] = stage = Stage(name, source)
        elif not stages:
            if word != "ARG":
                raise Failure(f"{word} before the first FROM")
            name, _, value = rest.partition("=")
            outer[name] = build_args.get(name, value)
        else:
            stage.steps.append((word, rest))
    return stages


class Builder:
    def __init__(self, options):
        self.work = pathlib.Path(options.work).resolve()
        self.build_args = dict(pair.split("=", 1) for pair in options.build_arg)
        self.outside = dict(pair.split("=", 1) for pair in options.env)
        self.binds, self.reused = options.bind, options.reuse
        self.stages = stages_of((SOURCE / "docker/Dockerfile").read_text(), self.build_args)
        self.allowed = [line[1:] for line in (SOURCE / "docker/Dockerfile.dockerignore").read_text().split() if line.startswith("!")]
        self.done = {}

    def root(self, name):
        return self.work / name

    def home(self, stage):
        user = stage.user.split(":")[0]
        for line in (self.root(stage.name) / "etc/passwd").read_text().splitlines():
            fields = line.split(":")
            if user in (fields[0], fields[2]):
                return fields[5]
        return "/"

    def fresh_root(self, image):
        """A tar file with the release that the image is of."""
        match = re.match(r"debian:([a-z]+)-\d{8}-slim@sha256:[0-9a-f]{64}$", image)
        if not match:
            raise Failure(f"only a slim Debian of a known date and digest can be stood in for, not {image}")
        tar = self.work / f"{match[1]}.tar"
        if not tar.exists():
            part = tar.with_suffix(".part.tar")
            subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", match[1], part], check=True)
            part.rename(tar)
        return tar

    def shell(self, stage, arguments, mounts=(), environment=None):
        """Runs a command in the root of a stage, in mounts and processes of its own."""
        root = self.root(stage.name)
        lines = ["set -e", f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
        for source, target in [(f, f) for f in ["/etc/resolv.conf", *self.binds]] + list(mounts):
            at = root / str(target).lstrip("/")
            source = pathlib.Path(source).resolve()
            lines += [f"mkdir -p {at}" if source.is_dir() else f"mkdir -p {at.parent} && touch {at}", f"mount --bind -o ro {source} {at}"]
        variables = {"HOME": self.home(stage), **stage.environment, **self.outside, **(environment or {})}
        inside = f"cd {shlex.quote(stage.workdir)} && exec {shlex.join(arguments)}"
        chroot = ["chroot", f"--userspec={stage.user}", str(root), "/usr/bin/env", "-i", *(f"{k}={v}" for k, v in variables.items()), "/bin/sh", "-c", inside]
        lines.append("exec " + shlex.join(chroot))
        return subprocess.run(["unshare", "--mount", "--pid", "--kill-child", "bash", "-c", "\n".join(lines)]).returncode

    def run(self, stage, rest):
        options, command = split_options(rest)
        mounts = []
        for name, value in options:
            fields = dict(field.split("=", 1) for field in value.split(",")) if name == "mount" else {}
            if fields.pop("type", "") != "bind" or set(fields) != {"from", "source", "target"}:
                raise Failure(f"RUN --{name}={value} is not known here")
            self.build(fields["from"])
            mounts.append((self.root(fields["from"]) / fields["source"].lstrip("/"), fields["target"]))
        if self.shell(stage, ["/bin/sh", "-c", command], mounts, stage.values):
            raise Failure(f"{stage.name}: RUN failed: {command}")

    def copy(self, stage, rest):
        options, rest = split_options(rest)
        if options and [name for name, _ in options] != ["from"]:
            raise Failure(f"COPY with options that are not known here: {rest}")
        *sources, target = expanded(rest, {**stage.values, **stage.environment}).split()
        if options:
            self.build(options[0][1])
        at = self.root(stage.name) / os.path.join(stage.workdir, target).lstrip("/")
        for source in sources:
            if not options and not any(fnmatch.fnmatch(source.split("/")[0], pattern) for pattern in self.allowed):
                raise Failure(f"COPY {source}: .dockerignore leaves it out")
            file = (self.root(options[0][1]) if options else SOURCE) / source.lstrip("/")
            if file.is_dir():
                shutil.copytree(file, at, dirs_exist_ok=True)
            elif file.is_file():
                into = at / file.name if target.endswith("/") or len(sources) > 1 or at.is_dir() else at
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, into)
            else:
                raise Failure(f"COPY {source}: there is no such file")

    def step(self, stage, word, rest):
        values = {**stage.values, **stage.environment}
        if word == "RUN":
            self.run(stage, rest)
        elif word == "COPY":
            self.copy(stage, rest)
        elif word == "ARG":
            name, given, value = rest.partition("=")
            if not given:
                raise Failure(f"ARG {name} without a value is not known here")
            stage.values[name] = self.build_args.get(name, value)
        elif word == "ENV":
            stage.environment.update(pair.split("=", 1) for pair in shlex.split(expanded(rest, values)))
        elif word == "USER":
            stage.user = expanded(rest, values)
        elif word == "WORKDIR":
            stage.workdir = os.path.join(stage.workdir, expanded(rest, values))
            (self.root(stage.name) / stage.workdir.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word in ("ENTRYPOINT", "CMD"):
            setattr(stage, "entrypoint" if word == "ENTRYPOINT" else "command", json.loads(rest))
        elif word not in ("VOLUME", "EXPOSE", "LABEL"):  # these say nothing that a root could do
            raise Failure(f"{word} is not known here")

    def build(self, name):
        if name in self.done:
            return
        if name not in self.stages:
            raise Failure(f"there is no stage {name}; there are {', '.join(self.stages)}")
        stage, root = self.stages[name], self.root(name)
        reused = name in self.reused and root.exists()
        if not reused:
            if root.exists():
                shutil.rmtree(root)
            root.mkdir(parents=True)
            tar = self.fresh_root(stage.source)
            subprocess.run(["tar", "-C", root, "--numeric-owner", "-xf", tar], check=True)
            (root / "etc/apt/apt.conf.d/docker-clean").write_text(APT)
        size_before = size(root)
        for word, rest in stage.steps:
            if not (reused and word in ("RUN", "COPY")):
                print(f"==== {name}: {word} {rest}", flush=True)
                self.step(stage, word, rest)
        self.done[name] = (size(root) - size_before) / 2**20


def size(root):
    return sum(f.lstat().st_size for f in root.rglob("*") if not f.is_dir() or f.is_symlink())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--run", metavar="ARGS")
    for name in ("--build-arg", "--env", "--bind", "--reuse"):
        parser.add_argument(name, action="append", default=[])
    options = parser.parse_args()
    try:
        if os.geteuid() or not shutil.which("mmdebstrap"):
            parser.error("needs root and mmdebstrap")
        builder = Builder(options)
        builder.build(options.target)
        stage = builder.stages[options.target]
        arguments = stage.entrypoint + (stage.command if options.run is None else shlex.split(options.run))
        print(f"==== {stage.name}: as {stage.user}: {shlex.join(arguments)}", flush=True)
        if stage.user.split(":")[0] in ("root", "0"):
            raise Failure("the image runs as root")
        status = builder.shell(stage, arguments)
        print(f"==== {stage.name}: exit code {status}; the steps added {builder.done[stage.name]:.0f} MiB")
        return int(status != 0)
    except (Failure, subprocess.CalledProcessError) as problem:
        print(f"run_in_clean_root.py: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

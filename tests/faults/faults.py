"""Runs the program under injected faults and checks what docs/program.md promises of them.

Every system call of some kinds and every allocation fails in turn, and the program is killed at each (faults.c, which
is preloaded); disks are full, limits are low, standard streams are closed, full or without a reader. After each run:
the exit code and one line on standard error, no partial file under a final name, no input changed, no temporary file
left, and the next run, which goes on from a checkpoint if there is one, ends with the bits of an undisturbed one.

Exit code: 0 when all runs are as promised, 1 when not."""
import argparse
import concurrent.futures
import ctypes
import datetime
import errno
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import scenarios

ADDR_NO_RANDOMIZE = 0x0040000  # sys/personality.h
KINDS = ["write", "print", "open", "link", "rename", "sync", "remove", "folder", "memory", "any"]
ERRORS = {"write": errno.ENOSPC, "print": errno.EIO, "open": errno.EMFILE, "link": errno.EPERM, "rename": errno.EACCES,
          "sync": errno.EIO, "remove": errno.EACCES, "folder": errno.EACCES, "memory": errno.ENOMEM}


class Run:
    """The outcome of one run of the program."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def heed_hang_up():
    """What is started by nohup ignores this signal."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Harness:
    def __init__(self, options):
        self.library = options.library
        self.share, self.allocations = options.sample, options.allocations
        self.findings, self.rows = [], []
        self.seen = set()  # call stacks of allocations that have failed
        self.made = {}  # scenarios by name
        self.profiles = []  # results of the profiler, which other commands read
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="mbirk-faults-"))
        # A copy on its own: beside mbirk-devices a profile becomes that program, and the loader of a program that is
        # executed would be stopped by the filter of system calls, whose handler it does not have yet.
        (self.scratch / "program").mkdir()
        self.program = pathlib.Path(shutil.copy2(options.program, self.scratch / "program"))
        self.pool = concurrent.futures.ThreadPoolExecutor(options.jobs)

    def scenario(self, name):
        if name not in self.made:
            self.made[name] = scenarios.MADE[name](self)
        return self.made[name]

    def run(self, folder, arguments, fault="", stacks=None, **how):
        """Runs the program in a folder; counts of calls go to a file beside it. Without --quiet it has something to
        note."""
        environment = dict(os.environ, LC_ALL="C")
        if "--quiet" not in arguments:
            environment["TMPDIR"] = "/nonexistent"
        if fault is not None:
            counts = str(folder) + ".counts"
            environment.update(LD_PRELOAD=str(self.library), MBIRK_FAULT=fault, MBIRK_FAULT_COUNTS=counts)
            if stacks:
                environment["MBIRK_FAULT_STACKS"] = str(stacks)
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        try:
            done = subprocess.run([str(self.program), *arguments], cwd=folder, env=environment,
                                  stdin=subprocess.DEVNULL, timeout=900, **how)
        except subprocess.TimeoutExpired:
            return Run(124, "", "no end within 900 s")
        return Run(done.returncode, (done.stdout or b"").decode(errors="replace"),
                   (done.stderr or b"").decode(errors="replace"))

    def call_stacks(self, scenario):
        """The numbers of the allocations that are the first of their call stack, in this and all earlier commands."""
        folder, stacks = self.fresh(scenario, "stacks"), self.scratch / "stacks"

        def keep_addresses():  # code has the same addresses in each run, so that call stacks can be compared
            if ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE) == -1:
                os.abort()
        run = self.run(folder, scenario.arguments, stacks=stacks, preexec_fn=keep_addresses)
        self.check(scenario, folder, run, f"{scenario.name}, call stacks", allowed=(0,))
        found = struct.iter_unpack("2Q", stacks.read_bytes())
        new = {stack: number for number, stack in found if stack not in self.seen}
        self.seen.update(new)
        return sorted(new.values())

    def counts(self, folder):
        data = pathlib.Path(str(folder) + ".counts").read_bytes()
        values = struct.unpack(f"{len(KINDS) + 1}Q", data)
        return dict(zip(KINDS, values)), values[-1]

    def fresh(self, scenario, name):
        folder = self.scratch / f"{scenario.name}-{name}"
        shutil.copytree(scenario.template, folder)
        return folder

    def finding(self, where, what, run=None):
        text = f"{where}: {what}"
        if run is not None:
            text += f" (exit code {run.code}, standard error {run.err[-300:]!r})"
        self.findings.append(text)
        print("FINDING", text, flush=True)

    def check(self, scenario, folder, run, where, killed=False, silent=False, allowed=(0, 1, 2)):
        """What holds after any run. Returns how the run ended."""
        if run.code == -signal.SIGKILL and killed:
            ended = "killed"
        elif run.code == 0 and 0 in allowed:
            ended = "done"
            for name in scenario.outputs:
                if not (folder / name).exists():
                    self.finding(where, f"{name} is missing", run)
        elif run.code in allowed and run.code in (1, 2):
            ended = "reported"
            lines = run.err.splitlines()
            if run.code == 1 and scenario.reports_failures(folder):
                lines, silent = [], True
            if not silent and (len(lines) != 1 or not run.err.startswith("mbirk: ") or not run.err.endswith("\n")):
                self.finding(where, "expected one line on standard error", run)
        else:
            ended = "finding"
            self.finding(where, "unexpected exit code", run)
        for problem in scenario.problems(folder, complete=ended == "done", temporary=ended == "killed"):
            self.finding(where, problem, run)
        return ended

    def check_next(self, scenario, folder, where):
        """The next run mends everything."""
        run = self.run(folder, scenario.next_arguments(folder), None)
        if run.code != 0:
            self.finding(where + ", next run", "expected exit code 0", run)
        for problem in scenario.problems(folder, complete=True, temporary=False):
            self.finding(where + ", next run", problem, run)

    def trial(self, scenario, kind, first, last, action, next_run):
        where = f"{scenario.name}, {kind} {first}" + ("" if last == first else " and later") + f", {action}"
        folder = self.fresh(scenario, f"{kind}-{first}-{'one' if last == first else 'all'}-{action}")
        run = self.run(folder, scenario.loud if kind == "print" else scenario.arguments,
                       f"{kind}:{first}:{last}:{action}")
        kills = action == "kill"
        allowed = (0,) if kind == "print" else (0, 1, 2)
        ended = self.check(scenario, folder, run, where, killed=kills, silent=kind == "print", allowed=allowed)
        if next_run:
            self.check_next(scenario, folder, where)
        shutil.rmtree(folder)
        os.unlink(str(folder) + ".counts")
        return ended

    def chosen(self, scenario, kind, number):
        """The numbers of the calls that fail: all (of allocations the first of each call stack), or a sample with the
        first and the last."""
        most = min(self.share or number, scenario.most or number)
        if kind == "memory":
            if not self.share and not self.allocations:
                return self.call_stacks(scenario)
            most = min(most, self.allocations or number)
        if most == 1 and number > 1:
            return [number // 2]
        if number <= most:
            return range(1, number + 1)
        return sorted({1 + round(k * (number - 1) / (most - 1)) for k in range(most)})

    def note(self, scenario, what, points, ended):
        row = (scenario.name, what, points, len(ended),
               *(ended.count(end) for end in ("done", "reported", "killed", "finding")))
        self.rows.append(row)
        print("{:<22}{:<26}{:>7} places{:>7} runs: {} done, {} reported, {} killed, {} other".format(*row), flush=True)

    def each_call(self, scenario):
        folder = self.fresh(scenario, "counted")
        undisturbed = self.run(folder, scenario.arguments)
        self.check(scenario, folder, undisturbed, f"{scenario.name}, undisturbed", allowed=(0,))
        counts, _ = self.counts(folder)
        kinds = [kind for kind in scenario.kinds if not self.share or kind in scenario.sampled_kinds]
        if "print" in kinds:
            folder = self.fresh(scenario, "counted-loud")
            self.run(folder, scenario.loud)
            counts["print"] = self.counts(folder)[0]["print"]
        for kind in kinds:
            jobs = []
            for n in self.chosen(scenario, kind, counts[kind]):
                if kind == "any":
                    jobs.append((kind, n, n, "kill", scenario.has_next_run()))
                    continue
                next_run = scenario.has_next_run() and (kind != "memory" or n % 16 == 0)
                jobs.append((kind, n, n, ERRORS[kind], next_run))
                if kind in ("write", "open", "sync") and not (self.share and scenario.most):
                    jobs.append((kind, n, 1 << 60, ERRORS[kind], False))
                if kind == "print":
                    jobs.append((kind, n, 1 << 60, errno.EPIPE, False))
            ended = list(self.pool.map(lambda job: self.trial(scenario, *job), jobs))
            self.note(scenario, "kill at each call" if kind == "any" else f"{kind} fails", counts[kind], ended)

    def one(self, scenario, name, arguments, allowed=(0, 1, 2), silent=False, **how):
        folder = self.fresh(scenario, name.replace(" ", "-").replace("/", "-"))
        run = self.run(folder, arguments, None, **how)
        where = f"{scenario.name}, {name}"
        # It never began: the loader, or GLib, which prepares itself before main, found no memory.
        if "error while loading shared libraries" in run.err or run.err.rstrip().endswith("Aborting."):
            ended = "reported"
        else:
            ended = self.check(scenario, folder, run, where, allowed=allowed, silent=silent)
        if scenario.has_next_run():
            self.check_next(scenario, folder, where)
        shutil.rmtree(folder)
        return ended

    def limits(self, scenario):
        import resource
        cases = [("largest file", resource.RLIMIT_FSIZE, [0, 1, 100, 1000, 2000, 3000, 10000, 30000]),
                 ("open files", resource.RLIMIT_NOFILE, list(range(3, 15))),
                 ("address space", resource.RLIMIT_AS, [mib << 20 for mib in (60, 80, 100, 120, 150, 200, 300, 500)])]
        for name, limit, values in cases:
            if self.share:
                values = values[1:: max(1, len(values) // 2)]
            def run(value):
                return self.one(scenario, f"{name} {value}", scenario.arguments,
                                preexec_fn=lambda: resource.setrlimit(limit, (value, value)))
            self.note(scenario, f"limit: {name}", len(values), list(self.pool.map(run, values)))

    def full_disk(self, scenario):
        """A small file system, where root can mount one; each size leaves room for another part of the outputs."""
        ended = []
        sizes = [40, 44, 48, 52, 60, 80, 120, 200]
        place = self.scratch / f"{scenario.name}-disk"
        for size in sizes[:: 4 if self.share else 1]:
            place.mkdir(exist_ok=True)
            if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "mbirk-faults", place],
                              capture_output=True).returncode:
                print("a small file system cannot be mounted here; full disks are those of the preloaded library")
                return
            try:
                folder = place / "in"
                try:
                    shutil.copytree(scenario.template, folder)
                except (OSError, shutil.Error):
                    continue
                run = self.run(folder, scenario.arguments, None)
                ended.append(self.check(scenario, folder, run, f"{scenario.name}, disk of {size} kB"))
            finally:
                subprocess.run(["umount", place], check=True)
        self.note(scenario, "full disk", len(ended), ended)

    def streams(self, scenario):
        """Nothing that happens to a standard stream ends a command whose result is in files."""
        def closed(*descriptors):
            return lambda: [os.close(d) for d in descriptors]
        def without_reader():
            reader, writer = os.pipe()
            os.close(reader)
            return writer
        cases = {
            "2>/dev/full": dict(stderr="/dev/full"),
            ">/dev/full": dict(stdout="/dev/full"),
            "both /dev/full": dict(stdout="/dev/full", stderr="/dev/full"),
            "2>&-": dict(preexec_fn=closed(2)),
            ">&- 2>&-": dict(preexec_fn=closed(1, 2)),
            "<&- >&- 2>&-": dict(preexec_fn=closed(0, 1, 2)),
            "pipe without a reader": dict(stdout="pipe"),
            "2> pipe without a reader": dict(stderr="pipe"),
            "both pipes without a reader": dict(stdout="pipe", stderr="pipe"),
        }
        ended = []
        for name, how in cases.items():
            how = dict(how)
            opened = []
            for stream in ("stdout", "stderr"):
                if how.get(stream) == "/dev/full":
                    opened.append(os.open("/dev/full", os.O_WRONLY))
                    how[stream] = opened[-1]
                elif how.get(stream) == "pipe":
                    opened.append(without_reader())
                    how[stream] = opened[-1]
            ended.append(self.one(scenario, name, scenario.loud, allowed=(0,), silent=True, **how))
            for descriptor in opened:
                os.close(descriptor)
        self.note(scenario, "standard streams", len(cases), ended)

    def hang_up(self, scenario):
        """The terminal is lost during a reconstruction: its state is saved, and it can go on."""
        arguments = [a for a in scenario.arguments]
        arguments[arguments.index("--max-iterations") + 1] = "200000"
        ended = []
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            folder = self.fresh(scenario, f"signal-{number}")
            child = subprocess.Popen([str(self.program), *arguments], cwd=folder, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed_hang_up)
            for _ in range(200):
                if (folder / scenario.checkpoint).exists():
                    break
                time.sleep(0.02)
            child.send_signal(number)
            out, err = child.communicate(timeout=120)
            run = Run(child.returncode, out.decode(), err.decode())
            if run.code != 1 or not (folder / scenario.checkpoint).exists():
                self.finding(f"{scenario.name}, signal {number}", "expected exit code 1 and a checkpoint", run)
            ended.append("reported")
        self.note(scenario, "terminal lost, ctrl-C", len(ended), ended)

    def sources(self):
        """Nothing prints but by process/streams.hpp, whose functions do not throw."""
        program = pathlib.Path(__file__).resolve().parents[2] / "bench" / "mbirk"
        for path in sorted(program.glob("**/*.[ch]pp")):
            if path.parent.name not in ("process", "launcher"):
                for call in re.findall(r"\b(?:fmt::print\b|std::cout <<|std::cerr\b|printf\(|puts\().*",
                                       path.read_text()):
                    self.finding(path.name, f"prints by itself: {call}")

    def report(self, seconds):
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=pathlib.Path(__file__).parent,
                                capture_output=True, text=True)
        runs = sum(row[3] for row in self.rows)
        lines = ["# Injected faults", "",
                 f"{datetime.date.today().isoformat()}, commit {commit.stdout.strip()}, by `./mbirk.sh faults`: "
                 f"{runs} runs in {seconds / 60:.0f} minutes, {len(self.findings)} findings. `tests/faults` says what "
                 "is injected, [program.md](../program.md) what holds.", "",
                 "`places` counts the calls of an undisturbed run; each fails in turn, some kinds also with all that "
                 "follow. Of the allocations the first one of each call stack fails that no command before has had. "
                 "A run is `done` when it went on and all of its results have their bits, `reported` when it ended "
                 "with exit code 1 or 2 and one line, `killed` by the harness. After all of them, what "
                 "[program.md](../program.md) promises was checked, and the next run had the bits of an undisturbed "
                 "one.", "",
                 "| command | fault | places | runs | done | reported | killed | other |",
                 "|---|---|---|---|---|---|---|---|"]
        lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in self.rows]
        if self.findings:
            lines += ["", "## Findings", ""] + [f"- {text}" for text in self.findings]
        return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--sample", type=int, default=0, metavar="N",
                        help="at most N places of each kind (default: all)")
    parser.add_argument("--allocations", type=int, default=0, metavar="N",
                        help="at most N allocations of each command (default: the first one of each call stack)")
    parser.add_argument("--only", default="", metavar="NAME,...",
                        help=f"these commands only: {', '.join(scenarios.MADE)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", type=pathlib.Path, help="write the counts here, as Markdown")
    options = parser.parse_args()
    options.program, options.library = options.program.resolve(), options.library.resolve()
    began = time.monotonic()
    harness = Harness(options)
    try:
        harness.sources()
        wanted = options.only.split(",") if options.only else list(scenarios.MADE)
        for name in wanted:
            scenario = harness.scenario(name)
            harness.each_call(scenario)
            if options.sample and scenario.most:
                continue
            harness.streams(scenario)
            harness.limits(scenario)
            if os.geteuid() == 0:
                harness.full_disk(scenario)
            if scenario.checkpoint and "--resume" not in scenario.arguments:
                harness.hang_up(scenario)
    finally:
        shutil.rmtree(harness.scratch, ignore_errors=True)
    if options.write:
        options.write.write_text(harness.report(time.monotonic() - began))
    print(f"{sum(row[3] for row in harness.rows)} runs, {len(harness.findings)} findings")
    sys.exit(bool(harness.findings))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""How much slower operations are beside other programs, and whether their times are then judged: `mbirk bench` alone,
beside one and two processes that keep a core busy, and beside an OpenMP program of two threads, in turn.

    python3 bench/contended.py [--mbirk build/release/bench/mbirk/mbirk] [--sizes 32,64,128] [--ops GLOB]
                               [--rounds 3] [--more-rounds 4] [--json out.json]

Each round measures the four situations one after the other, in an order that changes from round to round. A time is the
median of all calls of `mbirk bench`, also of those that it calls disturbed; the table shows the median over the rounds
of time / time alone of the same round. On two cores the fair shares are 1.5, 2 and 2, and no operation should be more
than 4 times as slow as alone. Beside others a time includes the slices of time that the system gives to them, so single
times of operations that take as long as a slice scatter. Operations above 4 are therefore measured in more rounds; the
table shows the median over all of their rounds, and what the first rounds said is printed, too. The OpenMP program is
compiled with g++ -fopenmp and spins between its loops, as OpenMP's threads do by default; without a compiler it is left
out, which is said.

Then `mbirk profile --against host` runs at the smallest size, alone and beside two busy processes. Operations that it
calls disturbed must have no verdict; those that it trusts may not be more than 1.5 times as slow as alone. (Verdicts
against a GPU need no time of this machine: they rest on counts.)

Exit code: 0 done; 1 a measurement failed, a disturbed operation has a verdict, or a trusted time is wrong; 2 bad
usage."""
import argparse, json, math, os, pathlib, shutil, signal, statistics, subprocess, sys, tempfile

OPENMP_PROGRAM = r"""
#include <vector>
int main() {
  std::vector<float> a(1 << 16, 1.0f);
  for (;;) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 1 << 16; ++i) a[i] = a[i] * 0.999f + 0.001f;
  }
}
"""
LIMITS = {"one busy process": 1.8, "two busy processes": 2.6, "an OpenMP program": 2.2}  # of geometric means
LIMIT_OF_ONE = 4


def run(*command):
    """What a command prints"""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def measure(args, ops, folder):
    """{(operation, cell): median seconds of all calls}, and how many times bench itself calls disturbed"""
    out = folder / "bench.json"
    run(args.mbirk, "bench", "--sizes", args.sizes, "--cell", "6,8,8", "--ops", ops, "--out", str(out), "--quiet")
    rows = [r for r in json.loads(out.read_text())["measurements"] if not r["cell"].startswith("6x")]
    times = {(r["operation"], r["cell"]): statistics.median(t for s in r["samples"] for t in s["times"]) for r in rows}
    return times, sum(r["disturbed"] for r in rows)


def profile(args, folder, name):
    """First line that `mbirk profile` prints, its judged operations, and {operation: median seconds} of trusted ones"""
    out = folder / name
    smallest = args.sizes.split(",")[0]
    printed = run(args.mbirk, "profile", "--sizes", smallest, "--ops", args.ops, "--against", "host", "--out", str(out),
                  "--quiet")
    report = json.loads(next(out.glob("mbirk_profile_*.json")).read_text())
    trusted = {m["operation"]: m["time"] for m in report["measurements"] if m["run"] >= 3 and not m["disturbed"]}
    return printed.splitlines()[0], report["candidates"]["operations"], trusted


def compare_profiles(args, folder, busy):
    """Prints what a profile says alone and beside two busy processes; whether it is right"""
    calm_line, calm, calm_times = profile(args, folder, "alone")
    with Neighbours(busy, busy):
        line, judged, times = profile(args, folder, "contended")
    print(f"\nprofile alone: {calm_line}\nprofile beside two busy processes: {line}")
    for name, operations in (("alone", calm), ("beside two busy processes", judged)):
        disturbed = sum(o.get("disturbed", False) for o in operations)
        verdicts = sum(o["verdict"] is not None for o in operations)
        print(f"{name}: {disturbed} of {len(operations)} are disturbed, {verdicts} have a verdict")
    has_verdict = lambda o: o["verdict"] is not None or o["speed-up"]["measured"] is not None
    wrong = [o["operation"] for o in calm + judged if o.get("disturbed") and has_verdict(o)]
    ratios = {name: times[name] / calm_times[name] for name in times if name in calm_times}
    slow = {name: ratio for name, ratio in ratios.items() if ratio > 1.5}
    if ratios:
        print(f"trusted in both: {len(ratios)}, of which {len(slow)} are more than 1.5 times as slow as alone; "
              f"geometric mean {geometric_mean(ratios.values()):.2f}, most {max(ratios.values()):.2f}")
    for name in wrong:
        print(f"{name} is disturbed and has a verdict")
    for name, ratio in slow.items():
        print(f"{name} is trusted, but {ratio:.2f} times as slow as alone")
    return not wrong and not slow


def measure_rounds(args, ops, situations, count, folder, disturbed=None):
    """A list of {situation: {(operation, cell): seconds}}, one for each round; adds to the counts of disturbed times"""
    rounds = []
    for r in range(count):
        names = list(situations)
        names = names[r % len(names):] + names[:r % len(names)]
        times = {}
        for situation in names:
            with situations[situation]:
                times[situation], number = measure(args, ops, folder)
            if disturbed is not None:
                disturbed[situation] += number
        rounds.append(times)
        print(f"{ops}: round {r + 1} of {count} done", file=sys.stderr, flush=True)
    return rounds


def slowdowns(rounds, cell, others):
    """{situation: median over the rounds of time / time alone}"""
    return {s: statistics.median(t[s][cell] / t["alone"][cell] for t in rounds) for s in others}


class Neighbours:
    """Processes that keep cores busy while the block runs."""

    def __init__(self, *commands):
        self.commands = commands

    def __enter__(self):
        self.running = [subprocess.Popen(c, stdout=subprocess.DEVNULL, start_new_session=True) for c in self.commands]

    def __exit__(self, *_):
        for p in self.running:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--mbirk", default="build/release/bench/mbirk/mbirk")
    ap.add_argument("--sizes", default="32,64,128")
    ap.add_argument("--ops", default="*", metavar="GLOB")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--more-rounds", type=int, default=4, help="of operations above the limit for one (default: 4)")
    ap.add_argument("--json", type=pathlib.Path, metavar="FILE")
    args = ap.parse_args()
    if args.rounds < 1 or args.more_rounds < 0:
        ap.error("expected --rounds of at least 1 and --more-rounds of at least 0")
    if not shutil.which(args.mbirk):
        ap.error(f"--mbirk: there is no program {args.mbirk}")
    busy = [sys.executable, "-c", "while True: pass"]
    with tempfile.TemporaryDirectory(prefix="mbirk-contended-") as name:
        folder = pathlib.Path(name)
        situations = {"alone": Neighbours(), "one busy process": Neighbours(busy),
                      "two busy processes": Neighbours(busy, busy)}
        openmp = folder / "openmp"
        compiler = ["g++", "-O2", "-fopenmp", "-x", "c++", "-", "-o", str(openmp)]
        if subprocess.run(compiler, input=OPENMP_PROGRAM, text=True).returncode == 0:
            situations["an OpenMP program"] = Neighbours([str(openmp)])
        else:
            print("an OpenMP program is left out: g++ -fopenmp failed (above)")
        others = [s for s in situations if s != "alone"]
        disturbed = {situation: 0 for situation in situations}
        rounds = measure_rounds(args, args.ops, situations, args.rounds, folder, disturbed)
        cells = sorted(rounds[0]["alone"], key=lambda c: (c[0], len(c[1]), c[1]))
        rounds_of, more = {c: rounds for c in cells}, []
        first = {c: slowdowns(rounds, c, others) for c in cells}
        slow = [c for c in cells if max(first[c].values()) > LIMIT_OF_ONE]
        for operation in dict.fromkeys(c[0] for c in slow):
            again = measure_rounds(args, operation, situations, args.more_rounds, folder)
            rounds_of.update((c, rounds + again) for c in slow if c[0] == operation)
            more += again
        right = compare_profiles(args, folder, busy)
    ratios = {c: slowdowns(rounds_of[c], c, others) for c in cells}
    print(f"| operation | cell | alone, ms | {' | '.join(others)} |\n|---|---|---|{'---|' * len(others)}")
    for c in cells:
        alone = statistics.median(t["alone"][c] for t in rounds_of[c])
        print(f"| {c[0]} | {c[1]} | {1e3 * alone:.4g} | {' | '.join(f'{ratios[c][s]:.2f}' for s in others)} |")
    print()
    for c in slow:
        print(f"{c[0]}, {c[1]}: {', '.join(f'{first[c][s]:.2f}' for s in others)} in the first {args.rounds} rounds, "
              f"{', '.join(f'{ratios[c][s]:.2f}' for s in others)} in {len(rounds_of[c])}")
    for s in others:
        worst = max(cells, key=lambda c: ratios[c][s])
        print(f"beside {s}: geometric mean {geometric_mean(ratios[c][s] for c in cells):.2f} "
              f"(wanted: at most {LIMITS[s]}), most {ratios[worst][s]:.2f} ({worst[0]}, {worst[1]}; "
              f"wanted: at most {LIMIT_OF_ONE})")
    counts = (f"{s} {n} of {args.rounds * len(cells)}" for s, n in disturbed.items())
    print("called disturbed by bench: " + ", ".join(counts))
    if args.json:
        flat = [{s: [[*c, x] for c, x in t.items()] for s, t in one.items()} for one in rounds + more]
        args.json.write_text(json.dumps(flat, indent=1))
    sys.exit(not right)


if __name__ == "__main__":
    main()

"""Long runs of the fuzzer: every reader for a share of the time, or a number of inputs each, and a table at the end.

run.py --program MBIRK_FUZZ --work FOLDER [--minutes N] [--inputs N] [--jobs N] [--seed K] [READER ...]

New inputs are kept in FOLDER/corpus and used again, findings in FOLDER/findings. Exit code 1: there are findings.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

here = pathlib.Path(__file__).parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--inputs", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("readers", nargs="*", metavar="READER")
    return parser.parse_args()


def fuzz(options, reader, seconds):
    """Runs one reader. Returns its line of the table and the log of a finding, or None."""
    corpus, findings = options.work / "corpus" / reader, options.work / "findings"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    seeds = here / "corpus" / ("run" if reader == "page" else reader)
    command = [str(options.program), reader, f"-seed={options.seed}", "-rss_limit_mb=2048", "-malloc_limit_mb=5000",
               "-timeout=20", "-reload=0", "-print_final_stats=1",
               f"-artifact_prefix={findings}/{reader}-", "-close_fd_mask=1"]
    if seconds:
        command.append(f"-max_total_time={int(seconds)}")
    if options.inputs:
        command.append(f"-runs={options.inputs}")
    environment = dict(os.environ, ASAN_OPTIONS="malloc_context_size=2")  # of allocations a finding shows two frames
    if reader == "zeiss":  # leaks of libgsf itself; the other readers have none
        environment["LSAN_OPTIONS"] = f"suppressions={here / 'library_leaks.txt'}:print_suppressions=0"
    if reader == "matlab":  # matio asks for as much memory as a file says, which fails as `new` does (driver.cpp)
        environment["ASAN_OPTIONS"] += ":max_allocation_size_mb=32:allocator_may_return_null=1"
    begin = time.monotonic()
    run = subprocess.run(command + [str(corpus)] + ([str(seeds)] if seeds.is_dir() else []), env=environment,
                         stderr=subprocess.PIPE)
    wall = time.monotonic() - begin
    log = run.stderr.decode(errors="replace")
    found = re.search(r"number_of_executed_units:\s*(\d+)", log)
    progress = re.findall(r"^#(\d+)\s.*?cov: (\d+) ft: (\d+) corp: (\d+)", log, re.M)
    inputs = int(found[1]) if found else int(progress[-1][0]) if progress else 0
    coverage, features, size = progress[-1][1:] if progress else ("-", "-", "-")
    failed = run.returncode != 0
    numbers = f"{inputs:>10} {wall:>8.0f} {coverage:>9} {features:>9} {size:>7}"
    return f"{reader:<12} {numbers}  {'FOUND' if failed else 'none'}", log[-6000:] if failed else None


def main():
    options = arguments()
    known = subprocess.run([str(options.program)], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    readers = options.readers or known
    for reader in readers:
        if reader not in known:
            sys.exit(f"run.py: {reader} is no reader, expected some of {', '.join(known)}")
    if not options.minutes and not options.inputs:
        sys.exit("run.py: expected --minutes or --inputs")
    seconds = options.minutes * 60 * min(options.jobs, len(readers)) / len(readers)
    heads = f"{'inputs':>10} {'seconds':>8} {'branches':>9} {'features':>9} {'corpus':>7}"
    print(f"{'reader':<12} {heads}  findings", flush=True)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line, log in pool.map(lambda reader: fuzz(options, reader, seconds), readers):
            print(line, flush=True)
            if log is not None:
                failed = True
                print(log, file=sys.stderr)
    sys.exit(1 if failed else 0)


main()

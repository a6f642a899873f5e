"""mbirk-mpi profile and bench with 1 to 3 ranks: every operation is timed, compared with one rank and counted, and the
other commands read the files. Wrong input: one line, exit code 2, no file.

profile_test.py MBIRK MBIRK_MPI "MPIRUN -n" """
import gzip
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from program_case import expect, expect_failure
from xspace import begins_of

mbirk, mbirk_mpi, launch = sys.argv[1], sys.argv[2], shlex.split(sys.argv[3])
SLICES = ["parallel_forward_project", "parallel_back_project", "parallel_fbp_recon", "parallel_mbir_recon",
          "parallel_prox_map", "parallel_vcd_iteration"]
VIEWS = ["cone_forward_project", "cone_fdk_recon", "cone_mbir_recon", "cone_prox_map", "cone_vcd_iteration"]
ALONE = ["parallel_forward_project", "parallel_back_project", "parallel_fbp_recon", "cone_forward_project"]


def ranks(count, command, *arguments):
    return subprocess.run([*launch, str(count), mbirk_mpi, command, *arguments, "--threads", "1"], capture_output=True,
                          text=True, timeout=300)


def check_result(name, result, count):
    """What is known of an operation at a size."""
    by_rank = result["by rank"]
    expect([r["rank"] for r in by_rank] == list(range(count)), f"{name}: a record of each rank")
    for r in by_rank:
        expect(0 <= r["seconds of messages"] < r["seconds"] and r["peak bytes of temporaries"] > 0, f"{name}: {r}")
        for key in "messages", "bytes":
            expect(r[key] == sum(sent[key] for sent in r["sent"].values()), f"{name}: the sum of the {key}, {r}")
        expect((r["messages"] == 0) == (name in ALONE), f"{name}: ranks exchange something, {r}")
        # Every subset of an iteration sends three sums of a unit of slices, or of a subtree of the views.
        if name.endswith("_vcd_iteration"):
            expect(r["sent"]["line search"] == {"messages": 128, "bytes": 128 * 24}, f"{name}: {r['sent']}")
    expect(0 <= result["share of messages"] < 1, f"{name}: the share of messages")
    if name.endswith("_vcd_iteration"):
        expect(0 < result["model"]["efficiency"] <= 1, f"{name}: the model")
        return
    # Slices and rows have the bits of one rank. In cone beam the sum over views is made in another order.
    most = 2e-6 if name in VIEWS else 0
    expect(0 <= result["difference"] <= most, f"{name} differs from one rank by {result['difference']}")


def check_profile(folder):
    size, names = 48, SLICES + VIEWS + ["qggmrf_denoise"]
    result = ranks(2, "profile", "--sizes", f"33,{size}", "--budget", "0.5", "--out", str(folder))
    expect(result.returncode == 0, f"profile: {result.stderr}")
    (file,), (page,) = folder.glob("mbirk_profile_*.json"), folder.glob("report_*.html")
    expect(str(file) in result.stdout and str(page) in result.stdout, "the names of the files")
    run = json.loads(file.read_text())
    expect(run["environment"]["ranks"] == run["ranks"]["count"] == 2 and not run["errors"], "2 ranks, no errors")
    network = run["ranks"]["network"]
    expect(0 < network["latency"] < 1 and network["bytes per second"] > 1e6, f"{network}")
    left_out = [(one["operation"], one["volume_size"]) for one in run["ranks"]["left out"]]
    expect(left_out == [(SLICES[-1], 33), (VIEWS[-1], 33)], f"too small for 128 subsets: {left_out}")
    operations = run["ranks"]["operations"]
    expect(sorted(operations[str(size)]) == sorted(names), f"the operations: {sorted(operations[str(size)])}")
    for name, result_of in operations[str(size)].items():
        check_result(name, result_of, 2)
        times = {m["run"]: m["time"] for m in run["measurements"]
                 if (m["operation"], m["volume_size"]) == (name, size)}
        expect(sorted(times) == ([2, 3] if name.endswith("_vcd_iteration") else [1, 2, 3]), f"{name}: runs {times}")
        expect(min(times.values()) > 0, f"{name}: times {times}")
        later = next(m for m in run["measurements"] if (m["operation"], m["volume_size"], m["run"]) == (name, size, 3))
        disturbed = later["disturbed"] or result_of["alone"]["disturbed"]
        expect((result_of["speed-up"] is None) == disturbed, f"{name}: a speed-up unless it was disturbed")
        if not disturbed:
            expect(abs(result_of["speed-up"] * times[3] / result_of["alone"]["time"] - 1) < 1e-6, f"{name}: speed-up")
            expect(abs(result_of["efficiency"] * 2 / result_of["speed-up"] - 1) < 1e-6, f"{name}: efficiency")
        lanes = result_of["timeline"]
        # Ranks that exchange something have waited for each other; on a busy machine the others may take turns.
        expect(name in ALONE or max(lane["begin"] for lane in lanes) < min(lane["end"] for lane in lanes),
               f"{name}: the ranks work at the same time")
        for lane in lanes:
            expect(bool(lane["messages"]) == (name not in ALONE), f"{name}: messages in the timeline")
    for n in 33, size:
        traces = folder / "traces" / run["timestamp"] / f"vol{n}"
        with gzip.open(traces / "trace.perfetto.json.gz") as trace:
            events = json.load(trace)["traceEvents"]
        processes = {e["args"]["name"] for e in events if e["name"] == "process_name"}
        expect(processes == {"rank 0 of 2", "rank 1 of 2"}, f"the processes: {processes}")
        expect({e["pid"] for e in events if e["name"] == "gather line search"} == {1, 2}, "messages of both ranks")
        files = sorted(traces.glob("plugins/profile/*/rank_[01].xplane.pb"))
        expect(len(files) == 2, "a file for XProf of each rank")
        # Both kinds of files have the same clock, but for the time at which theirs begins.
        apart = []
        for rank, of_rank in enumerate(files):
            spans = [e["ts"] for e in events if e["name"] == "gather line search" and e["pid"] == rank + 1]
            begins = begins_of(of_rank, "gather line search")
            expect(len(begins) == len(spans) > 0, f"messages of rank {rank} in both files")
            apart.append(begins[0] - round(1000 * min(spans)))
        expect(abs(apart[0] - apart[1]) < 2000, f"the clocks of the ranks differ by {apart[0] - apart[1]} ns")

    text = page.read_text()
    for part in "mbirk-mpi profile", 'id="ranks"', "rank 1: ", 'id="by-rank"':
        expect(part in text, f"the page has {part}")
    match = re.search(r"The traced call of (\S+) at size", text)
    expect(match is not None, "the page has a timeline")
    drawn = match[1]  # the slowest of those with messages, which depends on the machine
    expect(drawn not in ALONE, f"the page draws messages, not {drawn}")
    for lane in operations[str(size)][drawn]["timeline"]:
        for message in lane["messages"]:
            expect(f"<title>{message['name']}: " in text, f"the page has {message['name']} of {drawn}")
    again = folder / "again.html"
    subprocess.run([mbirk, "report", str(file), "--out", str(again)], check=True, capture_output=True)
    expect(again.read_text() == text, "mbirk report makes the same page")
    subprocess.run([mbirk, "compare", str(file), str(file)], check=True, capture_output=True)
    run["ranks"]["operations"][str(size)][names[0]]["by rank"] = 3
    broken = folder / "broken.json"
    broken.write_text(json.dumps(run))
    result = subprocess.run([mbirk, "report", str(broken), "--out", str(folder / "broken.html")], capture_output=True,
                            text=True)
    expect_failure(result, "by rank is 3, expected an array of ranks", folder)


def check_bench(folder):
    out, log = folder / "bench.json", folder / "log.csv"
    result = ranks(3, "bench", "--sizes", "48", "--ops", "*fdk*", "--no-alone", "--budget", "0.05", "--out", str(out),
                   "--monitor", str(log))
    expect(result.returncode == 0, f"bench: {result.stderr}")
    expect(log.read_text().startswith("time_s,live_bytes") and "cone_fdk_recon at 48" in log.read_text(), "the log")
    expect("cone_fdk_recon" in result.stdout and "3 ranks of 1 thread" in result.stdout, f"bench: {result.stdout}")
    run = json.loads(out.read_text())
    (name,) = run["ranks"]["operations"]["48"]
    found = run["ranks"]["operations"]["48"][name]
    expect(name == "cone_fdk_recon", f"bench: {name}")
    expect(not {"alone", "speed-up", "difference"} & found.keys(), f"bench without one rank: {found.keys()}")
    result = ranks(1, "bench", "--sizes", "48,48", "--ops", "*denoise", "--budget", "0.05")
    expect(result.returncode == 0 and result.stdout.count("qggmrf_denoise") == 1, f"bench of one rank: {result.stdout}")
    # 48 slices are two units: three ranks cannot share them, but the views.
    result = ranks(3, "bench", "--sizes", "48", "--ops", "*_forward_project", "--no-alone", "--budget", "0.05")
    expect(result.returncode == 0, f"bench: {result.stderr}")
    expect("left out: parallel_forward_project at 48: 3 ranks for 48 slices" in result.stdout, result.stdout)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    check_profile(folder / "profile")
    check_bench(folder)
    bad = ["--out", str(folder / "bad")]
    expect_failure(ranks(2, "profile", *bad, "--ops", "none*"), "--ops none* matches no operation", folder)
    expect_failure(ranks(2, "profile", *bad, "--sizes", "16", "--ops", "parallel_*"), "2 ranks for 16 slices", folder)
    expect_failure(ranks(2, "profile", *bad, "--memory-limit", "10kiB"), "rank 0, which has the whole problem, needs",
                   folder)
    expect_failure(ranks(2, "profile", "--out", str(folder / "bench.json")), "cannot create this folder", folder)
    expect_failure(ranks(2, "bench", "--out", str(folder / "none" / "bad.json")), "bad.json", folder)
    expect_failure(ranks(2, "bench", "--sizes", "1"), "--sizes", folder)
    (folder / "other").mkdir()
    (folder / "other" / "traces").write_text("")
    expect_failure(ranks(2, "profile", "--sizes", "48", "--out", str(folder / "other")), "cannot create this folder",
                   folder)
    expect(len(list((folder / "other").iterdir())) == 1, "no file is left")
print("mbirk-mpi profile and bench: as expected")

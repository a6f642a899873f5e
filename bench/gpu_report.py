#!/usr/bin/env python3
"""What bench/gpu.sh needs beside the shell: which device there is, the results of its parts as one JSON, and that as
Markdown.

    gpu_report.py device                       architecture, UUID and name of the current CUDA device; exit code 3 when
                                               there is none
    gpu_report.py not-run FILE                 operations that a file of mbirk_gpu_cells asks for and does not have
    gpu_report.py merge --out DIR --work DIR --part NAME --commit TEXT --seconds N
                                               puts a part into DIR/gpu_<date>.json and writes DIR/gpu_<date>.md anew
    gpu_report.py table FILE                   the Markdown of such a JSON
Python's standard library only."""
import argparse, csv, ctypes, datetime, json, os, pathlib, platform, re, statistics, subprocess, sys

# Design goals of the kernels on an H200 at 1024x1008x992, in 1e9 voxel-view pairs per second.
GOALS = {("parallel", "forward_project"): 3980, ("parallel", "back_project"): 6630,
         ("parallel", "sparse_forward_project"): 1780, ("parallel", "sparse_back_project"): 2490,
         ("parallel", "hessian_diagonal"): 398000, ("cone", "forward_project"): 1020, ("cone", "back_project"): 1140,
         ("cone", "sparse_forward_project"): 940, ("cone", "sparse_back_project"): 940,
         ("cone", "hessian_diagonal"): 1940}
GOAL_CELL = "1024x1008x992"
TITLES = {"mbirjax": "MBIRJAX", "astra": "ASTRA"}
PARTS = ("build", "test", "sanitize", "profile", "cells", "peers")


def output_of(*command):
    """Standard output of a command, or nothing."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=30,
                              check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def device_of_driver(cuda):
    """(architecture such as 90, UUID, name) of device 0 as the driver's library counts, which heeds
    CUDA_VISIBLE_DEVICES; or nothing."""
    device, major, minor, uuid, name = (ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), (ctypes.c_ubyte * 16)(),
                                        ctypes.create_string_buffer(128))
    if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0):
        return None
    if (cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
            or cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)):
        return None
    cuda.cuDeviceGetName(name, len(name), device)
    text = "-"
    if not cuda.cuDeviceGetUuid(uuid, device):
        digits = bytes(uuid).hex()
        text = "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return f"{major.value}{minor.value}", text, name.value.decode(errors="replace")


def find_device():
    """Device 0 as above; from nvidia-smi, which shows hidden devices too, if the library is missing or fails."""
    try:
        found = device_of_driver(ctypes.CDLL("libcuda.so.1"))
        if found or "CUDA_VISIBLE_DEVICES" in os.environ:
            return found
    except OSError:
        pass
    rows = output_of("nvidia-smi", "--query-gpu=compute_cap,uuid,name", "--format=csv,noheader").splitlines()
    cells = [c.strip() for c in rows[0].split(",", 2)] if rows else []
    return ((cells[0].replace(".", ""), cells[1], cells[2])
            if len(cells) == 3 and re.fullmatch(r"\d+\.\d", cells[0]) else None)


def environment(commit):
    """The machine: device, driver, clocks, processor, compilers. Unknown values are null."""
    arch, uuid, name = find_device() or ("", "-", None)
    fields = ("driver_version", "memory.total", "clocks.max.sm", "clocks.max.mem", "clocks.applications.graphics",
              "power.limit", "ecc.mode.current")
    smi = {}
    for field in fields:                                    # one by one: an unknown field fails the whole query
        words = (["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"]
                 + ([f"--id={uuid}"] if uuid != "-" else []))
        smi[field] = (output_of(*words).splitlines() or [None])[0]
    cpu = None
    try:
        match = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
        cpu = match[1] if match else platform.machine()
    except OSError:
        pass
    nvcc = re.search(r"release ([\d.]+)", output_of("nvcc", "--version"))
    return {"device": name, "compute_capability": f"{arch[:-1]}.{arch[-1]}" if arch else None, "nvidia_smi": smi,
            "cpu": cpu, "nvcc": nvcc[1] if nvcc else None,
            "compiler": (output_of("c++", "--version").splitlines() or [None])[0],
            "system": platform.platform(), "commit": commit}


def load(file, what, errors):
    """The JSON of a file, or None and an entry in errors."""
    try:
        return json.loads(pathlib.Path(file).read_text())
    except (OSError, ValueError) as error:
        errors.append({"part": what, "error": f"{pathlib.Path(file).name}: {error}"})
        return None


def missing_ops(data):
    """Requested operations without a result: those after one that ended the process."""
    known = {r["operation"] for kind in ("results", "errors", "skipped") for r in data[kind]}
    known |= {data["running"]["operation"]} if data.get("running") else set()
    return [op for op in data.get("ops", []) if op not in known]


def clocks(file):
    """Median and range of nvidia-smi's samples while the device was busy."""
    rows = []
    try:
        with open(file, newline="") as text:
            for row in csv.reader(text):
                try:
                    rows.append([float(c) for c in row])
                except ValueError:                          # "[N/A]", a line that was cut off
                    continue
    except OSError:
        return None
    rows = [r for r in rows if len(r) == 5]
    busy = [r for r in rows if r[2] >= 50] or rows
    if not busy:
        return None
    names = ("sm_mhz", "memory_mhz", "utilization_percent", "temperature_c", "power_w")
    return {"samples": len(busy)} | {name: {"median": statistics.median(c), "min": min(c), "max": max(c)}
                                     for name, c in zip(names, zip(*busy))}


def steps_of(file, part):
    steps = []
    for line in pathlib.Path(file).read_text().splitlines():
        cells = line.split("\t")
        if len(cells) == 5 and cells[0] == part:
            steps.append({"step": cells[1], "status": cells[2], "seconds": int(cells[3]), "message": cells[4].strip()})
    return steps


def gtest_counts(folder):
    found = []
    for file in sorted(folder.glob("*.json")):
        try:
            data = json.loads(file.read_text())
        except ValueError:
            continue
        failed = [f"{suite['name']}.{t['name']}" for suite in data.get("testsuites", [])
                  for t in suite.get("testsuite", []) if t.get("failures")]
        found.append({"program": file.stem, "tests": data.get("tests"), "failures": data.get("failures"),
                      "time": data.get("time"), "failed": failed})
    return found


def golden_counts(folder):
    """Parses the lines of `mbirk run --check`: operation, output, error, allowed, verdict."""
    found = []
    for file in sorted(folder.glob("*.txt")):
        rows = [line.split() for line in file.read_text(errors="replace").splitlines()]
        rows = [r for r in rows if len(r) >= 5 and re.fullmatch(r"[\d.]+(e[+-]?\d+)?", r[2])
                and re.fullmatch(r"[\d.]+(e[+-]?\d+)?", r[3])]
        used = [(float(r[2]) / float(r[3]) if float(r[3]) > 0 else float(float(r[2]) > 0), r[1]) for r in rows]
        worst = max(used, default=(None, None))
        found.append({"case": file.stem, "entries": len(rows), "within": sum(r[4] == "ok" for r in rows),
                      "worst_of_allowed": worst[0], "worst_output": worst[1]})
    return found


def gather(part, work, errors):
    """Results of one part in the work folder."""
    if part == "test":
        return {"programs": gtest_counts(work / "test"), "reference_cases": golden_counts(work / "golden")}
    if part == "sanitize":
        file = work / "sanitize.tsv"
        rows = [line.split("\t") for line in file.read_text().splitlines()] if file.exists() else []
        return {"tools": [{"tool": r[0], "tests": int(r[1]), "summary": r[2].strip()} for r in rows]}
    if part == "profile":
        runs = [load(f, part, errors) for f in sorted((work / "profile").glob("mbirk_profile_*.json"))]
        merged = {"measurements": [], "errors": [], "environment": None}
        for run in filter(None, runs):
            merged["measurements"] += run["measurements"]
            merged["errors"] += run["errors"]
            merged["environment"] = run["environment"]
        return merged
    if part in ("cells", "peers"):
        merged = {"environment": None, "results": [], "errors": [], "skipped": []}
        for file in sorted((work / part).glob("*.json")):
            data = load(file, part, errors)
            if not data:
                continue
            for kind in ("results", "errors", "skipped"):
                merged[kind] += data[kind]
            merged["environment"] = data["environment"] or merged["environment"]
            if data.get("peers"):
                merged["peers"] = data["peers"]
            if data.get("running"):
                merged["errors"].append(data["running"] | {"error": "the process ended or was ended with this one"})
        order = {cell: k for k, cell in enumerate(
            dict.fromkeys(sorted((r["cell"] for r in merged["results"]), key=cell_size)))}
        merged["results"].sort(key=lambda r: (order[r["cell"]], r["geometry"] != "parallel"))
        return merged
    return {}


def cell_size(cell):
    size = 1
    for extent in cell.split("x"):
        size *= int(extent)
    return size


def result_file(out, date, device, commit):
    """gpu_<date>.json, the existing one for an equal device and commit; numbered if another one was measured that
    day."""
    for k in range(1, 1000):
        file = out / f"gpu_{date}{'' if k == 1 else f'_{k}'}.json"
        try:
            there = json.loads(file.read_text())["environment"]
        except (OSError, ValueError, KeyError):
            return file
        if (there.get("device"), there.get("commit")) == (device, commit):
            return file
    raise SystemExit(f"gpu_report.py: a thousand results of {date} in {out}")


def merge(args):
    errors = []
    here = environment(args.commit)
    date = datetime.date.today().isoformat()
    file = result_file(args.out, date, here["device"], args.commit)
    data = {"date": date, "environment": here, "parts": {}}
    if file.exists():
        try:
            data = json.loads(file.read_text())
        except ValueError:
            pass
    part = {"time": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), "seconds": args.seconds,
            "steps": steps_of(args.work / "steps.tsv", args.part)}
    part |= gather(args.part, args.work, errors)
    if errors:
        part["steps"] += [{"step": "results", "status": "failed", "seconds": 0, "message": e["error"]} for e in errors]
    seen = clocks(args.work / "clocks.csv")
    if seen and args.part in ("profile", "cells", "peers"):
        part["clocks"] = seen
    data["parts"][args.part] = part
    data["environment"] = here
    for name, text in ((file, json.dumps(data, indent=1) + "\n"), (file.with_suffix(".md"), table(data))):
        partial = name.with_name(name.name + ".partial")
        partial.write_text(text)
        partial.replace(name)
    return 1 if errors else 0


# The report as Markdown.

def milliseconds(ms):
    return "" if ms is None else f"{ms:.3f}" if ms < 10 else f"{ms:.1f}" if ms < 1000 else f"{ms:.0f}"


def rate(x):
    return f"{x:.3g}" if x < 100 else f"{x:.0f}"


def escaped(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def rows_of(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(escaped(c) for c in row) + " |" for row in rows]


def step_rows(part):
    return rows_of(("step", "result", "seconds", ""),
                   [(f"`{s['step']}`", s["status"], s["seconds"], s["message"]) for s in part["steps"]])


def clock_line(part):
    seen = part.get("clocks")
    if not seen:
        return []
    of = lambda name, unit: f"{seen[name]['median']:.0f} {unit} ({seen[name]['min']:.0f} .. {seen[name]['max']:.0f})"
    return ["", f"While it was busy: SM {of('sm_mhz', 'MHz')}, memory {of('memory_mhz', 'MHz')}, {of('power_w', 'W')}, "
            f"{of('temperature_c', 'degrees C')}; medians and ranges of {seen['samples']} samples."]


def test_section(part):
    lines = step_rows(part)
    if part.get("programs"):
        rows = [(f"`{p['program']}`", p["tests"], p["failures"], ", ".join(p["failed"][:20])) for p in part["programs"]]
        lines += [""] + rows_of(("program", "tests", "failed", "which"), rows)
    if part.get("reference_cases"):
        lines += ["", "Reference cases of `tests/golden`; the worst error is given as a part of what its case "
                  "allows.", ""]
        lines += rows_of(("case", "entries", "within", "worst / allowed", "output"),
                         [(f"`{c['case']}`", c["entries"], c["within"],
                           "" if c["worst_of_allowed"] is None else f"{c['worst_of_allowed']:.2g}",
                           f"`{c['worst_output']}`" if c["worst_output"] else "") for c in part["reference_cases"]])
    return lines


def sanitize_section(part):
    lines = step_rows(part)
    if part.get("tools"):
        lines += [""] + rows_of(("tool", "tests", "summary"),
                                [(f"`{t['tool']}`", t["tests"], t["summary"]) for t in part["tools"]])
    return lines


def profile_section(part):
    times, transfers, sizes = {}, {}, []
    for m in part.get("measurements", []):
        if m["run"] >= 3 and not m.get("traced"):
            times.setdefault(m["operation"], {}).setdefault(m["volume_size"], []).append(m["time"])
            transfers[m["operation"]] = m
            if m["volume_size"] not in sizes:
                sizes.append(m["volume_size"])
    sizes.sort()
    lines = step_rows(part) + clock_line(part)
    if times:
        largest = sizes[-1]
        lines += ["", "`mbirk profile --policy cuda`, milliseconds, medians; copies between host and device are those "
                  f"of one call at {largest}.", ""]
        rows = []
        for op, by_size in times.items():
            m = transfers[op]
            copies = f"{m['uploads']} up, {m['downloads']} down" if "uploads" in m else ""
            rows.append([f"`{op}`"]
                        + [milliseconds(1e3 * statistics.median(by_size[n])) if n in by_size else "" for n in sizes]
                        + [copies])
        lines += rows_of(["operation"] + [str(n) for n in sizes] + ["copies"], rows)
    return lines + problems(part)


def name_of(r):
    return f"`{r['geometry']}_{r['operation']}`" if "geometry" in r and r["geometry"] else f"`{r.get('operation', '')}`"


def problems(part):
    lines = []
    for kind, what in (("errors", "error"), ("skipped", "reason")):
        entries = part.get(kind) or []
        if entries:
            lines += ["", f"{kind.capitalize()}:", ""]
            lines += [f"- {e.get('cell') or e.get('volume_size') or ''} {name_of(e)}: {escaped(e.get(what, ''))}"
                      for e in entries]
    return lines


def cells_section(part):
    lines = step_rows(part) + clock_line(part)
    if part.get("results"):
        lines += ["", "Milliseconds of one call, from an idle device to the end of its last kernel, the host's "
                  "preparations included; `queued` is what a call takes when calls are queued one after the other. "
                  "Rate: 1e9 voxel-view pairs a second (direct_filter: samples). Memory: arrays and temporaries. "
                  f"The goals are those of the design for an H200 at {GOAL_CELL}. `+`: fewer calls than planned, for "
                  "want of time.", ""]
        rows = []
        for r in part["results"]:
            goal = GOALS.get((r["geometry"], r["operation"])) if r["cell"] == GOAL_CELL else None
            few = "+" if r["calls"] < 5 or r["warm"] < 3 else ""
            rows.append((r["cell"], name_of(r), milliseconds(r["ms_median"]), milliseconds(r["ms_min"]),
                         milliseconds(r["ms_max"]), milliseconds(r["ms_queued"]), f"{r['calls']}{few}",
                         rate(r["giga_per_second"]), f"{r['bytes_device'] / 2**30:.2f} GiB",
                         rate(goal) if goal else "", f"{r['giga_per_second'] / goal:.2f}" if goal else ""))
        lines += rows_of(("cell", "operation", "median", "min", "max", "queued", "calls", "rate", "memory", "goal",
                          "rate / goal"), rows)
    return lines + problems(part)


def peers_section(part):
    lines = step_rows(part) + clock_line(part)
    peers = part.get("peers") or {}
    if peers:
        lines += [""] + [f"- {TITLES.get(peer, peer)}: {escaped(text)}" for peer, text in peers.items()]
    if part.get("results"):
        names = [p for p in peers if any(p in r["ms"] for r in part["results"])]
        lines += ["", "Milliseconds, medians of the rounds' medians, sides alternating, arrays on the device; ratios "
                  "are the other's time / mbirk's (range over rounds) and hold for this run only. ASTRA's footprints "
                  "differ (rays forward, interpolation back) and it has no mask: the same shapes, not the same "
                  "matrix.", ""]
        rows = []
        for r in part["results"]:
            row = [r["cell"], name_of(r), milliseconds(r["ms"].get("mbirk"))]
            for peer in names:
                row.append(milliseconds(r["ms"].get(peer)))
                ratio = r["ratios"].get(peer)
                row.append(f"{ratio['median']:.2f} ({ratio['min']:.2f} .. {ratio['max']:.2f}: {ratio['rounds']})"
                           if ratio else "")
            rows.append(row)
        lines += rows_of(["cell", "operation", "mbirk"]
                         + [text for p in names for text in (TITLES.get(p, p), "ratio")], rows)
    return lines + problems(part)


def table(data):
    e = data["environment"]
    smi = e["nvidia_smi"]
    known = lambda name, value: [f"{name} {value}"] if value and "N/A" not in str(value) else []
    inner = next((p["environment"] for name, p in data["parts"].items()
                  if name in ("cells", "peers") and p.get("environment")), None) or {}
    facts = [f"commit {e['commit']}", f"{e['device']}, compute capability {e['compute_capability']}"]
    facts += (known("driver", smi.get("driver_version")) + known("CUDA runtime", inner.get("cuda_runtime"))
              + known("nvcc", e["nvcc"]))
    for name, value in (("memory", smi.get("memory.total")), ("largest clocks: SM", smi.get("clocks.max.sm")),
                        ("memory", smi.get("clocks.max.mem")), ("power limit", smi.get("power.limit")),
                        ("ECC", smi.get("ecc.mode.current")), ("processor", e["cpu"]), ("", e["compiler"])):
        facts += known(name, value)
    lines = [f"# mbirk on {e['device']}, {data['date']}", "", "; ".join(f.strip() for f in facts) + "."]
    lines[-1] = lines[-1][0].upper() + lines[-1][1:]
    sections = {"test": test_section, "sanitize": sanitize_section, "profile": profile_section, "cells": cells_section,
                "peers": peers_section}
    absent = [name for name in PARTS if name not in data["parts"]]
    failed = [f"{name}: {s['step']}" for name in PARTS if name in data["parts"]
              for s in data["parts"][name]["steps"] if s["status"] == "failed"]
    lines += ["", "Failed: " + (", ".join(f"`{f}`" for f in failed) if failed else "nothing") + "."]
    if absent:
        lines += ["Not run: " + ", ".join(absent) + "."]
    for name in PARTS:
        if name in data["parts"]:
            part = data["parts"][name]
            lines += (["", f"## {name}", "", f"{part['time']}, {part['seconds']} s.", ""]
                      + sections.get(name, step_rows)(part))
    return "\n".join(lines) + "\n"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = ap.add_subparsers(dest="command", required=True)
    commands.add_parser("device")
    commands.add_parser("not-run").add_argument("file", type=pathlib.Path)
    commands.add_parser("table").add_argument("file", type=pathlib.Path)
    merging = commands.add_parser("merge")
    for name, kind in (("out", pathlib.Path), ("work", pathlib.Path), ("part", str), ("commit", str), ("seconds", int)):
        merging.add_argument("--" + name, type=kind, required=True)
    args = ap.parse_args()
    if args.command == "device":
        found = find_device()
        if not found:
            return 3
        print("\t".join(found))
    elif args.command == "not-run":
        try:
            print(",".join(missing_ops(json.loads(args.file.read_text()))))
        except (OSError, ValueError):
            print()
    elif args.command == "table":
        sys.stdout.write(table(json.loads(args.file.read_text())))
    else:
        return merge(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())

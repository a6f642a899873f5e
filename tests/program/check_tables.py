#!/usr/bin/env python3
"""check_tables.py RUN.json TABLES: the tables of a run of mbirk profile match its JSON, row by row and cell by cell."""
import csv, json, lzma, sys
from pathlib import Path

report, folder = json.load(open(sys.argv[1])), Path(sys.argv[2])
costs = [(operation, size, cost) for size, of_size in report["cost_analysis"].items()
         for operation, cost in of_size.items()]
cells = 0


def table(name):
    with lzma.open(folder / (name + ".csv.xz"), "rt", newline="") as file:
        return list(csv.DictReader(file))


def check(row, expected):
    """expected: column -> value; None is an empty cell."""
    global cells
    assert row.keys() == expected.keys(), (sorted(row), sorted(expected))
    for column, value in expected.items():
        cell = row[column]
        if value is None:
            same = cell == ""
        elif isinstance(value, bool):
            same = cell == str(value).lower()
        elif isinstance(value, str):
            same = cell == value
        else:
            same = type(value)(cell) == value
        assert same, (column, cell, value, row)
        cells += 1


def same_rows(name, expected):
    found = table(name)
    assert len(found) == len(expected) > 0, (name, len(found), len(expected))
    for row, want in zip(found, expected):
        check(row, want)


columns = ["operation", "volume_size", "run", "time", "traced", "warm_up", "calls", "min", "max", "uploads", "bytes_up",
           "downloads", "bytes_down", "source", "disturbed", "reason"]
same_rows("measurements", [{c: m.get(c) for c in columns} for m in report["measurements"]])

same_rows("kernels", [
    {"operation": operation, "volume_size": size, "stage": k["stage"], "kernel": k["name"], "launches": k["launches"],
     "tasks": k["tasks"], "flops": k["flops"], "bytes_loaded": k["bytes loaded"], "bytes_stored": k["bytes stored"],
     "intensity": k["arithmetic intensity"], "source": cost["source"]}
    for operation, size, cost in costs for k in cost["kernels"]])


def array_rows(operation, size, policy, arrays, source):
    for a in arrays:
        access, values = a.get("access", {}), a.get("values", {})
        row = {"operation": operation, "volume_size": size, "policy": policy, "array": a["name"], "source": source}
        for field in ("role", "type", "elements", "bytes", "loads", "stores", "bytes loaded", "bytes stored",
                      "bytes unique read", "bytes unique written"):
            row[field.replace(" ", "_")] = a.get(field)
        for field in ("requests", "sectors", "sectors per request", "lanes per request"):
            row[field.replace(" ", "_")] = access.get(field)
        for field in ("min", "max", "min nonzero magnitude", "zeros", "not finite"):
            row[field.replace(" ", "_")] = values.get(field)
        row["exponents"] = " ".join(f"{e}:{n}" for e, n in values.get("exponents", {}).items())
        yield row


same_rows("arrays", [row for operation, size, cost in costs
                     for policy, arrays in (("host", cost["arrays"]),
                                            ("emulated", cost.get("device", {}).get("arrays", [])))
                     for row in array_rows(operation, size, policy, arrays, cost["source"])])


def curve(operation, size, stage, array, reuse):
    writes = reuse.get("write backs", [None] * len(reuse["capacity lines"]))
    for lines, misses, back in zip(reuse["capacity lines"], reuse["read misses"], writes):
        yield {"operation": operation, "volume_size": size, "stage": stage, "array": array.get("name"),
               "role": array.get("role"), "elements": array.get("elements"), "capacity_lines": lines,
               "capacity_bytes": 64 * lines, "read_misses": misses, "write_backs": back}


def curves(operation, size, cost):
    yield from curve(operation, size, None, {}, cost["reuse"])
    for a in cost["arrays"]:
        yield from curve(operation, size, None, a, a["reuse"])
    for s in cost["reuse by stage"]:
        yield from curve(operation, size, s["name"], {}, s["reuse"])
        for a in s["arrays"]:
            yield from curve(operation, size, s["name"], a, a["reuse"])


same_rows("reuse", [row for operation, size, cost in costs if "reuse" in cost for row in curves(operation, size, cost)])
print(cells, "cells are the same")

"""Reads a profile of `mbirk profile` into tables: pandas frames if pandas is there, else lists of dicts.

    from mbirk import profile
    p = profile.read("output")                  # a folder, whose newest run counts, or a file mbirk_profile_*.json
    p.columns()[["operation", "kind", "device", "seconds", "joules"]]

The file needs nothing but Python, so it can also be loaded on its own where the module mbirk is not built.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any, Dict, List, Optional, Union

Rows = List[Dict[str, Any]]


def _interval(value: Any) -> Dict[str, Any]:
    """[low, nominal, high] as three columns; a plain number is all three."""
    low, nominal, high = value if isinstance(value, list) else (value, value, value)
    return {"seconds": nominal, "seconds low": low, "seconds high": high}


class Profile:
    """A run. `raw` is its JSON; each method makes a table of a part of it."""

    def __init__(self, raw: Dict[str, Any], path: Optional[pathlib.Path] = None):
        self.raw, self.path = raw, path

    # Lists of dicts, without pandas.

    def measurement_rows(self) -> Rows:
        """One row for each operation, size and run."""
        keep = ("operation", "volume_size", "run", "time", "min", "max", "calls", "traced", "disturbed")
        return [{k: m.get(k) for k in keep} for m in self.raw["measurements"]]

    def sample_rows(self) -> Rows:
        """One row for each timed call that the run kept."""
        return [
            {
                "operation": m["operation"],
                "volume_size": m["volume_size"],
                "run": m["run"],
                "sample": k,
                **(s if isinstance(s, dict) else {"time": s}),
            }
            for m in self.raw["measurements"]
            for k, s in enumerate(m.get("samples", []))
        ]

    def count_rows(self) -> Rows:
        """One row for each operation and size: every count that is a number, and the bytes of memory."""
        rows = []
        for size, operations in self.raw["cost_analysis"].items():
            for name, cost in operations.items():
                row = {"operation": name, "volume_size": int(size), "source": cost.get("source")}
                row.update({k: v for k, v in cost.items() if isinstance(v, (int, float)) and not isinstance(v, bool)})
                row.update({"memory " + k: v for k, v in cost.get("memory", {}).items()})
                rows.append(row)
        return rows

    def column_rows(self) -> Rows:
        """One row for each operation, size and device: time with its interval, energy, and how they are known."""
        rows = []
        for entry in self.raw.get("candidates", {}).get("operations", []):
            columns = entry.get("columns") or {}
            devices = (
                ([columns["host"]] if columns.get("host") else []) + columns.get("gpu", []) + columns.get("fpga", [])
            )
            for c in devices:
                rows.append(
                    {
                        "operation": entry["operation"],
                        "volume_size": entry["size"],
                        "kind": c["kind"],
                        "device": c["device"],
                        "word": c.get("word"),
                        **_interval(c["seconds"]),
                        "transfer seconds": c["transfer seconds"],
                        "joules": c["joules"],
                        "source": c["source"],
                        "verdict": entry["verdict"],
                    }
                )
        return rows

    def stage_rows(self) -> Rows:
        """One row for each stage of the whole reconstructions."""
        return [
            {"reconstruction": name, "volume_size": r["size"], "iterations": r["iterations"], **s}
            for name, r in self.raw.get("reconstructions", {}).items()
            for s in r.get("stages", [])
        ]

    def plan(self) -> Dict[str, Any]:
        """The answer: "headline", "why" and "reconstructions"."""
        return self.raw.get("candidates", {}).get("plan", {})

    # The same as frames.

    def measurements(self):
        return _frame(self.measurement_rows())

    def samples(self):
        return _frame(self.sample_rows())

    def counts(self):
        return _frame(self.count_rows())

    def columns(self):
        return _frame(self.column_rows())

    def stages(self):
        return _frame(self.stage_rows())


def _frame(rows: Rows):
    import pandas  # an optional dependency, so it is only needed for frames

    return pandas.DataFrame(rows)


def read(path: Union[str, pathlib.Path]) -> Profile:
    """Reads a file of `mbirk profile`, or the newest one of an output folder.

    Raises FileNotFoundError where there is none, and ValueError, in one line, where a file is none of a profile.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        files = sorted(path.glob("mbirk_profile_*.json"))
        if not files:
            raise FileNotFoundError(f"{path} has no mbirk_profile_*.json, expected the output folder of mbirk profile")
        path = files[-1]
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as e:
        raise ValueError(f"{path} is not valid JSON: {e}") from None
    for key in ("measurements", "cost_analysis"):
        if not isinstance(raw, dict) or key not in raw:
            raise ValueError(f"{path}: {key} is missing, expected a file of mbirk profile")
    return Profile(raw, path)

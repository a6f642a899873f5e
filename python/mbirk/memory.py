"""The memory of this process."""

from __future__ import annotations

import os
import sys
from typing import Any

GIB = 1 << 30


def _proc(path: str) -> dict[str, int]:
    """The lines "Name:  number kB" of a file in /proc, in bytes."""
    with open(path, encoding="ascii", errors="replace") as file:
        parts = [line.split() for line in file]
    return {p[0].rstrip(":"): int(p[1]) * 1024 for p in parts if len(p) == 3 and p[2] == "kB"}


def get_memory_stats(print_results: bool = True, file: Any = None) -> list[dict[str, Any]]:
    """What this process uses now and used at most, and what the machine has left, in bytes: a list of one dictionary
    with id, bytes_in_use, peak_bytes_in_use and bytes_limit. print_results: prints it, to `file` or stdout. Linux."""
    status, machine = _proc(f"/proc/{os.getpid()}/status"), _proc("/proc/meminfo")
    stats: dict[str, Any] = {
        "id": "CPU",
        "bytes_in_use": status["VmRSS"],
        "peak_bytes_in_use": status["VmHWM"],
        "bytes_limit": machine["MemAvailable"],
    }
    if print_results:
        lines = [f"{name}: {value / GIB:.3f} GiB" for name, value in stats.items() if name != "id"]
        print("\n  ".join([stats["id"], *lines]), file=file or sys.stdout)
    return [stats]

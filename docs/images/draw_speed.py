#!/usr/bin/env python3
"""Draws docs/images/speed.svg from the tables of docs/results: how many times as long other libraries take as mbirk.

    python3 docs/images/draw_speed.py [--check]

--check writes nothing, and exits with 1 when the picture is not what the tables say."""

import argparse
import math
import pathlib
import re
import sys

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"
PICTURE = pathlib.Path(__file__).with_name("speed.svg")
SIZE = "128"
ROWS = [
    ("parallel_forward_project", "parallel beam, forward"),
    ("parallel_back_project", "parallel beam, back"),
    ("parallel_fbp_recon", "filtered back projection"),
    ("cone_forward_project", "cone beam, forward"),
    ("cone_back_project", "cone beam, back"),
    ("cone_fdk_recon", "FDK"),
]
LIBRARIES = {"MBIRJAX": "#4e79a7", "ASTRA": "#f28e2b", "RTK": "#59a14f", "LEAP": "#b07aa1"}
LEFT, WIDTH, BAR, GAP, TOP, LARGEST = 190, 760, 13, 16, 50, 300


def ratios():
    """{(operation, library): times as long}, the fastest variant of each library."""
    found = {}

    def note(operation, library, ratio):
        key = (operation, library)
        found[key] = min(ratio, found.get(key, math.inf))

    against_mbirjax, _, _ = (RESULTS / "2026-11-23_all.md").read_text().partition("\n## ")
    for line in against_mbirjax.splitlines():
        if match := re.match(r"\| `(\w+)` \| [\d.]+ \| [\d.]+ \| ([\d.]+)", line):
            note(match[1], "MBIRJAX", float(match[2]))
    for line in (RESULTS / "2026-11-22_peers.md").read_text().splitlines():
        if match := re.match(rf"\| `(\w+)` \| {SIZE} \| (\w+):.*\| ([\d.]+) \([^)]*\) \|$", line):
            note(match[1], match[2], float(match[3]))
    return found


def picture():
    known = ratios()
    scale = (WIDTH - LEFT - 60) / math.log10(LARGEST)
    parts, y = [], TOP
    for operation, title in ROWS:
        bars = [(name, known[operation, name]) for name in LIBRARIES if (operation, name) in known]
        middle = y + BAR * len(bars) / 2 + 4
        parts.append(f'<text x="{LEFT - 10}" y="{middle:.0f}" text-anchor="end">{title}</text>')
        for name, ratio in sorted(bars, key=lambda bar: bar[1]):
            length = scale * math.log10(ratio)
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.0f}" height="{BAR - 2}" fill="{LIBRARIES[name]}"/>')
            parts.append(f'<text x="{LEFT + length + 5:.0f}" y="{y + BAR - 3}" class="small">'
                         f'{name} {ratio:.0f}×</text>')
            y += BAR
        y += GAP
    height = y + 30
    lines = []
    for tick in (1, 10, 100):
        x = LEFT + scale * math.log10(tick)
        lines.append(f'<line x1="{x:.0f}" y1="{TOP - 8}" x2="{x:.0f}" y2="{y - 8}" stroke="#ccc"/>')
        lines.append(f'<text x="{x:.0f}" y="{y + 8}" text-anchor="middle" class="small">'
                     f'{"mbirk" if tick == 1 else f"{tick}×"}</text>')
    style = "text { font: 14px sans-serif; fill: #222 } .small { font-size: 11px } .title { font-weight: bold }"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img">\n'
        f"<title>Time of other libraries divided by the time of mbirk</title>\n<style>{style}</style>\n"
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n'
        '<text x="16" y="26" class="title">How many times as long other libraries take '
        f'(CPU, two threads, {SIZE}³, log scale)</text>\n'
    )
    return head + "\n".join(lines + parts) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    made = picture()
    if parser.parse_args().check:
        sys.exit(0 if PICTURE.exists() and PICTURE.read_text() == made
                 else "speed.svg is not what the tables say; run draw_speed.py")
    PICTURE.write_text(made)


if __name__ == "__main__":
    main()

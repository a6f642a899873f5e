#!/usr/bin/env python3
"""Draws docs/images/ranks.svg, the efficiency of reconstructions by many processes, from a table in docs/results.

    python3 docs/images/draw_ranks.py [--check | --program build/release/bench/mbirk/mbirk]

--program makes the table anew with `mbirk estimate --ranks --slabs-and-views`. --check writes nothing, and exits with 1
when the picture is not what the table says."""

import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).resolve().parents[1] / "results" / "2026-11-27_ranks_model.md"
PICTURE = pathlib.Path(__file__).with_name("ranks.svg")
SIZES = (512, 1024, 2048, 4096)
RANKS = tuple(2**k for k in range(1, 13))
BEAMS = ("parallel", "cone")
COLOURS = dict(zip(SIZES, ("#b07aa1", "#59a14f", "#f28e2b", "#4e79a7")))
NETWORK, THREADS = "2,12.5", 64
LEFT, TOP, WIDTH, HEIGHT, BETWEEN = 52, 58, 300, 220, 70


def estimates(program, beam, size):
    distances = {"source_detector_dist": 8 * size, "source_iso_dist": 4 * size, "delta_det_channel": 2,
                 "delta_det_row": 2} if beam == "cone" else {}
    turn = 2 * math.pi if beam == "cone" else math.pi
    geometry = {"geometry": beam, "sinogram_shape": [size] * 3, "recon_shape": [size] * 3, "params": distances,
                "angles": {"start": 0, "stop": turn, "num": size, "endpoint": False}}
    with tempfile.TemporaryDirectory(prefix="mbirk-ranks-") as folder:
        file = pathlib.Path(folder) / "scan.json"
        file.write_text(json.dumps(geometry))
        command = [program, "estimate", "recon", "--geometry", str(file), "--slabs-and-views", "--ranks",
                   ",".join(map(str, RANKS)), "--threads", str(THREADS), "--network", NETWORK, "--json"]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["ranks"]


def make_table(program):
    lines = [
        "# Ranks, modelled, 2026-11-27", "",
        "`python3 docs/images/draw_ranks.py --program build/release/bench/mbirk/mbirk`: what `mbirk estimate --ranks",
        f"--slabs-and-views` says of VCD with 128 subsets, N^3 voxels and N views, by ranks of {THREADS} threads, with",
        "messages of 2 us and 12.5 GB/s. A cell has the efficiency in % (time of one rank over that of all times their",
        "number) and the fastest number of slabs of slices times groups of views. The model and its constants are in",
        "[distributed.md](../distributed.md#is-it-worth-it); nothing here was measured on a cluster, and `mbirk-mpi`",
        "runs only slabs (parallel beam) or only views (cone beam, up to 16).", "",
        "| beam | N | " + " | ".join(map(str, RANKS)) + " |", "|" + "---|" * (len(RANKS) + 2)]
    for beam in BEAMS:
        for size in SIZES:
            cells = estimates(program, beam, size)
            lines.append(f"| {beam} | {size} | " + " | ".join(
                f"{100 * c['efficiency']:.0f} ({c['slabs']} x {c['groups of views']})" for c in cells) + " |")
    TABLE.write_text("\n".join(lines) + "\n")


def efficiencies():
    """{(beam, size): percents by RANKS}"""
    found = {}
    for line in TABLE.read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if cells[0] in BEAMS:
            found[cells[0], int(cells[1])] = [int(re.match(r"\d+", c)[0]) for c in cells[2:]]
    return found


def picture():
    known = efficiencies()
    parts = []

    def text(x, y, words, anchor="middle", kind="small"):
        parts.append(f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" class="{kind}">{words}</text>')

    for panel, beam in enumerate(BEAMS):
        left = LEFT + panel * (WIDTH + BETWEEN)
        x = lambda ranks: left + WIDTH * math.log2(ranks) / math.log2(RANKS[-1])
        y = lambda percent: TOP + HEIGHT * (1 - percent / 100)
        text(left + WIDTH / 2, TOP - 12, f"{beam} beam", kind="title")
        for percent in (0, 25, 50, 75, 100):
            parts.append(f'<line x1="{left}" y1="{y(percent):.0f}" x2="{left + WIDTH}" y2="{y(percent):.0f}" '
                         'stroke="#ddd"/>')
            text(left - 6, y(percent) + 4, f"{percent} %", "end")
        for ranks in (1, 4, 16, 64, 256, 1024, 4096):
            text(x(ranks), TOP + HEIGHT + 16, ranks)
        text(left + WIDTH / 2, TOP + HEIGHT + 34, f"ranks of {THREADS} threads")
        for size in SIZES:
            points = " ".join(f"{x(r):.1f},{y(e):.1f}" for r, e in zip((1, *RANKS), (100, *known[beam, size])))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[size]}" stroke-width="2"/>')
    for k, size in enumerate(SIZES):
        at = LEFT + 16 + k * 90
        parts.append(f'<line x1="{at}" y1="{TOP + HEIGHT + 54}" x2="{at + 20}" y2="{TOP + HEIGHT + 54}" '
                     f'stroke="{COLOURS[size]}" stroke-width="3"/>')
        text(at + 26, TOP + HEIGHT + 58, f"{size}³", "start")
    width, height = LEFT + 2 * WIDTH + BETWEEN + 20, TOP + HEIGHT + 74
    style = "text { font: 14px sans-serif; fill: #222 } .small { font-size: 11px } .title { font-weight: bold }"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img">\n'
        f"<title>Efficiency of reconstructions by many ranks, modelled</title>\n<style>{style}</style>\n"
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
        '<text x="16" y="24" class="title">Efficiency of VCD by ranks that share out slices and views '
        '(a model; 2 µs, 12.5 GB/s)</text>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--program")
    args = parser.parse_args()
    if args.program:
        make_table(args.program)
    made = picture()
    if args.check:
        sys.exit(0 if PICTURE.exists() and PICTURE.read_text() == made
                 else "ranks.svg is not what the table says; run draw_ranks.py")
    PICTURE.write_text(made)


if __name__ == "__main__":
    main()

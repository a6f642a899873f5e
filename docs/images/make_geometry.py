#!/usr/bin/env python3
"""Writes geometry.svg, the picture of docs/conventions.md, next to this file: python3 docs/images/make_geometry.py [FILE]

Everything is placed by the formulas of that page, so the picture cannot disagree with them."""
import math, pathlib, re, sys

WIDTH, HEIGHT = 1180, 645
INK, BEAM, GRID, DETECTOR, HIT = "#222222", "#f3ead2", "#3b6ea8", "#2f7d4f", "#c4452d"
out = []


def shape(tag, **attributes):
    out.append(f"<{tag} " + " ".join(f'{k.replace("_", "-")}="{v if isinstance(v, str) else round(v, 1)}"' for k, v in attributes.items()) + "/>")


def line(a, b, color=INK, width=1.3, dash="none", start=False, end=False):
    ends = {k: f"url(#{color[1:]})" for k, on in (("marker_start", start), ("marker_end", end)) if on}
    shape("line", x1=a[0], y1=a[1], x2=b[0], y2=b[1], stroke=color, stroke_width=width, stroke_dasharray=dash, **ends)


def polygon(points, fill, stroke="none", width=1.0):
    shape("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), fill=fill, stroke=stroke, stroke_width=width)


def arc(centre, radius, begin, end, color=INK, arrow=True):
    """Angles in radians from the page's right, clockwise, as y of the page points down."""
    p, q = [(centre[0] + radius * math.cos(t), centre[1] + radius * math.sin(t)) for t in (begin, end)]
    extra = {"marker_end": f"url(#{color[1:]})"} if arrow else {}
    shape("path", d=f"M{p[0]:.1f} {p[1]:.1f} A{radius} {radius} 0 0 {int(end > begin)} {q[0]:.1f} {q[1]:.1f}", fill="none", stroke=color,
          stroke_width=1.3, **extra)


def text(x, y, words, anchor="start", color=INK, size=16, weight="normal", halo=False):
    """`*a*` is italic, `_a` or `_{ab}` a subscript."""
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    words = re.sub(r"\*([^*]+)\*", r'<tspan font-style="italic">\1</tspan>', words)
    small = f'font-size="{size * 0.72:.0f}"'
    words = re.sub(r"_(?:\{([^}]*)\}|(\w))", lambda m: f'<tspan dy="4" {small}>{m[1] or m[2]}</tspan><tspan dy="-4">&#8203;</tspan>', words)
    glow = ' stroke="white" stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    out.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" font-size="{size}" font-weight="{weight}"{glow}>{words}</text>')


def measure(a, b, words, at, anchor="middle"):
    """A dimension line with an arrow head at both ends."""
    line(a, b, start=True, end=True)
    text(*at, words, anchor, halo=True)


def source(p, at, anchor):
    shape("circle", cx=p[0], cy=p[1], r=6, fill=HIT)
    text(*at, "X-ray source", anchor)


def plan():
    """Seen from above: x to the right, y down the page, z into it; a recon slice lies as an image of it is shown."""
    cx, cy = 300, 352                                    # the rotation axis on the page
    d, d0, pitch, n, theta = 480, 262, 27, 7, math.radians(24)
    channels, delta_c, o_c = 12, 36, 22
    at = lambda x, y: (cx + x, cy + y)
    turn = lambda x, y: (math.cos(theta) * x - math.sin(theta) * y, math.sin(theta) * x + math.cos(theta) * y)
    grid = lambda i, j: at(*turn(pitch * (j - (n - 1) / 2), pitch * (i - (n - 1) / 2)))
    cell = lambda c: ((c - (channels - 1) / 2) * delta_c - o_c, d0 - d)        # u of channel c, in the plane of the detector
    text(cx, 30, "Seen from above, along +*z*", "middle", size=19, weight="bold")

    polygon([at(0, d0), at(*cell(-0.5)), at(*cell(channels - 0.5))], BEAM)
    line(at(0, d0), at(0, d0 - d), dash="7 4", width=1)                         # central ray

    for k in range(n + 1):                                                      # the grid of pixels and its mask
        line(grid(k - 0.5, -0.5), grid(k - 0.5, n - 0.5), GRID, 1)
        line(grid(-0.5, k - 0.5), grid(n - 0.5, k - 0.5), GRID, 1)
    shape("circle", cx=cx, cy=cy, r=pitch * (n - 1) / 2, fill="none", stroke=GRID, stroke_width=1.6, stroke_dasharray="3 3")
    i, j = 1, 4
    polygon([grid(i - 0.5, j - 0.5), grid(i - 0.5, j + 0.5), grid(i + 0.5, j + 0.5), grid(i + 0.5, j - 0.5)], HIT, HIT)
    for name, tip, label in (("*x̃*, column *j*", (n / 2 + 2.3, 0), (14, 8)), ("*ỹ*, row *i*", (0, n / 2 + 1.5), (-10, 16))):
        tip = at(*turn(pitch * tip[0], pitch * tip[1]))
        line(at(0, 0), tip, GRID, 2, end=True)
        text(tip[0] + label[0], tip[1] + label[1], name, "start" if label[0] > 0 else "end", GRID, halo=True)
    line(at(0, 0), at(178, 0), dash="3 3", width=1)                             # where the columns point at angle 0
    arc((cx, cy), 140, 0, theta - 0.04)
    text(cx + 148, cy + 34, "*θ*", halo=True)
    text(*[p + q for p, q in zip(grid(0, 0), (-12, -8))], "(0, 0)", "end", GRID, size=14)
    shape("circle", cx=cx, cy=cy, r=4, fill=INK)
    line((cx - 240, cy), (cx, cy), width=1)
    text(cx - 238, cy - 7, "rotation axis", size=14)

    x, y = turn(pitch * (j - (n - 1) / 2), pitch * (i - (n - 1) / 2))           # the ray through the pixel
    g = d / (d0 - y)
    u, beta = g * x, math.atan2(g * x, d)
    line(at(0, d0), at(u, d0 - d), HIT, 1.5)
    arc(at(0, d0), 118, -math.pi / 2, -math.pi / 2 + beta, HIT, arrow=False)
    text(*at(24, d0 - 124), "*β*", color=HIT, halo=True)
    half = g * max(abs(math.cos(theta - beta)), abs(math.sin(theta - beta))) * pitch / math.cos(beta) / 2

    for c in range(channels):
        a, b = at(*cell(c - 0.5)), at(*cell(c + 0.5))
        polygon([a, b, (b[0], b[1] - 15), (a[0], a[1] - 15)], "#e3f1e8", DETECTOR, 1)
    line(at(u - half, d0 - d), at(u + half, d0 - d), HIT, 5)
    y0 = cy + d0 - d
    text(cx + u + 8, y0 + 24, "*u* = *g·x*", color=HIT, halo=True)
    text(*at(cell(0)[0], d0 - d - 24), "0", "middle", DETECTOR, size=14)
    text(*at(cell(channels - 1)[0], d0 - d - 24), "*C*−1", "middle", DETECTOR, size=14)
    line(at(cell(3)[0], d0 - d - 46), at(cell(8)[0], d0 - d - 46), DETECTOR, 2, end=True)
    text(*at((cell(3)[0] + cell(8)[0]) / 2, d0 - d - 54), "channel *n*, *u*", "middle", DETECTOR)
    text(*at(cell(channels - 0.5)[0] + 8, d0 - d - 2), "detector", color=DETECTOR)
    line(at(-o_c, d0 - d - 15), at(-o_c, d0 - d + 34), DETECTOR, 1, "3 3")        # the middle of the detector and its offset
    line(at(-o_c - 26, d0 - d + 29), at(-o_c, d0 - d + 29), end=True)
    line(at(26, d0 - d + 29), at(0, d0 - d + 29), end=True)
    text(*at(-o_c - 30, d0 - d + 34), "*o*_c", "end", halo=True)

    left = -272
    for y in (d0, 0, d0 - d):
        line(at(left - 8, y), at(left + 14, y), width=1)
    measure(at(left, d0), at(left, 0), "*D*_0", (cx + left + 8, cy + d0 / 2), "start")
    measure(at(left, 0), at(left, d0 - d), "*D* − *D*_0", (cx + left + 8, cy + (d0 - d) / 2), "start")
    source(at(0, d0), at(14, d0 + 8), "start")

    ox, oy = cx + 178, cy + d0 - 62                                             # axes of the laboratory
    line((ox, oy), (ox + 62, oy), width=2, end=True)
    line((ox, oy), (ox, oy + 62), width=2, end=True)
    text(ox + 70, oy + 5, "*x*")
    text(ox + 10, oy + 66, "*y*, to the source")
    shape("circle", cx=ox, cy=oy, r=8, fill="white", stroke=INK, stroke_width=1.5)
    line((ox - 5, oy - 5), (ox + 5, oy + 5))
    line((ox - 5, oy + 5), (ox + 5, oy - 5))
    text(ox - 14, oy + 6, "*z*", "end")


def side():
    """Seen from the +x side: y to the left, z down the page."""
    sx, cz = 680, 318                                    # the source on the page, and the height z = 0
    d, d0, pitch, slices, depth, delta_z, shift = 372, 205, 24, 8, 6, 20, 22
    rows, delta_r, o_r = 9, 36, 20
    at = lambda y, z: (sx + d0 - y, cz + z)
    cell = lambda m: (m - (rows - 1) / 2) * delta_r - o_r
    slice_z = lambda k: delta_z * (k - (slices - 1) / 2) + shift
    text(sx + d / 2 + 10, 30, "Seen from the side, along −*x*", "middle", size=19, weight="bold")

    polygon([at(d0, 0), at(d0 - d, cell(-0.5)), at(d0 - d, cell(rows - 0.5))], BEAM)
    line(at(d0, 0), at(d0 - d - 54, 0), dash="7 4", width=1)
    line(at(0, -190), at(0, 205), GRID, 2, end=True)
    text(*at(-8, 206), "*z*, slice *k*", color=GRID)
    text(*at(0, -198), "rotation axis", "middle", size=14)

    for j in range(depth + 1):
        line(at(pitch * (j - depth / 2), slice_z(-0.5)), at(pitch * (j - depth / 2), slice_z(slices - 0.5)), GRID, 1)
    for k in range(slices + 1):
        line(at(-pitch * depth / 2, slice_z(k - 0.5)), at(pitch * depth / 2, slice_z(k - 0.5)), GRID, 1)
    left = at(pitch * depth / 2 + 7, 0)[0]
    text(left, cz + slice_z(0) + 5, "0", "end", GRID, size=14)
    text(left, cz + slice_z(slices - 1) + 5, "*S*−1", "end", GRID, size=14)
    k, y = 5, 1.5 * pitch
    polygon([at(y + a * pitch / 2, slice_z(k) + b * delta_z / 2) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))], HIT, HIT)
    g = d / (d0 - y)
    v = g * slice_z(k)
    line(at(d0, 0), at(d0 - d, v), HIT, 1.5)
    phi = math.atan2(v, d)
    arc(at(d0, 0), 92, 0, phi, HIT, arrow=False)
    text(sx + 112, cz + 21, "*φ*", "end", HIT, halo=True)

    for m in range(rows):
        a, b = at(d0 - d, cell(m - 0.5)), at(d0 - d, cell(m + 0.5))
        polygon([a, b, (b[0] + 15, b[1]), (a[0] + 15, a[1])], "#e3f1e8", DETECTOR, 1)
    line(at(d0 - d, v - g * delta_z / 2), at(d0 - d, v + g * delta_z / 2), HIT, 5)
    x = sx + d
    text(x - 9, cz + v + 26, "*v* = *g·z*_k", "end", HIT, halo=True)
    text(x + 22, cz + cell(0) + 5, "0", color=DETECTOR, size=14)
    text(x + 22, cz + cell(rows - 1) + 5, "*R*−1", color=DETECTOR, size=14)
    line((x + 34, cz + cell(1)), (x + 34, cz + cell(3) - 6), DETECTOR, 2, end=True)
    text(x + 44, cz + cell(2) - 2, "row *m*,", color=DETECTOR)
    text(x + 44, cz + cell(2) + 18, "*v*", color=DETECTOR)
    text(x + 8, cz + cell(-0.5) - 10, "detector", "middle", DETECTOR)
    line((x + 15, cz - o_r), (x + 54, cz - o_r), DETECTOR, 1, "3 3")               # the middle of the detector and its offset
    line((x + 47, cz - o_r - 26), (x + 47, cz - o_r), end=True)
    line((x + 47, cz + 26), (x + 47, cz), end=True)
    text(x + 58, cz - o_r / 2 + 5, "*o*_r", halo=True)

    x = at(-pitch * depth / 2 - 44, 0)[0]                                       # the middle of the grid and its offset
    line(at(0, shift), (x + 8, cz + shift), GRID, 1.6, "3 3")
    line((x, cz - 26), (x, cz), end=True)
    line((x, cz + shift + 26), (x, cz + shift), end=True)
    text(x - 8, cz - 32, "*o*_z − *ζ*_v", "middle", halo=True)

    low = cz + 268
    for p in (sx, sx + d0, sx + d):
        line((p, low - 14), (p, low + 8), width=1)
    measure((sx, low), (sx + d0, low), "*D*_0", (sx + d0 / 2, low - 10))
    measure((sx + d0, low), (sx + d, low), "*D* − *D*_0", (sx + (d + d0) / 2, low - 10))
    source((sx, cz), (sx - 8, cz - 16), "start")

    ox, oy = sx + 74, cz - 190
    line((ox, oy), (ox - 62, oy), width=2, end=True)
    line((ox, oy), (ox, oy + 62), width=2, end=True)
    text(ox - 70, oy + 5, "*y*", "end")
    text(ox + 10, oy + 66, "*z*")
    shape("circle", cx=ox, cy=oy, r=8, fill="white", stroke=INK, stroke_width=1.5)
    shape("circle", cx=ox, cy=oy, r=2.2, fill=INK)
    text(ox + 14, oy - 4, "*x*")


plan()
side()
heads = "".join(f'<marker id="{c[1:]}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" '
                f'orient="auto-start-reverse"><path d="M0 1 L10 5 L0 9 Z" fill="{c}"/></marker>' for c in (INK, GRID, DETECTOR, HIT))
target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("geometry.svg")
target.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
                  'font-family="DejaVu Sans, Verdana, Arial, sans-serif">\n'
                  "<title>Cone beam geometry: axes, indices, angles, distances and offsets</title>\n"
                  f'<defs>{heads}</defs>\n<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(out) + "\n</svg>\n", encoding="utf-8")

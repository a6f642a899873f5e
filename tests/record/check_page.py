"""Compares the page of a graph with the texts of its forms: check_page.py PAGE.html TEXT...

The page must be well-formed, and its data must have the arrays, axes, stages, nodes and statements of each text, with
the same numbers, and nothing else.
"""
import html.parser
import json
import re
import sys

EMPTY = {"meta", "input", "br", "path", "rect"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.data, self.title, self.ids, self.inside = [], [], "", "", [], None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.inside = attrs.get("id") or tag
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append("</%s> closes something else" % tag)
        self.inside = None

    def handle_data(self, text):
        if self.inside == "data":
            self.data += text
        elif self.inside == "title" and self.open[-1] == "title":
            self.title += text


def as_text(form):
    """The lines that to_text() would write, without the first."""
    axes = [a["id"] for a in form["axes"]]
    names = lambda ids: "[" + ", ".join("%%%d" % i for i in ids) + "]"
    lines = ["%s %s %s %s %d bytes" % (a["use"], a["name"], a["type"], a["shape"], a["bytes"]) for a in form["arrays"]]
    lines += ["axis %s %d %s" % (a["id"], a["extent"], a["kind"]) for a in form["axes"]]
    for k, stage in enumerate(form["stages"]):
        lines.append("stage " + stage["name"] + "".join(" in " + axes[a] for a in stage["outer"])
                     + "".join(" " + axes[a] for a in stage["axes"]) + " (%s:%d)" % (stage["file"], stage["line"]))
        for i, n in enumerate(form["nodes"]):
            if n["stage"] != k:
                continue
            what = {"literal": lambda: n["value"], "axis": lambda: "axis " + axes[n["which"]],
                    "load": lambda: (("clamped " if n.get("clamped") else "load ")
                                     + form["arrays"][n["which"]]["name"] + names(n["in"])),
                    "sum": lambda: "sum " + axes[n["which"]] + " %%%d" % n["in"][0]}
            text = what.get(n["op"], lambda: n["op"] + "".join(" %%%d" % x for x in n["in"]))()
            lines.append("  %%%d = %s : %s [%s]" % (i, text, n["type"], ", ".join(axes[a] for a in n["free"]))
                         + ('  "%s"' % n["label"] if "label" in n else ""))
            times = 1
            for a in n["free"]:
                times *= form["axes"][a]["extent"]
            if times != n["times"]:
                lines.append("node %d runs %d times, not %d" % (i, times, n["times"]))
        for st in stage["statements"]:
            lines.append("  " + form["arrays"][st["array"]]["name"] + names(st["index"])
                         + (" += " if st["adds"] else " = ") + "%%%d" % st["value"]
                         + "".join(" for " + axes[a] for a in st["loops"]))
    for kind in ("loads", "stores"):
        for k, a in enumerate(form["arrays"]):
            if sum(s["accesses"][k][kind] for s in form["stages"]) != a[kind]:
                lines.append("%s of %s: the stages do not add up" % (kind, a["name"]))
    for kind in ("flops", "transcendentals"):
        if sum(s[kind] for s in form["stages"]) != form[kind]:
            lines.append(kind + ": the stages do not add up")
    return lines


def main():
    page = Page()
    page.feed(open(sys.argv[1], encoding="utf-8").read())
    page.close()
    faults = page.faults + ["<%s> is never closed" % tag for tag in page.open]
    faults += ["two elements are called " + i for i in set(page.ids) if page.ids.count(i) > 1]
    data = json.loads(page.data)
    if page.title != data["graph"] + ", graph":
        faults.append("the title is " + page.title)
    if len(data["forms"]) != len(sys.argv) - 2:
        faults.append("%d forms" % len(data["forms"]))
    for form, path in zip(data["forms"], sys.argv[2:]):
        # Axes that no stage has are left out of the text.
        expected = open(path, encoding="utf-8", newline="\n").read().split("\n", 1)[1].rstrip("\n")
        used = set(re.findall(r"^axis (\S+)", expected, re.M))
        found = "\n".join(line for line in as_text(form) if not line.startswith("axis ") or line.split()[1] in used)
        if found != expected:
            faults.append("%s: the page has\n%s\nthe text\n%s" % (path, found, expected))
    print("\n".join(faults), end="")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

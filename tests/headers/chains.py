"""Chains of headers that prove in one source what each header would prove in a source of its own.

A header that is compiled alone has, besides its own text, what it includes. In `#include <a>`, `#include <b>` the
header b has no more than that if it includes a itself, and all that a includes: one that lacks an include of ours does
not compile there either. So a chain a, b, c, ... in which each header includes everything before it, directly or
through others, needs one source. As few chains as possible hold all headers (a matching of the largest size in a graph
of two halves). Without this, starting the compiler and reading the standard library took most of the time of this test.

What a header includes counts only if every compiler always reads it before the header's own text, and what was read
before it counts even behind a condition: chains are sound for any configuration. The one exception is MBIRK_COMPILED,
which the program of the chains does not define (second.cpp)."""
import pathlib
import re
import sys

NOT_DEFINED = re.compile(r"#\s*if defined\(MBIRK_COMPILED\)$")


class Includes:
    """Includes of one header: `first` come before its own text, `always` are not behind a condition, `any` are all."""

    def __init__(self, text):
        self.first, self.always, self.any = set(), set(), set()
        conditions, own_text = [], False
        for line in (line.strip() for line in re.sub(r"/\*.*?\*/", "", text, flags=re.S).splitlines()):
            if re.match(r"#\s*if", line):
                conditions.append(bool(NOT_DEFINED.match(line)))
            elif re.match(r"#\s*el", line):
                conditions[-1] = False
            elif re.match(r"#\s*endif", line):
                conditions.pop()
            elif found := re.match(r'#\s*include\s*["<](mbirk/[^">]+)', line):
                if any(conditions):
                    continue
                self.any.add(found[1])
                if not conditions:
                    self.always.add(found[1])
                if not conditions and not own_text:
                    self.first.add(found[1])
            elif line and not line.startswith(("//", "#")):
                own_text = True


def closure(header, includes, which):
    seen, waiting = set(), [header]
    while waiting:
        if (name := waiting.pop()) not in seen:
            seen.add(name)
            waiting.extend(getattr(includes[name], which))
    return seen


class Order:
    """Which headers may follow each other."""

    def __init__(self, folder):
        paths = [p for p in folder.glob("mbirk/**/*") if p.suffix in (".hpp", ".cuh")]
        includes = {str(p.relative_to(folder)): Includes(p.read_text()) for p in paths}
        always = {name: closure(name, includes, "always") for name in includes}
        self.read = {name: closure(name, includes, "any") for name in includes}
        self.has = {name: set().union(*(always[i] for i in includes[name].first)) - {name} for name in includes}

    def may_follow(self, later, earlier):
        return self.read[earlier] <= self.has[later]


def chains(headers, order):
    after = {a: [b for b in headers if order.may_follow(b, a)] for a in headers}
    before = {}

    def link(a, tried):
        """Finds a header to follow a; those that follow others already may move to further ones."""
        for b in after[a]:
            if b not in tried:
                tried.add(b)
                if b not in before or link(before[b], tried):
                    before[b] = a
                    return True
        return False

    for a in headers:
        link(a, set())
    following = {a: b for b, a in before.items()}
    result = []
    for first in headers:
        if first not in before:
            result.append([first])
            while result[-1][-1] in following:
                result[-1].append(following[result[-1][-1]])
    return result


if __name__ == "__main__":
    # One chain a line.
    for chain in chains(sys.argv[2:], Order(pathlib.Path(sys.argv[1]))):
        print(*chain)

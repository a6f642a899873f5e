"""Tests of chains.py, of the sources that CMake made from its chains, which the headers may have changed since, and of
the program that they make: no header defines a function or a variable without `inline`.

Exit code: 0 when all hold, 1 when not."""
import argparse
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

import chains

parser = argparse.ArgumentParser()
for name in ("compiler", "nm", "program", "include"):
    parser.add_argument("--" + name, type=pathlib.Path, required=True)
parser.add_argument("sources", nargs="+", type=pathlib.Path)
args = parser.parse_args()
# Headers of which three have a mistake: "late" lacks an include of "base", which "top" makes up for; "own" has the
# include behind its own text, and "sometimes" behind a condition.
HEADERS = {
    "base": "using number = int;",
    "middle": '#include "mbirk/base.hpp"\ninline number middle() { return 1; }',
    "late": "inline number late() { return 1; }",
    "own": 'inline number own() { return 1; }\n#include "mbirk/base.hpp"',
    "sometimes": '#if defined(NEVER)\n#include "mbirk/base.hpp"\n#endif\ninline number sometimes() { return 1; }',
    "compiled": '#include "mbirk/middle.hpp"\n#if defined(MBIRK_COMPILED)\n#include "mbirk/late.hpp"\n#endif',
    "top": '// All.\n#include "mbirk/compiled.hpp"\n#include "mbirk/late.hpp"\ninline int top() { return late(); }',
    "function": "inline int good() { return 1; }\nint not_inline() { return 1; }\nint const also_good = 1;",
    "variable": "int not_inline;\ninline int good;",
    "apart": '#include "mbirk/base.hpp"\ninline number apart() { return 1; }',
}
EXPECTED = [["base", "middle", "compiled"], ["late", "top"], ["own"], ["sometimes"], ["function"], ["variable"],
            ["apart"]]
failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)


def compiles(folder, headers):
    text = "".join(f"#include <mbirk/{name}.hpp>\n" * 2 for name in headers)
    command = [args.compiler, "-std=c++20", "-fsyntax-only", "-I", folder, "-x", "c++", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True).returncode == 0


def defined(path):
    """Functions and variables that no second source may define. The names of startup code begin with _, but not with
    _Z as those of C++ do."""
    symbols = subprocess.run([args.nm, "-g", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in symbols.splitlines() if line.split()[-2] in "TDBRGSC"]
    return [name for name in names if not re.match("_(?!Z)", name) and name not in ("main", "data_start", "_Z6secondv")]


with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "mbirk").mkdir()
    for name, text in HEADERS.items():
        pathlib.Path(folder, "mbirk", f"{name}.hpp").write_text(f"#pragma once\n{text}\n")
    names = [f"mbirk/{name}.hpp" for name in HEADERS]
    made = [[re.sub("mbirk/|[.]hpp", "", name) for name in chain]
            for chain in chains.chains(names, chains.Order(pathlib.Path(folder)))]
    expect(sorted(made) == sorted(EXPECTED), f"chains are {made}, expected {EXPECTED}")
    # A chain compiles exactly if each of its headers compiles alone.
    for chain in made:
        alone = all(compiles(folder, [name]) for name in chain)
        expect(compiles(folder, chain) == alone, f"the chain {chain}: expected to compile: {alone}")
    wrong = [name for name in HEADERS if not compiles(folder, [name])]
    for name, expected in {"function": ["_Z10not_inlinev"], "variable": ["not_inline"], "middle": []}.items():
        output = pathlib.Path(folder, f"{name}.o")
        command = [args.compiler, "-std=c++20", "-c", "-I", folder, "-x", "c++", "-", "-o", output]
        subprocess.run(command, input=f"#include <mbirk/{name}.hpp>\n", text=True, check=True)
        expect(defined(output) == expected, f"{name} defines {defined(output)}, expected {expected}")
    expect(wrong == ["late", "own", "sometimes"], f"these do not compile alone: {wrong}")

order = chains.Order(args.include)
for source in args.sources:
    chain = re.findall("#include <(.*)>", source.read_text())[::2]
    for earlier, later in itertools.pairwise(chain):
        expect(order.may_follow(later, earlier),
               f"{source}: {later} no longer includes all of {earlier}: configure again for other chains")
expect(not (names := defined(args.program)), f"headers define without inline: {names}")
print(f"{len(args.sources)} chains")
print(*failures, sep="\n")
sys.exit(bool(failures))

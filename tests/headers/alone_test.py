"""Every header compiles as if alone.

clang compiles all headers as one module in which each header is a submodule: it sees only what it includes itself,
directly or through others, but is read once, not again for every header that includes it. Headers of other packages
are submodules of a second module. Those of the standard library are one submodule, in which the first that is included
makes all of them visible; std_includes_test.py finds those that are missing. Headers with text for one compiler are
also compiled alone by that of the build, and so is every header where there is no clang.

A header that defines a function or a variable without `inline` gives the program of headers a symbol, which is found
here too.

Exit code: 0 when all hold, 1 when not."""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
for name in ("compiler", "nm", "include", "program"):
    parser.add_argument("--" + name, type=pathlib.Path, required=True)
parser.add_argument("--clang", type=pathlib.Path, help="without it, --compiler compiles every header alone")
parser.add_argument("--flags", type=pathlib.Path, required=True, help="file with one compiler flag per line")
parser.add_argument("headers", nargs="+", help="relative to --include")
args = parser.parse_args()
# Headers of which four have a mistake: "late" lacks an include of "base", which "top" makes up for; "own" has the
# include behind its own text, and "sometimes" behind a condition; "package" lacks that of a package.
PLANTED = {
    "base": "using number = int;",
    "middle": '#include "mbirk/base.hpp"\ninline number middle() { return 1; }',
    "late": "inline number late() { return 1; }",
    "own": 'inline number own() { return 1; }\n#include "mbirk/base.hpp"',
    "sometimes": '#if defined(NEVER)\n#include "mbirk/base.hpp"\n#endif\ninline number sometimes() { return 1; }',
    "library": "#include <vector>\ninline std::vector<int> library() { return {}; }",
    "opens": "#include <fcntl.h>\n#include <vector>\ninline int opens() { return ::open(\"\", O_RDONLY); }",
    "package": "#include <vector>\ninline int package() { return ::open(\"\", O_RDONLY); }",
    "top": '#include "mbirk/middle.hpp"\n#include "mbirk/late.hpp"\ninline int top() { return late(); }',
    "function": "inline int good() { return 1; }\nint not_inline() { return 1; }\nint const also_good = 1;",
    "variable": "int no_inline;\ninline int well;",
}
failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)


def run(command, text=""):
    return subprocess.run(command, input=text, capture_output=True, text=True)


def folders_searched(flags=()):
    """The folders that clang searches, but for that of its own headers, such as stddef.h, which may be read several
    times and so belong to no module."""
    own = run([args.clang, "-print-resource-dir"]).stdout.strip()
    said = run([args.clang, *flags, "-E", "-v", "-x", "c++", "-"]).stderr
    listed = said.partition("search starts here:")[2].rpartition("End of search list")[0].splitlines()
    return [pathlib.Path(line.strip()) for line in listed if line.startswith(" ") and not line.strip().startswith(own)]


def flags_of_build():
    """Without this library's folder, and without those that the compilers search by themselves: -isystem would move
    them to the front."""
    left_out = {args.include.resolve(), pathlib.Path("/usr/include"), pathlib.Path("/usr/local/include")}
    if args.clang:
        left_out |= {folder.resolve() for folder in folders_searched()}
    return [flag for flag in args.flags.read_text().splitlines()
            if flag and not (flag.startswith("-isystem") and pathlib.Path(flag[8:]).resolve() in left_out)]


def module_map(include, headers, flags):
    ours, others = [], set()
    for header in headers:
        text = (include / header).read_text()
        ours.append(f'  explicit module {re.sub("[^a-z0-9]", "_", header)} {{ header "{include / header}" export * }}')
        others |= set(re.findall(r"^\s*#\s*include <((?!mbirk/)[^>]+)>", text, re.M))
    folders = folders_searched(flags)
    groups = collections.defaultdict(list)  # headers of a folder, which include the same ones, belong together
    for name in sorted(others):
        group = "standard" if "." not in name and "/" not in name else name.partition("/")[0]
        groups[group] += [f'header "{folder / name}"' for folder in folders if (folder / name).exists()][:1]
    assert ours and groups["standard"], "no headers"
    modules = [f'  explicit module {re.sub("[^A-Za-z0-9]", "_", group)} {{ {" ".join(listed)} export * }}'
               for group, listed in groups.items() if listed]
    return "\n".join(["module mbirk {", *ours, "}", "module others [system] {", *modules, "}", ""])


def alone_by_compiler(include, header, flags):
    """Its first error, or nothing."""
    done = run([args.compiler, "-std=c++20", "-fsyntax-only", "-I", include, *flags, "-x", "c++", "-"],
               f"#include <{header}>\n")
    return [(header, (re.findall("error: (.*)", done.stderr) or [done.stderr])[0])] if done.returncode else []


def errors_alone(include, headers, flags):
    """Pairs of headers and errors in them. What is an error of none is a failure of this test."""
    for_one_compiler = [name for name in headers if re.search("__clang__|__GNUC__", (include / name).read_text())]
    found = [error for name in (for_one_compiler if args.clang else headers)
             for error in alone_by_compiler(include, name, flags)]
    if not args.clang:
        return found
    with tempfile.TemporaryDirectory() as folder:
        modules = pathlib.Path(folder, "all.modulemap")
        modules.write_text(module_map(include, headers, flags))
        command = [args.clang, "-std=c++20", "-fmodules", "-fcxx-modules", f"-fmodules-cache-path={folder}/cache",
                   "-Xclang", "-fmodules-local-submodule-visibility", "-fno-implicit-module-maps",
                   f"-fmodule-map-file={modules}", "-I", include, *flags, "-ferror-limit=0", "-fsyntax-only", "-x",
                   "c++", "-"]
        done = run(command, f"#include <{headers[0]}>\n")
        said = re.findall(rf"^{re.escape(str(include))}/(\S+?):\d+:\d+: (?:fatal )?error: (.*)", done.stderr, re.M)
        made = bool(list(pathlib.Path(folder, "cache").glob("*/mbirk-*.pcm")))
        expect("module 'others'" not in done.stderr, f"clang cannot compile the packages:\n{done.stderr}")
        expect(made == (done.returncode == 0) and made != bool(said), f"clang: {done.returncode}\n{done.stderr}")
        return found + said


def defined(path):
    """Functions and variables that no second source may define. The names of startup code begin with _, but not with
    _Z as those of C++ do."""
    symbols = subprocess.run([args.nm, "-g", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in symbols.splitlines() if line.split()[-2] in "TDBRGSC"]
    return [name for name in names if not re.match("_(?!Z)", name) and name not in ("main", "data_start", "_Z6secondv")]


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder).resolve()
    (folder / "mbirk").mkdir()
    for name, text in PLANTED.items():
        (folder / f"mbirk/{name}.hpp").write_text(f"#pragma once\n{text}\n")
    planted = [f"mbirk/{name}.hpp" for name in PLANTED]
    wrong = sorted({re.sub("mbirk/|[.]hpp", "", name) for name, _ in errors_alone(folder, planted, [])})
    expect(wrong == ["late", "own", "package", "sometimes"], f"these do not compile alone: {wrong}")
    for name, expected in {"function": ["_Z10not_inlinev"], "variable": ["no_inline"], "middle": []}.items():
        output = folder / f"{name}.o"
        command = [args.compiler, "-std=c++20", "-c", "-I", folder, "-x", "c++", "-", "-o", output]
        subprocess.run(command, input=f"#include <mbirk/{name}.hpp>\n", text=True, check=True)
        expect(defined(output) == expected, f"{name} defines {defined(output)}, expected {expected}")

for name, error in errors_alone(args.include, args.headers, flags_of_build()):
    failures.append(f"{name} does not compile alone: {error}")
expect(not (names := defined(args.program)), f"headers define without inline: {names}")
print(f"{len(args.headers)} headers")
print(*failures, sep="\n")
sys.exit(bool(failures))

#!/usr/bin/env python3
"""commands.py --program MBIRK [--make-scan FILE] [--compiler CXX] [DOCUMENT ...]: runs what README.md and docs/ tell readers to run.

Every block of code says its language, and above it stands what is done with it, which no page shows:

    sh          <!-- run -->, or with what is shorter here: <!-- run, "--sizes 64,128" as "--sizes 8" -->
                <!-- not run: why -->
    cpp         <!-- example ...: begin -->, which examples/check_document.cmake compares with a program that runs;
                <!-- file: PATH --> and <!-- edit: PATH after: TEXT -->, which overlay.py explains: a test makes an
                overlay;
                <!-- compile -->: compiled after snippets.hpp, where its names are declared; <!-- not compiled: why -->
    cmake,      <!-- not run: what runs it instead -->
    python
    text, json  nothing: neither is run

The blocks of a document run in order, by `bash -eu`, in a folder of its own that looks like the root of the project,
with the program on the PATH.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
markers = {
    "sh": r'run(, "[^"]+" as "[^"]*")*|not run: .+',
    "cpp": r"compile|not compiled: .+|example( \w+)?: begin|(file|edit): .+",
    "cmake": r"not run: .+|(file|edit): .+",
    "python": r"not run: .+|example( \w+)?: begin|(file|edit): .+",
}
overlays = {"adding_an_operation.md", "adding_a_policy.md", "adding_a_geometry.md"}
languages = {*markers, "text", "json", "{toctree}", "{include} ../CHANGELOG.md"}


class Block:
    def __init__(self, document, line, language, marker, text):
        self.document, self.line, self.language, self.marker, self.text = document, line, language, marker, text

    def where(self):
        return f"{self.document.relative_to(root)}:{self.line}"


def blocks_of(document, errors):
    """The fenced blocks, with the comment before each; blocks without the required mark are added to errors."""
    found, fence, before, blank = [], None, "", True
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        if fence is None and line.startswith("```"):
            marker = re.fullmatch(r"<!-- (.*) -->", before)
            fence = Block(document, number, line[3:].strip(), marker[1] if marker else "", "")
        elif fence is not None and line.startswith("```"):
            found.append(fence)
            expected = markers.get(fence.language)
            if fence.language not in languages:
                errors.append(f"{fence.where()}: a block in '{fence.language}', "
                              f"expected one of {', '.join(sorted(languages))}")
            elif expected and not re.fullmatch(expected, fence.marker):
                errors.append(f"{fence.where()}: no marker before this block that says what is done with it, "
                              f"expected <!-- {expected} -->")
            fence = None
        elif fence is not None:
            fence.text += line + "\n"
        elif blank and line.startswith("    "):
            errors.append(f"{document.relative_to(root)}:{number}: code by indentation, expected a fence, "
                          "which says its language")
        before, blank = line, not line.strip()
    if fence is not None:
        errors.append(f"{fence.where()}: this block does not end")
    return found


def script_of(block, errors):
    text = block.text
    for old, new in re.findall(r'"([^"]+)" as "([^"]*)"', block.marker):
        if old not in text:
            errors.append(f"{block.where()}: the marker replaces '{old}', which is not there")
        text = text.replace(old, new)
    return text


def make_root(folder, options):
    """Links to files in the project's root, and the programs at their place in a build."""
    for entry in root.iterdir():
        if entry.name not in ("build", "output", ".git"):
            (folder / entry.name).symlink_to(entry)
    for path, program in (("build/release/bench/mbirk/mbirk", options.program),
                          ("build/release/examples/example_make_scan", options.make_scan)):
        if program:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).symlink_to(pathlib.Path(program).resolve())


def run_blocks(blocks, options, errors):
    """Runs in a folder for this document; the first failure stops the document."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mbirk-docs-"))
    try:
        make_root(folder, options)
        environment = dict(
            os.environ,
            PATH=f"{folder}/build/release/bench/mbirk:{folder}/build/release/examples:{os.environ['PATH']}")
        for block in blocks:
            begin = time.monotonic()
            done = subprocess.run(["bash", "-eu", "-c", script_of(block, errors)], cwd=folder, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace")
            print(f"{time.monotonic() - begin:6.1f} s  {block.where()}", flush=True)
            if done.returncode:
                errors.append(f"{block.where()}: exit code {done.returncode}\n{done.stdout[-2000:]}")
                return
    finally:
        shutil.rmtree(folder)


def compile_blocks(blocks, options, errors):
    """Wraps each block in a function body, all in one translation unit; #include lines stay outside."""
    begin, text = time.monotonic(), ""
    for block in blocks:
        body = "".join("\n" if line.startswith("#include") else line + "\n" for line in block.text.splitlines())
        includes = "".join(line + "\n" for line in block.text.splitlines() if line.startswith("#include"))
        name = re.sub(r"\W", "_", block.where())
        text += (f'{includes}struct block_{name} : names {{ void run() {{\n'
                 f'#line {block.line + 1} "{block.document}"\n{body}}} }};\n')
    done = subprocess.run([*shlex.split(options.compiler), "-std=c++20", "-fsyntax-only", "-I", str(root / "include"),
                           "-include", str(here / "snippets.hpp"), "-x", "c++", "-"],
                          input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(f"{time.monotonic() - begin:6.1f} s  compiled: {', '.join(b.where() for b in blocks)}")
    if done.returncode:
        errors.append(f"blocks that do not compile:\n{done.stdout[:4000]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--make-scan",
                        help="the example of that name, which needs HDF5; without it blocks that call it are skipped")
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("documents", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    documents = ([d.resolve() for d in options.documents]
                 or [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))])

    errors, snippets, counts = [], [], {"run": 0, "compiled": 0, "examples": 0, "not run": []}
    for document in documents:
        runnable = []
        for block in blocks_of(document, errors):
            if re.match("run", block.marker) and block.language == "sh":
                runnable.append(block)
            elif block.marker == "compile":
                snippets.append(block)
            elif block.marker.startswith(("example", "file", "edit")):
                counts["examples"] += 1
                name = re.match(r"example (\w+):", block.marker)
                tested = name[1] if name else f"{document.relative_to(root)}:"
                if block.marker.startswith("example") and tested not in (root / "examples/CMakeLists.txt").read_text():
                    errors.append(f"{block.where()}: examples/CMakeLists.txt does not compare this block with an "
                                  "example")
                if block.marker.startswith(("file", "edit")) and document.name not in overlays:
                    errors.append(f"{block.where()}: no test of tests/docs makes an overlay of this document")
            elif block.marker.startswith("not ") and block.language in markers:
                counts["not run"].append(block)
        if not options.make_scan and any("make_scan" in b.text for b in runnable):
            print(f"  skipped  {document.relative_to(root)}: example_make_scan was not built")
            continue
        run_blocks(runnable, options, errors)
        counts["run"] += len(runnable)
    if snippets:
        compile_blocks(snippets, options, errors)
        counts["compiled"] = len(snippets)

    for block in counts["not run"]:
        print(f"  left out {block.where()}: {block.marker}")
    print(f"{counts['run']} blocks run, {counts['compiled']} compiled, {counts['examples']} of examples and other "
          f"tests, {len(counts['not run'])} left out")
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

"""What a document tells its readers to write, as files in a folder that compilers search before the project.

A block of a document is a new file of the project, or some lines of an existing one, by the comment before it:

    <!-- file: PATH -->
    <!-- edit: PATH after: TEXT -->       the lines come after the only line that contains TEXT,
    <!-- edit: PATH before: TEXT -->      before it,
    <!-- edit: PATH replace: TEXT -->     or instead of it
"""
import pathlib
import re
import shutil
import subprocess

root = pathlib.Path(__file__).resolve().parent.parent.parent
block = re.compile(r"^<!-- (file|edit): (\S+)(?: (after|before|replace): (.+?))? -->\n```\w+\n(.*?)^```$", re.M | re.S)


def empty_folder(path):
    """Always at the same place, so that ccache finds what it has kept."""
    shutil.rmtree(path, ignore_errors=True)
    folder = pathlib.Path(path)
    folder.mkdir(parents=True)
    return folder


class Overlay:
    """created and edited: the paths of the document's files, relative to the project; both lie in folder."""

    def __init__(self, document, folder):
        self.folder, self.created, self.edited = pathlib.Path(folder), [], []
        for kind, path, place, text, lines in block.findall((root / document).read_text(encoding="utf-8")):
            if (kind == "edit") != bool(place):
                raise ValueError(f"{document}: {kind}: {path} {place}, expected file: PATH or edit: PATH after: TEXT")
            copy = self.folder / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            if kind == "file":
                if copy.exists() or (root / path).exists():
                    raise ValueError(f"{document}: {path} exists already, expected a new file")
                self.created.append(path)
                copy.write_text(lines, encoding="utf-8")
                continue
            if path not in self.edited:
                self.edited.append(path)
                copy.write_bytes((root / path).read_bytes())
            old = copy.read_text(encoding="utf-8").splitlines(keepends=True)
            found = [k for k, line in enumerate(old) if text in line]
            if len(found) != 1:
                raise ValueError(f"{document}: {len(found)} lines of {path} contain '{text}', expected one")
            begin = found[0] + (place == "after")
            old[begin:found[0] + (place != "before")] = [lines]
            copy.write_text("".join(old), encoding="utf-8")

    def touched(self):
        return self.created + self.edited

    def includes(self):
        """Options of a compiler that searches the folder before the project."""
        folders = ("include", "tests", "bench/mbirk", "src", ".")
        return [f"-I{base / below}" for below in folders for base in (self.folder, root)]

    def compile(self, compiler, sources, program, libraries=()):
        """Compiles the sources, whose paths are relative to the project, as one, because reading the headers is half of
        the time, and links; raises an error when the compiler does."""
        together, object_file = self.folder / f"{program}.cpp", self.folder / f"{program}.o"
        together.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
        warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-Wno-array-bounds"]
        # as two commands: ccache keeps no results of one that links
        subprocess.run([*compiler, "-std=c++20", *warnings, *self.includes(), "-c", str(together), "-o",
                        str(object_file)], check=True)
        subprocess.run([*compiler, str(object_file), "-o", str(self.folder / program), *map(str, libraries),
                        "-pthread"], check=True)
        return self.folder / program

"""The page of the Python functions, from their sources: signatures and docstrings of python/mbirk, and of what it takes
from the compiled module, whose docstrings are in python/src. So the site needs neither the module nor a compiler.

    python3 docs/python_api.py      # prints the page in Markdown
"""

from __future__ import annotations

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "mbirk"
MARKER = "<!-- reference -->"
CLASSES = (
    "TomographyModel",
    "ParallelBeamModel",
    "ConeBeamModel",
    "MultiAxisParallelModel",
    "GeneralViewsModel",
    "TranslationModel",
    "QGGMRFDenoiser",
    "MACE4DModel",
    "Device",
    "DeviceArray",
)
SECTIONS = {
    "Functions": "__init__",
    "mbirk.preprocess": "preprocess",
    "mbirk.preprocess.nsi": "preprocess.nsi",
    "mbirk.preprocess.zeiss": "preprocess.zeiss",
    "mbirk.preprocess.pymbir": "preprocess.pymbir",
    "mbirk.jax": "jax",
    "mbirk.torch": "torch",
    "mbirk.profile": "profile",
}
Entry = tuple[str, str]  # the signature without the name, the docstring


def _arguments(text: str, start: int) -> list[str]:
    """The arguments of the C++ call whose bracket is at `start`, split where no bracket is open."""
    parts, depth, begin, k = [], 0, start + 1, start
    while True:
        c = text[k]
        if c == '"':
            k += 1
            while text[k] != '"':
                k += 2 if text[k] == "\\" else 1
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return [*parts, text[begin:k].strip()]
        elif c == "," and depth == 1:
            parts.append(text[begin:k].strip())
            begin = k + 1
        k += 1


def _text(argument: str) -> str | None:
    """The value of adjacent C++ string literals; None for anything else."""
    if not re.fullmatch(r'(?:"(?:[^"\\]|\\.)*"\s*)+', argument):
        return None
    return "".join(ast.literal_eval(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', argument))


def _compiled_signature(arguments: list[str]) -> str:
    names = []
    for argument in arguments:
        named = re.match(r'"(\w+)"_a(?:\.none\(\))?(?:\s*=\s*(.*))?$', argument, re.S)
        if named:
            value = {"nb::none()": "None", "true": "True", "false": "False"}.get(named[2], named[2])
            if value and not re.fullmatch(r'[-+\w."]+', value):
                value = "..."
            names.append(named[1] + (f"={value}" if value else ""))
        elif argument == "nb::kw_only()":
            names.append("*")
    return f"({', '.join(names)})"


def compiled() -> dict[str, Entry]:
    """What the compiled module defines, by name; a method and a function of one name are the same operation."""
    found: dict[str, Entry] = {}
    for path in sorted((ROOT / "python" / "src").glob("*.?pp")):
        source, shared = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M), ""
        for call in re.finditer(r"(?:\.def(?:_prop_ro|_ro)?|bind_partition|class_<\w+>)\s*(?=\()", source):
            arguments, kind = _arguments(source, call.end()), call[0].strip()
            if not kind.startswith(".def"):
                del arguments[0]  # the module
            if len(arguments) < 2:
                continue
            name, doc = _text(arguments[0]), _text(arguments[-1])
            if name is None and arguments[0] == "name.c_str()":
                name = f"direct_{arguments[1]}"
            elif arguments[0] == "name":
                shared = _compiled_signature(arguments[1:])  # of a function that defines several of one kind
            if not name or not doc or name.startswith("_"):
                continue
            signature = {"bind_partition": shared, ".def": _compiled_signature(arguments[1:-1])}.get(kind, "")
            found.setdefault(name, (signature, doc))
    return found


def _file(module: str) -> pathlib.Path:
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _signature(node: ast.FunctionDef, first: int = 0) -> str:
    """The signature, one argument per line when it is long; `first`: leaves out self."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)

    def shown(argument: ast.arg, default: ast.expr | None) -> str:
        text = argument.arg + (f": {ast.unparse(argument.annotation)}" if argument.annotation else "")
        return text if default is None else f"{text} = {ast.unparse(default)}"

    parts = [shown(a, d) for a, d in zip(positional, defaults)][first:]
    if arguments.vararg:
        parts.append(f"*{shown(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [shown(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        parts.append(f"**{shown(arguments.kwarg, None)}")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and ast.unparse(node.returns) != "None" else ""
    line = f"({', '.join(parts)}){returns}"
    if len(line) + len(node.name) <= 90:
        return line
    return "(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def _prose(doc: str) -> str:
    """A docstring as Markdown: its paragraphs, with nothing taken as HTML or as a link."""
    lines = [line.strip() for line in doc.strip().splitlines()]
    text = re.sub(r"`[^`]*`|[<\[*]", lambda m: m[0] if m[0].startswith("`") else f"\\{m[0]}", "\n".join(lines))
    return re.sub(r"^([-#>])", r"\\\1", text, flags=re.M)


def _item(level: int, name: str, signature: str, doc: str) -> list[str]:
    call = ["```python", f"{name}{signature}", "```", ""] if signature else []
    return [f"{'#' * level} {name}", "", *call, _prose(doc), ""]


def _class(tree: ast.Module, name: str, known: dict[str, Entry]) -> list[str]:
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    node = classes[name]
    # Classes that the host and devices share have the methods of a model.
    shared = [classes[b.id] for b in node.bases if isinstance(b, ast.Name) and b.id.endswith("Methods")]
    methods = {n.name: n for c in (*shared, node) for n in c.body if isinstance(n, ast.FunctionDef)}
    constructor = methods.pop("__init__", None)
    doc = ast.get_docstring(node) or ""
    if constructor is not None:
        doc += "\n\n" + (ast.get_docstring(constructor) or "")
    lines = _item(3, name, _signature(constructor, 1) if constructor else "", doc)
    for method in methods.values():
        if not method.name.startswith("_"):
            decorators = [ast.unparse(d) for d in method.decorator_list]
            described = ast.get_docstring(method) or known.get(method.name, ("", ""))[1]
            signature = "" if "property" in decorators else _signature(method, 0 if "staticmethod" in decorators else 1)
            lines += _item(4, method.name, signature, described)
    return lines


def reference() -> str:
    """The page after its introduction."""
    known = compiled()
    trees = {path: ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}
    functions = {}
    for path, tree in trees.items():
        functions |= {(path, n.name): n for n in tree.body if isinstance(n, ast.FunctionDef)}
    by_name = {name: node for (_, name), node in functions.items() if ast.get_docstring(node)}
    aliases = {
        ast.unparse(n.targets[0]): n.value.id
        for tree in trees.values()
        for n in tree.body
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Name)
    }
    lines = ["## Models", ""]
    for name in CLASSES:
        tree = next(t for t in trees.values() if any(isinstance(n, ast.ClassDef) and n.name == name for n in t.body))
        lines += _class(tree, name, known)
        if name == "TomographyModel":
            parameters = next(t for p, t in trees.items() if p.name == "_parameters.py")
            own = _class(parameters, "ModelParameters", known)
            lines += own[own.index("#### " + next(x[5:] for x in own if x.startswith("#### "))) :]
            written = set(re.findall(r"^#### (\w+)", "\n".join(lines), re.M))
            in_beam = set(re.findall(r'\.def(?:_prop_ro)?\(\s*"(\w+)"', (ROOT / "python/src/beam.hpp").read_text()))
            for method in sorted(in_beam - written):
                if method in known and not method.startswith("_"):
                    lines += _item(4, method, *known[method])
    for title, module in SECTIONS.items():
        tree = ast.parse(_file(module).read_text())
        exported = next(
            (
                ast.literal_eval(n.value)
                for n in tree.body
                if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"
            ),
            [n.name for n in tree.body if isinstance(n, ast.FunctionDef)],
        )
        lines += [f"## {title}", ""]
        if module != "__init__":
            lines += [_prose(ast.get_docstring(tree) or ""), ""]
        for name in exported:
            node = functions.get((_file(module), name)) or by_name.get(name)
            if name in CLASSES or name.startswith("_"):
                continue
            if node is not None:
                lines += _item(3, name, _signature(node), ast.get_docstring(node) or "")
            elif name in known:
                lines += _item(3, name, *known[name])
            elif name in aliases:
                lines += _item(3, name, "", f"Another name of `{aliases[name]}`.")
    return "\n".join(lines)


if __name__ == "__main__":
    print(reference())

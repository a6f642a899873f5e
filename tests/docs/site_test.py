#!/usr/bin/env python3
"""site_test.py [PICTURE.png]: the site of ./mbirk.sh docs is made without a warning, every page is reached from the
first, a link to nothing is a mistake, nothing is taken from a network, and the search finds things, also without a
server.

The last two are seen in headless Chromium, with a picture if asked for, where there is one; without it, by the text of
the files. Exit code 0 fine, 1 not, 77 where Sphinx or its reader of Markdown is missing.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
wrong = []


def expect(ok, what):
    if not ok:
        wrong.append(what)
        print("WRONG:", what)


def build(source, target):
    """Builds the site by the command that this reads from ./mbirk.sh docs."""
    line = re.search(r"^ *(sphinx-build .*) docs build/site ", (root / "mbirk.sh").read_text(), re.M)[1]
    words = [w.replace("build/site-pages", str(target) + "-pages") for w in line.split()]
    return subprocess.run([*words, str(source), str(target)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


def check_mistakes(folder):
    """Strict mode works: each of these problems alone must fail."""
    copy = folder / "project"
    copy.mkdir()
    for name in ("CMakeLists.txt", "CHANGELOG.md"):
        shutil.copy(root / name, copy)
    (copy / "docs").mkdir()
    for name in ("conf.py", "site.css", "search_excerpts.js"):
        shutil.copy(root / "docs" / name, copy / "docs")
    page = "# One page\n\n## A heading\n\n[itself](#a-heading)\n"
    for text, name in ((page, ""), (page + "[none](nowhere.md)\n", "nowhere.md"),
                       (page + "[none](index.md#no-heading)\n", "no-heading"),
                       (page + "![none](nowhere.png)\n", "nowhere.png"),
                       (page + "```{toctree}\nnowhere\n```\n", "nowhere")):
        (copy / "docs/index.md").write_text(text)
        done = build(copy / "docs", folder / "mistakes")
        expect((done.returncode == 0) == (not name) and name in done.stdout,
               f"a page with '{name}' ends with {done.returncode}:\n{done.stdout}")


def check_pages(site):
    pages = {p.relative_to(site).as_posix() for p in site.rglob("*.html")}
    for source in (root / "docs").rglob("*.md"):
        expect(source.relative_to(root / "docs").with_suffix(".html").as_posix() in pages, f"{source.name} has no page")
    for path in site.rglob("*"):
        expect(path.exists(), f"{path} is a link to nothing")
        if path.suffix in (".html", ".css"):
            taken = re.findall(r"""(?:\ssrc=|<link[^>]*\shref=|url\(|@import )["']?((?:https?:)?//[^"') ]+)""",
                               path.read_text(encoding="utf-8"))
            expect(not taken, f"{path.relative_to(site)} takes {taken} from a network")
    exported = re.search(r"__all__ = \[(.*?)\]", (root / "python/mbirk/__init__.py").read_text(), re.S)[1]
    reference = (site / "python_api.html").read_text(encoding="utf-8")
    for name in re.findall(r'"(\w+)"', exported):
        expect(name in ("__version__", "preprocess") or f">{name}<a class" in reference,
               f"the reference of the Python functions lacks {name}")
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    expect("det_channel_offset" in index and "hessian_diagonal" in index,
           "the index of the search lacks names of parameters and operations")


def check_browser(site, picture):
    sys.path.insert(0, str(root / "tests/check"))
    from watched import Watcher
    try:
        browser = Watcher(1400, 1000)
    except RuntimeError as e:
        print(f"not opened in a browser: {e}")
        return
    with browser as b:
        b.goto(f"file://{site}/search.html?q=det_channel_offset")
        found = b.wait("document.querySelectorAll('#search-results li a').length > 2", 20)
        expect(found, "the search finds nothing in a page that is opened as a file")
        excerpts = b.wait("document.querySelectorAll('#search-results li .context').length > 2", 20)
        expect(excerpts, "the search does not show where the word occurs")
        # Results appear one after the other.
        b.wait("Array.from(document.querySelectorAll('#search-results li a')).some(a => a.href.includes('faq.html'))",
               20)
        links = b.js("Array.from(document.querySelectorAll('#search-results li a')).map(a => a.href)")
        expect(any("faq.html" in x for x in links), f"the search does not find the page of questions: {links}")
        b.goto(f"file://{site}/faq.html")
        expect(b.wait("document.readyState === 'complete' && document.images.length > 5", 20),
               "the page of questions did not appear")
        expect(b.js("Array.from(document.images).every(i => i.naturalWidth > 0)"), "a picture does not show")
        if picture:
            b.screenshot(picture)
        complaints = b.complaints(lambda r: r.startswith(("file://", "data:", "about:")))
        expect(not complaints, f"the pages complain: {complaints}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?", help="a file, for a picture of the page of questions")
    options = parser.parse_args()
    if not shutil.which("sphinx-build"):
        print("sphinx-build was not found (Debian: python3-sphinx)")
        return 77
    with tempfile.TemporaryDirectory(prefix="mbirk-site-") as name:
        folder = pathlib.Path(name)
        done = build(root / "docs", folder / "site")
        if "Could not import extension myst_parser" in done.stdout:
            print("myst_parser was not found (Debian: python3-myst-parser)")
            return 77
        expect(done.returncode == 0, done.stdout)
        if not wrong:
            check_pages(folder / "site")
            check_browser(folder / "site", options.picture)
            check_mistakes(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

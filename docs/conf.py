# The documents as a site: ./mbirk.sh docs. Nothing in it comes from a network, and its search works on local files
# (file://).
import json
import pathlib
import re

project = "mbirk"
version = release = re.search(r"project\(mbirk VERSION (\S+)",
                              (pathlib.Path(__file__).parents[1] / "CMakeLists.txt").read_text()).group(1)
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["images"]
myst_heading_anchors = 3  # links to headings, as they work where the sources are shown
highlight_language = "text"
nitpicky = True

html_theme = "alabaster"
html_theme_options = {
    "description": "Model-based iterative reconstruction for tomography, in C++20 and CUDA",
    "fixed_sidebar": False,
    "page_width": "1280px",
    "sidebar_width": "230px",
    "body_max_width": "none",
    "font_family": "system-ui, sans-serif",
    "show_powered_by": False,
    "font_size": "15px",
}
html_static_path = ["site.css", "search_excerpts.js"]
html_css_files = ["site.css"]
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_copy_source = html_show_sourcelink = html_show_copyright = False
html_use_index = False
html_show_search_summary = False  # it fetches the pages, which files may not; search_excerpts.js does it without

# Parts of a file, such as a line of a list in CMake, are no whole statements.
suppress_warnings = ["misc.highlighting_failure"]


def add_reference(app, name, source):
    """Fills in the page of the Python functions."""
    if name == "python_api":
        import sys

        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        import python_api

        source[0] = source[0].replace(python_api.MARKER, python_api.reference())


page_texts = {}


def keep_text(app, document, name):
    page_texts[name] = document.astext()


def add_excerpts(app, name, template, context, document):
    """The page of the search gets the texts of all pages, so that it can show where a word occurs."""
    if name == "search":
        app.add_js_file("page_texts.js")
        app.add_js_file("search_excerpts.js")


def write_texts(app, exception):
    if exception is None and app.builder.name == "html":
        script = f"const page_texts = {json.dumps(page_texts, ensure_ascii=False)};\n"
        (pathlib.Path(app.outdir) / "_static/page_texts.js").write_text(script, encoding="utf-8")


def setup(app):
    app.connect("source-read", add_reference)
    app.connect("doctree-resolved", keep_text)
    app.connect("html-page-context", add_excerpts)
    app.connect("build-finished", write_texts)
    return {"parallel_read_safe": True}

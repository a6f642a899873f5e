# The documents as a site: ./mbirk.sh docs. Nothing in it comes from a network, and its search works on local files
# (file://).
import pathlib
import re

project = "mbirk"
version = release = re.search(r"project\(mbirk VERSION (\S+)", (pathlib.Path(__file__).parents[1] / "CMakeLists.txt").read_text()).group(1)
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
html_static_path = html_css_files = ["site.css"]
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_copy_source = html_show_sourcelink = html_show_copyright = False
html_use_index = False
html_show_search_summary = False  # it fetches the pages, which files may not

# Parts of a file, such as a line of a list in CMake, are no whole statements.
suppress_warnings = ["misc.highlighting_failure"]


def add_reference(app, name, source):
    """Fills in the page of the Python functions."""
    if name == "python_api":
        import sys

        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        import python_api

        source[0] = source[0].replace(python_api.MARKER, python_api.reference())


def setup(app):
    app.connect("source-read", add_reference)
    return {"parallel_read_safe": True}

"""Opens pages in headless Chromium and collects requests and messages, for check_report.py, check_graph.py,
site_test.py."""
import argparse
import json
import os
import pathlib

from cdp import Browser


class Watcher(Browser):
    """A browser that stores every request and every line of the console."""

    def __init__(self, *args, **kwargs):
        self.requests, self.lines = [], []
        super().__init__(*args, **kwargs)
        for domain in ("Network", "Log"):
            self.call(domain + ".enable")

    def _read(self, deadline):
        m = super()._read(deadline)
        method = m.get("method")
        if method == "Network.requestWillBeSent":
            self.requests.append(m["params"]["request"]["url"])
        elif method == "Log.entryAdded":
            self.lines.append(m["params"]["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.lines.append(json.dumps(m["params"]["args"]))
        return m

    def complaints(self, allowed):
        """Console messages, and the requests that allowed(url) refuses."""
        return (["console: " + text for text in self.console + self.lines]
                + ["request: " + r for r in self.requests if not allowed(r)])


def scheme(dark):
    return "dark" if dark else "light"


def check(url, width, height, dark, use, picture=None):
    """Problems of a page: findings of use(browser, dark), sideways scrolling, console messages. Takes its picture
    before use."""
    with Watcher(width, height) as b:
        b.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme(dark)}])
        b.goto(url)
        b.wait("document.readyState === 'complete'", 30)
        wrong = use(b, dark)
        wide = b.js("document.documentElement.scrollWidth")
        if wide > width:
            wrong.append("the page is %d pixels wide" % wide)
        wrong += b.complaints(lambda r: r == url)
        if picture:
            b.goto(url)
            b.wait("document.readyState === 'complete'", 30)
            b.screenshot(picture)
    return ["%d pixels, %s: %s" % (width, scheme(dark), w) for w in wrong]


def main(doc, name, looks, height, use):
    """The command line of a check. looks: pairs of a width and whether it is dark. Returns the exit code."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("folder", nargs="?", help="for pictures, %s_<width>_<scheme>.png" % name)
    options = parser.parse_args()
    wrong = []
    for width, dark in looks:
        picture = os.path.join(options.folder, "%s_%d_%s.png" % (name, width, scheme(dark))) if options.folder else None
        try:
            wrong += check(options.page.resolve().as_uri(), width, height, dark, use, picture)
        except RuntimeError as e:
            if "no chromium" not in str(e):
                raise
            print("skipped: " + str(e))
            return 77
    print("\n".join(wrong) or "fine")
    return 1 if wrong else 0

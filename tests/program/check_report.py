"""Opens a report of mbirk profile in headless Chromium: check_report.py REPORT.html [FOLDER for pictures]

At 1400 and 400 pixels width, light and dark: no error on the console, no request but the page itself, no sideways scrolling of the page, and tables that
sort by a press on their headings. Exit code 0 fine, 1 not, 77 when there is no Chromium to open it with.
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "check"))
from cdp import Browser  # noqa: E402

SORTED = """(() => {
  const table = document.getElementById('t-rank'), th = table.tHead.rows[0].cells[2];
  const column = () => Array.from(table.tBodies[0].rows).map(r => Number(r.cells[2].getAttribute('data-v')));
  const up = a => a.every((x, i) => !i || a[i - 1] <= x), down = a => a.every((x, i) => !i || a[i - 1] >= x);
  th.firstChild.click();
  const one = th.getAttribute('aria-sort'), first = one === 'ascending' ? up(column()) : down(column());
  th.firstChild.click();
  const two = th.getAttribute('aria-sort'), second = two === 'ascending' ? up(column()) : down(column());
  return column().length > 0 && one !== two && first && second;
})()"""


class Watcher(Browser):
    """A browser that keeps every request and every line of the console."""

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


def check(url, width, dark, picture):
    wrong = []
    with Watcher(width, 1000) as b:
        b.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
        b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        b.goto(url)
        if not b.wait("document.readyState === 'complete' && !!document.querySelector('.answer')", 30):
            wrong.append("the page did not appear")
        b.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        wide = b.js("document.documentElement.scrollWidth")
        if wide > width:
            wrong.append("the page is %d pixels wide" % wide)
        if b.js("document.querySelector('.answer').getBoundingClientRect().top") > 300:
            wrong.append("the answer is not at the top")
        ink, paper = b.js("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
        brightness = [sum(map(int, c[c.index("(") + 1:-1].split(",")[:3])) for c in (ink, paper)]
        if (brightness[0] > brightness[1]) != dark:
            wrong.append("ink %s on %s in the %s scheme" % (ink, paper, "dark" if dark else "light"))
        if not b.js(SORTED):
            wrong.append("the ranking does not sort")
        wrong += ["console: " + text for text in b.console + b.lines]
        wrong += ["request: " + r for r in b.requests if r != url]
        if picture:
            b.js("document.querySelectorAll('details').forEach(d => { d.open = false; }), window.scrollTo(0, 0)")
            b.goto(url)
            b.wait("document.readyState === 'complete'", 30)
            b.screenshot(picture)
    return ["%d pixels, %s: %s" % (width, "dark" if dark else "light", w) for w in wrong]


def main():
    url = pathlib.Path(sys.argv[1]).resolve().as_uri()
    folder = sys.argv[2] if len(sys.argv) > 2 else None
    wrong = []
    for width in (1400, 400):
        for dark in (False, True):
            picture = os.path.join(folder, "report_%d_%s.png" % (width, "dark" if dark else "light")) if folder else None
            try:
                wrong += check(url, width, dark, picture)
            except RuntimeError as e:
                if "no chromium" not in str(e):
                    raise
                print("skipped: " + str(e))
                return 77
    print("\n".join(wrong) or "fine")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

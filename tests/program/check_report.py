"""Opens a report of mbirk profile in headless Chromium: check_report.py REPORT.html [FOLDER for pictures]

At 1400 and 400 pixels width, light and dark: no error on the console, no request but the page itself, no sideways
scrolling of the page, and tables that sort by a press on their headings. Exit code 0 fine, 1 not, 77 when there is no
Chromium to open it with.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "check"))
import watched  # noqa: E402

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


def use(b, dark):
    """Problems of a report found by opening and sorting it."""
    wrong = []
    if not b.wait("document.readyState === 'complete' && !!document.querySelector('.answer')", 30):
        wrong.append("the page did not appear")
    b.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    if b.js("document.querySelector('.answer').getBoundingClientRect().top") > 300:
        wrong.append("the answer is not at the top")
    ink, paper = b.js("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    brightness = [sum(map(int, c[c.index("(") + 1:-1].split(",")[:3])) for c in (ink, paper)]
    if (brightness[0] > brightness[1]) != dark:
        wrong.append("ink %s on %s in the %s scheme" % (ink, paper, watched.scheme(dark)))
    if not b.js(SORTED):
        wrong.append("the ranking does not sort")
    return wrong


if __name__ == "__main__":
    sys.exit(watched.main(__doc__, "report", [(width, dark) for width in (1400, 400) for dark in (False, True)], 1000,
                          use))

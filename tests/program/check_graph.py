"""Opens the page of a graph of several stages in headless Chromium: check_graph.py GRAPH.html [FOLDER for pictures]

At 1400 and 400 pixels width, light and dark: no error on the console, no request but the page itself, no sideways
scrolling, every array and stage drawn without boxes over each other, stages that open and close by keys, a search that
goes to what it finds, forms that can be chosen. Exit code 0 fine, 1 not, 77 when there is no Chromium to open it with.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "check"))
import watched  # noqa: E402

PRESS = ("(key => (document.activeElement || document.body).dispatchEvent("
         "new KeyboardEvent('keydown', {key: key, bubbles: true, cancelable: true})))('%s')")
OVERLAPS = """(() => {
  const all = Array.from(document.querySelectorAll('.box rect.body')).map(r => r.getBoundingClientRect()), found = [];
  all.forEach((a, i) => all.slice(i + 1).forEach(b => {
    const apart = a.left > b.right - 1 || b.left > a.right - 1 || a.top > b.bottom - 1 || b.top > a.bottom - 1;
    if (!apart) found.push([a.left, a.top, b.left, b.top].map(Math.round).join(' '));
  }));
  return found.join('; ');
})()"""
KEYS = "Array.from(document.querySelectorAll('.box')).map(b => b.getAttribute('data-key')).sort()"
SEARCH = ("(text => { const f = document.getElementById('find'); f.focus(); f.value = text; "
          "f.dispatchEvent(new Event('input')); })('%s')")
CHOSEN = "(() => { const b = document.querySelector('.box.on'); return b && b.getAttribute('data-key'); })()"
IN_SIGHT = """(() => {
  const b = document.querySelector('.box.on').getBoundingClientRect(), c = document.getElementById('canvas').getBoundingClientRect(), x = (b.left + b.right) / 2, y = (b.top + b.bottom) / 2;
  return x > c.left && x < c.right && y > c.top && y < c.bottom;
})()"""


def use(b, _):
    """Problems of a graph's page found by using it."""
    wrong = []

    def expect(ok, what):
        if not ok:
            wrong.append(what)

    forms = b.js("JSON.parse(document.getElementById('data').textContent)"
                 ".forms.map(f => ({form: f.form, array: f.arrays[0].name, arrays: f.arrays.length, "
                 "stages: f.stages.length}))")
    for k, form in enumerate(forms):
        b.js(PRESS % (k + 1))
        expected = sorted(["a%d" % i for i in range(form["arrays"])] + ["s%d" % i for i in range(form["stages"])])
        expect(b.js(KEYS) == expected, "%s: boxes %s, expected %s" % (form["form"], b.js(KEYS), expected))
        expect(b.js(OVERLAPS) == "", "%s: boxes lie over each other: %s" % (form["form"], b.js(OVERLAPS)))
        for stage in range(form["stages"]):
            b.js("document.querySelector('[data-key=s%d]').focus()" % stage)
            b.js(PRESS % "Enter")
            keys = b.js(KEYS)
            expect("t0" in keys and any(x[0] == "n" for x in keys),
                   "%s: stage %d does not open: %s" % (form["form"], stage, keys))
            expect(b.js(OVERLAPS) == "",
                   "%s, stage %d: boxes lie over each other: %s" % (form["form"], stage, b.js(OVERLAPS)))
            b.js(PRESS % "Escape")  # the detail of the focused box, if any
            b.js(PRESS % "Escape")
            expect(b.js(KEYS) == expected, "%s: Escape does not lead back from stage %d" % (form["form"], stage))
    b.js(SEARCH % forms[-1]["array"])
    b.js(PRESS % "Enter")
    expect(b.js(CHOSEN) == "a0" and b.js(IN_SIGHT), "a search for an array ends at %s" % b.js(CHOSEN))
    b.js(SEARCH % "floor")
    expect("found" in b.js("document.getElementById('found').textContent"), "floor is not found")
    b.js(PRESS % "Enter")
    expect((b.js(CHOSEN) or "?")[0] == "n" and b.js(IN_SIGHT), "a search for an operation ends at %s" % b.js(CHOSEN))
    expect("floor" in b.js("document.getElementById('detail').textContent"),
           "the detail of a box does not show its formula")
    b.js(SEARCH % "no such thing")
    expect(b.js("document.getElementById('found').textContent") == "nothing found", "found no such thing")
    b.js("document.getElementById('find').value = ''")
    b.js("document.getElementById('every').click()")
    expect(b.js(OVERLAPS) == "", "every operation a box: boxes lie over each other")
    b.js("document.getElementById('every').click()")
    return wrong


if __name__ == "__main__":
    sys.exit(watched.main(__doc__, "graph", [(1400, False), (400, True)], 900, use))

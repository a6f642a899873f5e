// The script of a graph's page, last part: detail of what is chosen, search, keys, zoom.
#pragma once

#include <string_view>

namespace mbirk::record::detail {

inline constexpr std::string_view graph_page_detail = R"js(
function go(key, text) {
  var b = make('button', {class: 'link'}, text);
  b.addEventListener('click', function () { visit(key); });
  return b;
}
function table(rows) {
  var cell = function (c, k, row) { return make('td', k === row.length - 1 ? {class: 'n'} : {}, c); };
  return make('table', {}, rows.map(function (row) { return make('tr', {}, row.map(cell)); }));
}
function facts(rows) { return table(rows.map(function (r) { return [make('span', {class: 'soft'}, r[0]), r[1]]; })); }
function say(parts) {
  detail.textContent = '';
  parts.forEach(function (p) { if (p) detail.appendChild(p); });
  detail.scrollTop = 0;
}
function overview() {
  var s = stages[level], parts;
  if (level < 0) parts = [
    make('h2', {}, 'How to read this'),
    make('p', {}, 'Data flows down. A box with round corners is a stage: its loops with their trips, and the array that it writes. The other boxes ' +
      'are arrays: green an input, orange a result, violet and dashed a temporary that lies between stages. Text on a line says how often the stage ' +
      'loads or stores, and at which places; \u2026 is a place that is computed.'),
    make('p', {}, 'Click a box for its detail; open a stage to see what it computes. The buttons on top show the same operation ' +
      'before and after stages are fused.'),
    make('h3', {}, 'This form'),
    facts([['stages', String(form.stages.length)], ['flops', short(form.flops)], ['transcendental functions', short(form.transcendentals)],
           ['bytes that must be read and written', bytes(form.compulsory)], ['bytes of temporaries, written and read', bytes(form.between)]]),
    make('h3', {}, 'Stages, in the order in which they run'),
    table(stages.map(function (x, k) { return [go('s' + k, x.stage.name), short(x.stage.flops) + ' flops']; }))];
  else {
    var sets = levels(s), colours = Math.max(1, sets.length - 1);
    parts = [make('h2', {}, 'Inside ' + s.stage.name),
      make('p', {}, 'What one point of the loops computes, from top to bottom. A box is a value with its formula: one that is loaded, named, summed, ' +
        'or used more than once.'),
      make('p', {}, 'A value runs once for each point of the loops that it depends on, and no more often: the colour says which.'),
      table(sets.map(function (x, k) {
        var swatch = make('span', {class: 'swatch l' + Math.round(5 * k / colours)});
        return [make('span', {}, [swatch, x.free.length ? 'for ' + s.axes(x.free) : 'once']), times(x.times)];
      })), stageFacts(s)];
  }
  var key = function (name) { return make('kbd', {}, name); };
  parts.push(make('h3', {}, 'Keys'), make('p', {}, [key('Tab'), ' and arrows go from box to box, ', key('Enter'), ' opens, ', key('Esc'), ' goes back, ',
    key('/'), ' searches, ', key('+'), ' ', key('-'), ' ', key('0'), ' zoom, ', key('1'), ' ', key('2'), ' ', key('3'),
    ' choose the form. Drag to move, turn the wheel or pinch to zoom.']));
  return parts;
}
function stageFacts(s) {
  var accesses = [], code = function (text) { return make('code', {}, text); }, soft = function (text) { return make('span', {class: 'soft'}, text); };
  var rows = s.nest(true).map(function (l) { return [code(new Array(l[0] + 1).join('\u00a0\u00a0') + l[1]), soft(l[3]), whole(l[2])]; });
  form.arrays.forEach(function (a, k) {
    var c = s.stage.accesses[k], text = [c.loads ? short(c.loads) + ' loads' : '', c.stores ? short(c.stores) + ' stores' : ''].join(' ').trim();
    if (text || s.loads(k).length) accesses.push([go('a' + k, a.name), text || 'loaded by an earlier stage']);
  });
  return make('div', {}, [make('h3', {}, 'Loops, outermost first'), table(rows), make('h3', {}, 'Writes')]
    .concat(s.stage.statements.map(function (st) { return make('p', {}, code(s.statement(st))); }))
    .concat([make('h3', {}, 'Arrays'), table(accesses), make('h3', {}, 'Costs'),
             facts([['flops', short(s.stage.flops)], ['transcendental functions', short(s.stage.transcendentals)], ['source', s.stage.file + ':' + s.stage.line]])]));
}
function arrayFacts(k) {
  var a = form.arrays[k], uses = [], strides = a.shape.map(function (n, d) { return a.shape.slice(d + 1).reduce(function (p, m) { return p * m; }, 1); });
  stages.forEach(function (s, which) {
    [[s.loads(k).length, false], [s.stage.accesses[k].stores, true]].forEach(function (u) {
      if (!u[0]) return;
      var lines = accessText(s, k, u[1]);
      uses.push([make('span', {}, [u[1] ? 'written by ' : 'read by ', go('s' + which, s.stage.name)]),
                 make('span', {}, [lines[0][0], make('br'), make('code', {}, lines[1][0])])]);
    });
  });
  var rows = [['use', a.use], ['elements', a.type + ' ' + shape(a)], ['layout', 'row by row, the last index is contiguous'],
              ['strides, in elements', strides.join(', ') || 'none'], ['bytes', whole(a.bytes)], ['loads', whole(a.loads)], ['stores', whole(a.stores)]];
  if (a.varies.length) rows.push(['made anew for each', a.varies.map(function (x) { return form.axes[x].name; }).join(', ')]);
  return [make('h2', {}, a.name), facts(rows), make('h3', {}, 'Stages'), table(uses)];
}
function nodeFacts(id) {
  var s = stages[level], n = form.nodes[id];
  var names = s.named(n.in), users = s.ids.filter(function (k) { return s.isBox(k) && s.named(form.nodes[k].in).indexOf(id) >= 0; });
  var spread = function (list) {
    if (!list.length) return make('p', {class: 'soft'}, 'none');
    return make('p', {}, [].concat.apply([], list.map(function (k) { return [go('n' + k, s.name(k)), make('br')]; })));
  };
  var rows = [['operation', n.op.replace('_', ' ')], ['type', n.type], ['runs', whole(n.times) + (n.times === 1 ? ' time' : ' times')],
              ['depends on', s.axes(n.free)], ['in the text file', '%' + id]];
  if (n.op === 'load') rows.push(['at the edges', n.clamped ? 'the nearest element' : 'is inside']);
  if (n.stage !== s.which) rows.push(['computed in', form.stages[n.stage].name]);
  return [make('h2', {}, s.name(id)), make('p', {}, make('code', {}, s.formula(id, true))), facts(rows),
          n.op === 'load' ? make('p', {}, ['Of the array ', go('a' + n.which, form.arrays[n.which].name), '.']) : null,
          make('h3', {}, 'Made of'), spread(names), make('h3', {}, 'Used by'), spread(users)];
}
function select(b) {
  chosen = b;
  shown.forEach(function (x) { x.g.classList.toggle('on', x === b); });
  wires.forEach(function (w) {
    var near = [w.from, w.to].some(function (end) { return end === b || (end.kind === 'label' && touches(end, b)); });
    w.line.classList.toggle('on', !!b && near);
  });
  if (!b) return say(overview());
  var kind = b.key[0], k = Number(b.key.slice(1)), parts;
  if (kind === 's') {
    var open = make('button', {}, 'Open what it computes');
    open.addEventListener('click', function () { show(k); });
    parts = [make('h2', {}, stages[k].stage.name), make('p', {}, open), stageFacts(stages[k])];
  } else if (kind === 'a') parts = arrayFacts(k);
  else if (kind === 't') {
    var s = stages[level];
    parts = [make('h2', {}, 'A statement of ' + s.stage.name), make('p', {}, make('code', {}, s.statement(s.stage.statements[k]))), stageFacts(s)];
  } else parts = nodeFacts(k);
  say(parts);
}
function touches(label, b) { return wires.some(function (w) { return (w.from === label && w.to === b) || (w.to === label && w.from === b); }); }
)js";

inline constexpr std::string_view graph_page_events = R"js(
function transform() { world.setAttribute('transform', 'translate(' + view.x.toFixed(2) + ' ' + view.y.toFixed(2) + ') scale(' + view.scale.toFixed(4) + ')'); }
function extent() {
  var e = world.getBBox();
  return {x: e.x - 16, y: e.y - 16, w: e.width + 32, h: e.height + 32};
}
function fit() { fitTo(0.05); }
// All of it where that can be read, else its upper part.
function first() { fitTo(level < 0 && canvas.clientWidth > 600 ? 0.58 : 0.75); }
function fitTo(least) {
  var e = extent(), size = canvas.getBoundingClientRect(), whole = Math.min(1.15, size.width / e.w, size.height / e.h);
  view.scale = whole >= least ? whole : Math.min(1, Math.max(least * 0.9, size.width / e.w));
  view.x = size.width / 2 - view.scale * (e.x + e.w / 2);
  view.y = view.scale * e.h > size.height ? -view.scale * e.y : (size.height - view.scale * e.h) / 2 - view.scale * e.y;
  transform();
}
function zoom(by, x, y) {
  var size = canvas.getBoundingClientRect(), scale = Math.min(4, Math.max(0.03, view.scale * by));
  if (x === undefined) { x = size.width / 2; y = size.height / 2; }
  view.x = x - (x - view.x) * scale / view.scale; view.y = y - (y - view.y) * scale / view.scale; view.scale = scale;
  transform();
}
function centre(b) {
  var size = canvas.getBoundingClientRect();
  if (view.scale < 0.6) view.scale = 0.8;
  view.x = size.width / 2 - view.scale * b.x; view.y = size.height / 2 - view.scale * (b.y + b.h / 2);
  transform();
}
function inSight(b) {
  var size = canvas.getBoundingClientRect(), x = view.x + view.scale * b.x, y = view.y + view.scale * (b.y + b.h / 2);
  return x > 40 && y > 30 && x < size.width - 40 && y < size.height - 30;
}
function find(key) { return shown.filter(function (b) { return b.key === key; })[0]; }
function header() {
  var path = document.getElementById('path');
  path.textContent = '';
  if (level >= 0) {
    var back = make('button', {}, '\u2190 all stages');
    back.addEventListener('click', function () { show(-1); });
    path.appendChild(back);
    path.appendChild(document.createTextNode(stages[level].stage.name));
  } else path.textContent = form.stages.length === 1 ? 'One stage and its arrays' : form.stages.length + ' stages and their arrays';
  document.getElementById('everyone').hidden = level < 0;
}
function show(which) {
  var from = level;
  level = which;
  render();
  if (which < 0 && from >= 0) { var b = find('s' + from); if (b) { b.g.focus({preventScroll: true}); if (!inSight(b)) centre(b); } }
  else canvas.focus({preventScroll: true});
  mark();
}
// Where a box of that key is, also when it is written out in another one, or in another view.
function visit(key) {
  var kind = key[0], id = Number(key.slice(1));
  if (kind === 'n') {
    if (level < 0 || stages[level].ids.indexOf(id) < 0) show(form.nodes[id].stage);
    while (!find('n' + id) && stages[level].users[id].length) id = stages[level].users[id][0];
    key = 'n' + id;
  } else if (level >= 0) show(-1);
  var b = find(key) || shown[shown.length - 1];
  select(b);
  centre(b);
}
function choose(which) {
  var name = form && level >= 0 ? stages[level].stage.name : null;
  form = data.forms[which];
  stages = form.stages.map(function (s, k) { return new Stage(form, k); });
  level = name === null ? -1 : form.stages.findIndex(function (s) { return s.name === name; });
  document.querySelectorAll('#forms button:enabled').forEach(function (b, k) { b.setAttribute('aria-checked', String(k === which)); b.tabIndex = k === which ? 0 : -1; });
  render();
  mark();
}

var hits = [], hit = -1;
function matches(text) {
  var all = [], has = function (s) { return s.toLowerCase().indexOf(text) >= 0; };
  form.arrays.forEach(function (a, k) { if (has(a.name)) all.push('a' + k); });
  form.stages.forEach(function (s, k) { if (has(s.name) || has(s.file)) all.push('s' + k); });
  form.nodes.forEach(function (n, id) {
    var of = {load: form.arrays, axis: form.axes, sum: form.axes}[n.op], words = [n.op, n.label || '', '%' + id, n.value || '', of ? of[n.which].name : ''];
    if (words.some(has)) all.push('n' + id);
  });
  return all;
}
function mark() {
  var text = document.getElementById('find').value.trim().toLowerCase(), said = document.getElementById('found');
  hits = text ? matches(text) : [];
  hit = -1;
  world.classList.toggle('dim', hits.length > 0);
  var inner = {};
  if (level >= 0) hits.forEach(function (key) {
    var id = Number(key.slice(1));
    if (key[0] !== 'n' || stages[level].ids.indexOf(id) < 0) return;
    while (!find('n' + id) && stages[level].users[id].length) id = stages[level].users[id][0];
    inner['n' + id] = true;
  });
  else hits.forEach(function (key) { inner[key[0] === 'n' ? 's' + form.nodes[Number(key.slice(1))].stage : key] = true; });
  shown.forEach(function (b) { b.g.classList.toggle('hit', !!inner[b.key]); });
  said.textContent = text ? hits.length ? hits.length + ' found' : 'nothing found' : '';
}
function next(step) {
  if (!hits.length) return;
  var k = hit < 0 ? (step > 0 ? 0 : hits.length - 1) : (hit + step + hits.length) % hits.length, box = document.getElementById('find');
  if (hit < 0 && level >= 0) k = Math.max(0, hits.findIndex(function (key) { return key[0] === 'n' && stages[level].ids.indexOf(Number(key.slice(1))) >= 0; }));
  var key = hits[k], all = hits.length;
  visit(key);
  hit = k;
  document.getElementById('found').textContent = (k + 1) + ' of ' + all;
  box.focus({preventScroll: true});
}

Object.keys(titles).forEach(function (name) {
  var k = data.forms.findIndex(function (f) { return f.form === name; }), f = data.forms[k], text = 'the same as written';
  if (f) text = f.stages.length + (f.stages.length === 1 ? ' stage, ' : ' stages, ') + short(f.flops) + ' flops, ' +
    (f.between ? bytes(f.between) : 'nothing') + ' between stages';
  var b = make('button', {role: 'radio', 'aria-checked': 'false', title: titles[name][1]}, [make('b', {}, titles[name][0]), make('span', {}, text)]);
  if (f) b.addEventListener('click', function () { choose(k); });
  else b.disabled = true;
  document.getElementById('forms').appendChild(b);
});
document.getElementById('forms').addEventListener('keydown', function (e) {
  var step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key], many = data.forms.length;
  if (!step) return;
  choose((data.forms.indexOf(form) + step + many) % many);
  document.querySelector('#forms [aria-checked=true]').focus();
  e.preventDefault();
});
document.getElementById('every').addEventListener('change', function () {
  everyOperation = this.checked;
  stages.forEach(function (s) { s.boxes = null; });
  render();
  mark();
});
document.getElementById('find').addEventListener('input', function () {
  mark();
  var there = shown.filter(function (b) { return b.g.classList.contains('hit'); })[0];
  if (there) centre(there);
});
document.getElementById('find').addEventListener('keydown', function (e) {
  if (e.key === 'Enter') { next(e.shiftKey ? -1 : 1); e.preventDefault(); }
  if (e.key === 'Escape') { this.value = ''; mark(); canvas.focus(); e.stopPropagation(); }
});
document.getElementById('less').addEventListener('click', function () { zoom(1 / 1.3); });
document.getElementById('more').addEventListener('click', function () { zoom(1.3); });
document.getElementById('fit').addEventListener('click', fit);
document.addEventListener('keydown', function (e) {
  if (e.target.tagName === 'INPUT' || e.ctrlKey || e.altKey || e.metaKey) return;
  var k = Number(e.key) - 1;
  if (e.key === '/') document.getElementById('find').focus();
  else if (e.key === '+' || e.key === '=') zoom(1.3);
  else if (e.key === '-') zoom(1 / 1.3);
  else if (e.key === '0') fit();
  else if (e.key === 'Escape') { if (chosen) select(null); else if (level >= 0) show(-1); }
  else if (data.forms[k]) choose(k);
  else return;
  e.preventDefault();
});
function boxOf(target) {
  var g = target.closest ? target.closest('.box') : null;
  return g ? find(g.getAttribute('data-key')) : null;
}
canvas.addEventListener('keydown', function (e) {
  var b = boxOf(e.target), way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];
  if (e.key === 'Enter' || e.key === ' ') {
    if (!b) return;
    if (b.key[0] === 's' && (chosen === b || e.key === 'Enter')) show(Number(b.key.slice(1)));
    else select(b);
    e.preventDefault();
  }
  if (!way) return;
  var near = null, least = Infinity;
  if (b) shown.forEach(function (o) {
    var along = (o.x - b.x) * way[0] + (o.y - b.y) * way[1], aside = Math.abs((o.x - b.x) * way[1] + (o.y - b.y) * way[0]);
    if (o !== b && o.kind !== 'label' && along > 4 && along + 2 * aside < least) { least = along + 2 * aside; near = o; }
  });
  else near = shown.filter(function (o) { return o.kind !== 'label'; })[0];
  if (near) near.g.focus({preventScroll: true});
  e.preventDefault();
});
canvas.addEventListener('focusin', function (e) {
  var b = boxOf(e.target);
  if (!b || down) return;
  select(b);
  if (!inSight(b)) centre(b);
});
canvas.addEventListener('dblclick', function (e) {
  var b = boxOf(e.target);
  if (b && b.key[0] === 's') show(Number(b.key.slice(1)));
});
canvas.addEventListener('wheel', function (e) {
  var size = canvas.getBoundingClientRect();
  zoom(Math.exp(-Math.max(-120, Math.min(120, e.deltaY)) / 400), e.clientX - size.left, e.clientY - size.top);
  e.preventDefault();
}, {passive: false});
var pointers = {}, moved = 0, down = false;
canvas.addEventListener('pointerdown', function (e) {
  pointers[e.pointerId] = [e.clientX, e.clientY];
  moved = Object.keys(pointers).length > 1 ? 99 : 0;
  down = true;
});
window.addEventListener('pointermove', function (e) {
  var p = pointers[e.pointerId], ids = Object.keys(pointers);
  if (!p) return;
  var dx = e.clientX - p[0], dy = e.clientY - p[1];
  moved += Math.abs(dx) + Math.abs(dy);
  if (ids.length === 2) {
    var other = pointers[ids[0] === String(e.pointerId) ? ids[1] : ids[0]], size = canvas.getBoundingClientRect();
    var before = Math.hypot(p[0] - other[0], p[1] - other[1]), after = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
    if (before > 0 && after > 0) zoom(after / before, (e.clientX + other[0]) / 2 - size.left, (e.clientY + other[1]) / 2 - size.top);
  }
  if (moved > 4) {
    canvas.classList.add('moving');
    view.x += dx / ids.length; view.y += dy / ids.length;
    transform();
  }
  pointers[e.pointerId] = [e.clientX, e.clientY];
});
function up(e) {
  if (!pointers[e.pointerId]) return;
  delete pointers[e.pointerId];
  down = Object.keys(pointers).length > 0;
  canvas.classList.remove('moving');
}
window.addEventListener('pointerup', up);
window.addEventListener('pointercancel', up);
canvas.addEventListener('click', function (e) {
  if (moved > 4) return;
  var b = boxOf(e.target);
  if (b && b.key[0] === 's' && e.target.classList.contains('more')) show(Number(b.key.slice(1)));
  else select(b);
});
window.addEventListener('resize', function () { if (!chosen) first(); });
document.getElementById('title').textContent = data.graph;
(function () {
  var probe = draw('text', {}, '0123456789');
  world.appendChild(probe);
  letter = probe.getComputedTextLength() / 10 || letter;
})();
choose(Math.max(0, data.forms.findIndex(function (f) { return f.form === 'as written'; })));
)js";

}  // namespace mbirk::record::detail

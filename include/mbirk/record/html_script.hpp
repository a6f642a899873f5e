// The script of a graph's page: the formulas of boxes, the drawing, and what keys and pointers do. Names go into the page as text, never as markup.
#pragma once

#include <string_view>

#include "mbirk/record/html_events.hpp"
#include "mbirk/record/html_layout.hpp"

namespace mbirk::record::detail {

/// What is shown of a form: stages with their loops, and formulas over boxes.
inline constexpr std::string_view graph_page_model = R"js(
var data = JSON.parse(document.getElementById('data').textContent);
var titles = {'unfused': ['before fusion', 'every named value is an array'], 'as written': ['as written', 'the stages of the source'],
              'fused': ['after fusion', 'temporaries are computed where they are read']};
function short(n) {
  var units = ['', '\u00a0k', '\u00a0M', '\u00a0G', '\u00a0T', '\u00a0P'], k = 0;
  while (n >= (k ? 999.5 : 1000) && k < 5) { n /= 1000; ++k; }
  return (k ? n.toPrecision(3) : String(n)) + units[k];
}
function whole(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f'); }
function bytes(n) { var s = short(n); return /[kMGTP]$/.test(s) ? s + 'B' : s + '\u00a0B'; }
function times(n) { return short(n) + (n === 1 ? ' time' : ' times'); }
function shape(a) { return '[' + a.shape.join(', ') + ']'; }
function unique(list) { return list.filter(function (x, k) { return list.indexOf(x) === k; }); }

// One stage of a form: its live nodes, who uses them, its loops, and names of axes, with the apostrophes only where two are alike.
function Stage(form, which) {
  var stage = form.stages[which], nodes = form.nodes, seen = {}, self = this, open = [];
  stage.statements.forEach(function (st) { open.push(st.value); open = open.concat(st.index); });
  while (open.length) {
    var id = open.pop();
    if (seen[id]) continue;
    seen[id] = true;
    open = open.concat(nodes[id].in);
  }
  this.form = form; this.stage = stage; this.which = which;
  this.ids = Object.keys(seen).map(Number).sort(function (a, b) { return a - b; });
  this.users = {};
  this.ids.forEach(function (id) { self.users[id] = []; });
  this.ids.forEach(function (id) { unique(nodes[id].in).forEach(function (i) { self.users[i].push(id); }); });
  this.sums = unique(this.ids.filter(function (id) { return nodes[id].op === 'sum'; }).map(function (id) { return nodes[id].which; }));
  stage.statements.forEach(function (st) { self.sums = unique(self.sums.concat(st.loops)); });
  this.loops = stage.outer.concat(stage.axes, this.sums);
}
Stage.prototype.axis = function (a) {
  var axes = this.form.axes, name = axes[a].name;
  return this.loops.filter(function (b) { return axes[b].name === name; }).length > 1 ? axes[a].id : name;
};
Stage.prototype.axes = function (list) { var self = this; return list.map(function (a) { return self.axis(a); }).join(', ') || 'none'; };
Stage.prototype.loads = function (array) {
  var nodes = this.form.nodes;
  return this.ids.filter(function (id) { return nodes[id].op === 'load' && nodes[id].which === array; });
};
// "[pixel, row + 1, ...]": what is no axis beside a number is computed.
Stage.prototype.places = function (index) {
  var self = this;
  return '[' + index.map(function (id) {
    return self.simple(id) ? self.formula(id) : '\u2026';
  }).join(', ') + ']';
};
// A loop's number, perhaps as a real, perhaps with a number added.
Stage.prototype.simple = function (id) {
  var nodes = this.form.nodes, n = nodes[id], self = this;
  return n.op === 'axis' || n.op === 'literal' || (['add', 'sub', 'to_real'].indexOf(n.op) >= 0 && n.in.every(function (i) { return self.simple(i); }) && n.free.length < 2);
};
// Is a value a box of its own? Loads, sums, what has a name, what several use, what runs less often than its user; and what would make a formula too long.
Stage.prototype.isBox = function (id) {
  if (!this.boxes) this.boxes = {};
  if (id in this.boxes) return this.boxes[id];
  var nodes = this.form.nodes, n = nodes[id], users = this.users[id], st = this.stage.statements;
  if (n.op === 'axis' || n.op === 'literal' || (!everyOperation && !n.label && this.simple(id) && users.length > 0)) return this.boxes[id] = false;
  var value = st.some(function (s) { return s.value === id; }), index = st.some(function (s) { return s.index.indexOf(id) >= 0; });
  return this.boxes[id] = everyOperation || n.op === 'load' || n.op === 'sum' || !!n.label || value || (index && users.length > 0) || users.length > 1 ||
    (users.length === 1 && nodes[users[0]].times !== n.times) || this.formula(id, true).length > 30;
};
Stage.prototype.name = function (id) {
  var n = this.form.nodes[id];
  if (n.label) {
    var self = this, same = this.ids.filter(function (k) { return self.form.nodes[k].label === n.label; });
    return same.length > 1 ? n.label + ' %' + id : n.label;
  }
  if (n.op === 'load') {
    var full = this.formula(id, true);
    if (full.length <= 40) return full;
  }
  return '%' + id;
};
// As text: of a box its name, unless its own formula is asked for.
Stage.prototype.formula = function (id, own) { return this.term(id, own).text; };
Stage.prototype.term = function (id, own) {
  if (!own && this.isBox(id)) { var name = this.name(id); return {text: name, binds: 9}; }
  var n = this.form.nodes[id], self = this, t, of = function (k) { return self.formula(n.in[k]); };
  var in_ = function (sign, binds, both) {
    var side = function (k, least) { var t = self.term(n.in[k]); return t.binds < least ? '(' + t.text + ')' : t.text; };
    return {text: side(0, binds) + ' ' + sign + ' ' + side(1, binds + (both ? 0 : 1)), binds: binds};
  };
  switch (n.op) {
    case 'literal': return {text: n.value, binds: n.value[0] === '-' ? 2 : 9};
    case 'axis': return {text: this.axis(n.which), binds: 9};
    case 'load': return {text: this.form.arrays[n.which].name + '[' + n.in.map(function (i) { return self.formula(i); }).join(', ') + ']', binds: 9};
    case 'sum': return {text: 'sum over ' + this.axis(n.which) + ' of ' + of(0), binds: 0};
    case 'add':
      for (var k = 0; k < 2; ++k) {  // of a negative number: a difference
        var by = this.form.nodes[n.in[k]];
        if (by.op === 'literal' && by.value[0] === '-') { t = this.term(n.in[1 - k]); return {text: (t.binds < 2 ? '(' + t.text + ')' : t.text) + ' - ' + by.value.slice(1), binds: 2}; }
      }
      return in_('+', 2, true);
    case 'sub': return in_('-', 2);
    case 'mul': return in_('\u00d7', 3, true);
    case 'div': return in_('/', 2.5);
    case 'rem': return in_('mod', 3);
    case 'less': return in_('<', 1);
    case 'less_equal': return in_('\u2264', 1);
    case 'equal': return in_('=', 1);
    case 'and': return in_('and', 0, true);
    case 'select': return {text: (self.term(n.in[0]).binds < 1 ? '(' + of(0) + ')' : of(0)) + ' ? ' + of(1) + ' : ' + of(2), binds: -1};
    case 'abs': return {text: '|' + of(0) + '|', binds: 9};
    case 'to_real': return {text: 'real(' + of(0) + ')', binds: 9};
    case 'to_index': return {text: 'index(' + of(0) + ')', binds: 9};
    default: return {text: n.op + '(' + n.in.map(function (i) { return self.formula(i); }).join(', ') + ')', binds: 9};
  }
};
// The boxes that a box's formula names, through what is written out in it.
Stage.prototype.named = function (ids) {
  var found = [], self = this, visit = function (id) {
    if (self.isBox(id)) found.push(id);
    else self.form.nodes[id].in.forEach(visit);
  };
  ids.forEach(visit);
  return unique(found);
};
Stage.prototype.statement = function (st) {
  var self = this, a = this.form.arrays[st.array].name + '[' + st.index.map(function (i) { return self.formula(i); }).join(', ') + ']';
  return a + (st.adds ? ' += ' : ' = ') + this.formula(st.value);
};
// [indent, text, trips, what it is] of its loops, outermost first; sums stand below the loops, and below the sums around them.
Stage.prototype.nest = function (withOuter) {
  var self = this, lines = [], depth = 0, axes = this.form.axes, nodes = this.form.nodes;
  if (withOuter) this.stage.outer.forEach(function (a) { lines.push([depth++, 'for ' + self.axis(a), axes[a].extent, 'one after the other']); });
  this.stage.axes.forEach(function (a) {
    var apart = self.stage.statements.every(function (st) { return !st.adds || st.index.some(function (i) { return nodes[i].op === 'axis' && nodes[i].which === a; }); });
    lines.push([depth++, 'for ' + self.axis(a), axes[a].extent, apart ? 'independent' : 'may add to one place']);
  });
  var around = {};  // of each sum, the sums that its value depends on
  this.ids.forEach(function (id) { if (nodes[id].op === 'sum') around[nodes[id].which] = nodes[id].free.filter(function (b) { return self.sums.indexOf(b) >= 0; }); });
  var put = function (a) {
    if (!around[a]) return lines.push([depth, 'for ' + self.axis(a), axes[a].extent, 'a few statements']);
    lines.push([depth + around[a].length, 'sum over ' + self.axis(a), axes[a].extent, axes[a].kind === 'small' ? 'a few terms' : 'one accumulator']);
    self.sums.forEach(function (b) { if (around[b] && around[b].indexOf(a) >= 0 && around[b].length === around[a].length + 1) put(b); });
  };
  this.sums.forEach(function (a) { if (!around[a] || !around[a].length) put(a); });
  return lines;
};
)js";

/// Boxes and wires of what is shown, as SVG.
inline constexpr std::string_view graph_page_drawing = R"js(
var canvas = document.getElementById('canvas'), world = document.getElementById('world'), detail = document.getElementById('detail');
var form = null, stages = [], level = -1, everyOperation = false, shown = [], wires = [], chosen = null, view = {x: 0, y: 0, scale: 1}, letter = 7.23;
function make(tag, attributes, children) {
  var e = document.createElement(tag);
  return fill(e, attributes, children);
}
function draw(tag, attributes, children) { return fill(document.createElementNS(canvas.namespaceURI, tag), attributes, children); }
function fill(e, attributes, children) {
  Object.keys(attributes || {}).forEach(function (k) { e.setAttribute(k, attributes[k]); });
  [].concat(children === undefined ? [] : children).forEach(function (c) { e.appendChild(typeof c === 'string' ? document.createTextNode(c) : c); });
  return e;
}
function wrap(text, most) {
  var lines = [];
  while (text.length > most) {
    var cut = text.lastIndexOf(' ', most);
    if (cut < most / 3) cut = text.lastIndexOf(',', most) + 1;
    if (cut < most / 3) cut = most;
    lines.push(text.slice(0, cut));
    text = '  ' + text.slice(cut).trim();
  }
  return lines.concat([text]);
}
// lines: [text, class]; a box is as wide as its longest line.
function box(key, kind, lines, more) {
  var longest = lines.reduce(function (m, l) { return Math.max(m, l[0].length); }, 3), b = more || {};
  b.key = key; b.kind = kind; b.lines = lines;
  b.w = Math.ceil(longest * letter) + (kind === 'label' ? 8 : 22); b.h = lines.length * 16 + (kind === 'label' ? 4 : 12);
  return b;
}
function arrayBox(k) {
  var a = form.arrays[k], used = a.loads || a.stores;
  return box('a' + k, a.use, [[a.name, 't'], [a.type + ' ' + shape(a) + '  ' + bytes(a.bytes), ''], [a.use + (used ? '' : ', unused'), 's']],
             {at: a.use === 'input' ? 'top' : a.use === 'output' ? 'bottom' : ''});
}
function accessText(s, k, stores) {
  var counts = s.stage.accesses[k];
  var places = unique((stores ? s.stage.statements.filter(function (st) { return st.array === k; }).map(function (st) { return st.index; })
                              : s.loads(k).map(function (id) { return form.nodes[id].in; })).map(function (index) { return s.places(index); }));
  var adds = s.stage.statements.some(function (st) { return st.array === k && st.adds; });
  var count = stores ? counts.stores : counts.loads - (adds ? counts.stores : 0);  // an addition loads what it adds to
  var what = count ? short(count) + (stores ? adds ? ' added' : ' stores' : ' loads') + ', ' + bytes(4 * count) : 'loaded by an earlier stage';
  return [[what, ''], [places.length === 1 ? places[0] : places.length + ' different places', 's']];
}
function stagesGraph() {
  var boxes = [], links = [], at = {}, add = function (b) { boxes.push(b); return at[b.key] = boxes.length - 1; };
  form.arrays.forEach(function (a, k) { if (a.use === 'input') add(arrayBox(k)); });
  stages.forEach(function (s, which) {
    var read = [], made = unique(s.stage.statements.map(function (st) { return st.array; }));
    form.arrays.forEach(function (a, k) { if (s.loads(k).length) read.push(k); });
    read.forEach(function (k) {
      links.push(['a' + k, add(box('r' + which + '.' + k, 'label', accessText(s, k, false)))]);
    });
    var head = [[s.stage.name, 't']].concat(s.nest(false).map(function (l) { return [new Array(2 * l[0] + 1).join(' ') + l[1] + '  ' + whole(l[2]), '']; }));
    s.stage.statements.slice(0, 4).forEach(function (st) { head.push([form.arrays[st.array].name + s.places(st.index) + (st.adds ? ' += \u2026' : ' = \u2026'), 's']); });
    if (s.stage.statements.length > 4) head.push(['and ' + (s.stage.statements.length - 4) + ' more', 's']);
    head.push([short(s.stage.flops) + ' flops, ' + short(s.stage.transcendentals) + ' transcendentals', 's'], ['open: ' + s.ids.length + ' operations \u25b8', 'more']);
    var here = add(box('s' + which, 'stage', head, {at: 'stay'}));
    read.forEach(function (k) { links.push([at['r' + which + '.' + k], here]); });
    made.forEach(function (k) {
      var label = add(box('w' + which + '.' + k, 'label', accessText(s, k, true), {at: 'stay'}));
      links.push([here, label], [label, 'a' + k]);
      if (form.arrays[k].use === 'temporary' && !('a' + k in at)) add(arrayBox(k));
    });
  });
  form.arrays.forEach(function (a, k) { if (!('a' + k in at)) add(arrayBox(k)); });
  return [boxes, links.map(function (l) { return l.map(function (e) { return typeof e === 'string' ? at[e] : e; }); })];
}
// Sets of loops of what a stage computes, those that run least first: their places are the colours.
function levels(s) {
  var sets = {};
  s.ids.forEach(function (id) {
    var n = form.nodes[id], key = n.free.join();
    if (s.isBox(id)) (sets[key] = sets[key] || {free: n.free, times: n.times, many: 0}).many++;
  });
  return Object.keys(sets).map(function (k) { return sets[k]; }).sort(function (a, b) { return a.times - b.times; });
}
function expressionGraph(s) {
  var boxes = [], links = [], at = {}, sets = levels(s), colours = Math.max(1, sets.length - 1);
  s.ids.filter(function (id) { return s.isBox(id); }).forEach(function (id) {
    var n = form.nodes[id], own = s.formula(id, true), name = s.name(id), elsewhere = n.stage !== s.which;
    var colour = Math.round(5 * sets.findIndex(function (x) { return x.free.join() === n.free.join(); }) / colours);
    var lines = name === own ? [[name, 't']] : [[name, 't']].concat(wrap(own, 42).map(function (l) { return [l, '']; }));
    lines.push([(n.op === 'load' ? (n.clamped ? 'load, clamped' : 'load') + ', ' : '') + times(n.times) + (elsewhere ? ', in ' + form.stages[n.stage].name : ''), 's']);
    at[id] = boxes.length;
    boxes.push(box('n' + id, (n.op === 'load' ? 'load' : 'value') + (elsewhere ? ' elsewhere' : ''), lines, {colour: colour}));
    s.named(n.in).forEach(function (i) { links.push([at[i], at[id]]); });
  });
  s.stage.statements.forEach(function (st, k) {
    var lines = wrap(s.statement(st), 42).map(function (l) { return [l, 't']; });
    if (st.loops.length) lines.push(['for each ' + s.axes(st.loops), 's']);
    boxes.push(box('t' + k, 'statement', lines, {at: 'bottom'}));
    s.named([st.value].concat(st.index)).forEach(function (i) { links.push([at[i], boxes.length - 1]); });
  });
  return [boxes, links];
}
function render() {
  var graph = level < 0 ? stagesGraph() : expressionGraph(stages[level]), paths = layout(graph[0], graph[1], level < 0 ? 26 : 20, level < 0 ? 24 : 36,
    level < 0 && form.stages[0].outer.length ? 54 : 36);
  shown = graph[0]; chosen = null;
  world.textContent = '';
  var names = level < 0 ? frames() : [];
  wires = graph[1].map(function (l, k) {
    var line = draw('path', {class: 'wire', d: paths[k]});
    if (shown[l[1]].kind !== 'label') line.setAttribute('marker-end', 'url(#tip)');
    world.appendChild(line);
    return {from: shown[l[0]], to: shown[l[1]], line: line};
  });
  names.forEach(function (e) { world.appendChild(e); });
  shown.forEach(function (b) {
    var label = b.kind === 'label', left = b.x - b.w / 2;
    var said = b.lines.map(function (l) { return l[0].trim(); }).join('; ');
    b.g = draw('g', label ? {class: 'label'} : {class: 'box ' + b.kind, tabindex: '0', role: 'button', 'aria-label': said, 'data-key': b.key});
    if (label) b.g.appendChild(draw('rect', {x: left, y: b.y, width: b.w, height: b.h}));
    else b.g.appendChild(draw('rect', {class: 'body', x: left, y: b.y, width: b.w, height: b.h, rx: b.kind === 'stage' || b.kind === 'statement' ? 7 : 3}));
    if (b.colour !== undefined) b.g.appendChild(draw('rect', {class: 'l' + b.colour, x: left + 1, y: b.y + 1, width: 5, height: b.h - 2}));
    b.lines.forEach(function (l, k) { b.g.appendChild(draw('text', {class: l[1], x: left + (label ? 4 : 12), y: b.y + (label ? 14 : 18) + 16 * k}, l[0])); });
    world.appendChild(b.g);
  });
  header();
  select(null);
  first();
}
// Around stages that are in the same loops, one after the other. Returns what belongs above the wires.
function frames() {
  var names = [];
  for (var k = 0; k < stages.length;) {
    var outer = stages[k].stage.outer, end = k + 1, l = Infinity, t = Infinity, r = -Infinity, b = -Infinity;
    while (outer.length && end < stages.length && stages[end].stage.outer.join() === outer.join()) ++end;
    shown.forEach(function (x) {
      var which = Number(x.key.slice(1).split('.')[0]), mine = 'srw'.indexOf(x.key[0]) >= 0 && which >= k && which < end;
      if (!mine) return;
      l = Math.min(l, x.x - x.w / 2); t = Math.min(t, x.y); r = Math.max(r, x.x + x.w / 2); b = Math.max(b, x.y + x.h);
    });
    if (outer.length) {
      var text = outer.map(function (a) { return 'for ' + form.axes[a].name + '  ' + whole(form.axes[a].extent); }).join(', ') + ', one after the other';
      world.appendChild(draw('rect', {class: 'loop', x: l - 14, y: t - 30, width: Math.max(r - l, text.length * letter - 8) + 28, height: b - t + 38, rx: 8}));
      names.push(draw('rect', {class: 'ground', x: l - 10, y: t - 27, width: text.length * letter + 12, height: 18}), draw('text', {class: 's t', x: l - 6, y: t - 14}, text));
    }
    k = end;
  }
  return names;
}
)js";

inline constexpr std::string_view graph_page_script[] = {graph_page_layout, graph_page_model, graph_page_drawing, graph_page_detail, graph_page_events};

}  // namespace mbirk::record::detail

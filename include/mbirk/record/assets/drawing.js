// Boxes and wires of what is shown, as SVG.
var canvas = document.getElementById('canvas'), world = document.getElementById('world'),
    detail = document.getElementById('detail');
var form = null, stages = [], level = -1, everyOperation = false, shown = [], wires = [], chosen = null,
    view = {x: 0, y: 0, scale: 1}, letter = 7.23;
function make(tag, attributes, children) {
  var e = document.createElement(tag);
  return fill(e, attributes, children);
}
function draw(tag, attributes, children) {
  return fill(document.createElementNS(canvas.namespaceURI, tag), attributes, children);
}
function fill(e, attributes, children) {
  Object.keys(attributes || {}).forEach(function(k) { e.setAttribute(k, attributes[k]); });
  [].concat(children === undefined ? [] : children)
      .forEach(function(c) { e.appendChild(typeof c === 'string' ? document.createTextNode(c) : c); });
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
  var longest = lines.reduce(function(m, l) { return Math.max(m, l[0].length); }, 3), b = more || {};
  b.key = key;
  b.kind = kind;
  b.lines = lines;
  b.w = Math.ceil(longest * letter) + (kind === 'label' ? 8 : 22);
  b.h = lines.length * 16 + (kind === 'label' ? 4 : 12);
  return b;
}
function arrayBox(k) {
  var a = form.arrays[k], used = a.loads || a.stores;
  return box(
      'a' + k, a.use,
      [[a.name, 't'], [a.type + ' ' + shape(a) + '  ' + bytes(a.bytes), ''], [a.use + (used ? '' : ', unused'), 's']],
      {at: a.use === 'input'  ? 'top' :
           a.use === 'output' ? 'bottom' :
                                ''});
}
function accessText(s, k, stores) {
  var counts = s.stage.accesses[k];
  var places = unique(
      (stores ?
           s.stage.statements.filter(function(st) { return st.array === k; }).map(function(st) { return st.index; }) :
           s.loads(k).map(function(id) { return form.nodes[id].in; }))
          .map(function(index) { return s.places(index); }));
  var adds = s.stage.statements.some(function(st) { return st.array === k && st.adds; });
  var count = stores ? counts.stores : counts.loads - (adds ? counts.stores : 0);  // an addition loads what it adds to
  var what = count ? short(count) + (stores ? adds ? ' added' : ' stores' : ' loads') + ', ' + bytes(4 * count) :
                     'loaded by an earlier stage';
  return [[what, ''], [places.length === 1 ? places[0] : places.length + ' different places', 's']];
}
function stagesGraph() {
  var boxes = [], links = [], at = {}, add = function(b) {
    boxes.push(b);
    return at[b.key] = boxes.length - 1;
  };
  form.arrays.forEach(function(a, k) {
    if (a.use === 'input') add(arrayBox(k));
  });
  stages.forEach(function(s, which) {
    var read = [], made = unique(s.stage.statements.map(function(st) { return st.array; }));
    form.arrays.forEach(function(a, k) {
      if (s.loads(k).length) read.push(k);
    });
    read.forEach(function(k) {
      links.push(['a' + k, add(box('r' + which + '.' + k, 'label', accessText(s, k, false)))]);
    });
    var head = [[s.stage.name, 't']].concat(s.nest(false).map(function(l) {
      return [new Array(2 * l[0] + 1).join(' ') + l[1] + '  ' + whole(l[2]), ''];
    }));
    s.stage.statements.slice(0, 4).forEach(function(st) {
      head.push([form.arrays[st.array].name + s.places(st.index) + (st.adds ? ' += \u2026' : ' = \u2026'), 's']);
    });
    if (s.stage.statements.length > 4) head.push(['and ' + (s.stage.statements.length - 4) + ' more', 's']);
    head.push(
        [short(s.stage.flops) + ' flops, ' + short(s.stage.transcendentals) + ' transcendentals', 's'],
        ['open: ' + s.ids.length + ' operations \u25b8', 'more']);
    var here = add(box('s' + which, 'stage', head, {at: 'stay'}));
    read.forEach(function(k) { links.push([at['r' + which + '.' + k], here]); });
    made.forEach(function(k) {
      var label = add(box('w' + which + '.' + k, 'label', accessText(s, k, true), {at: 'stay'}));
      links.push([here, label], [label, 'a' + k]);
      if (form.arrays[k].use === 'temporary' && !('a' + k in at)) add(arrayBox(k));
    });
  });
  form.arrays.forEach(function(a, k) {
    if (!('a' + k in at)) add(arrayBox(k));
  });
  return [boxes, links.map(function(l) { return l.map(function(e) { return typeof e === 'string' ? at[e] : e; }); })];
}
// Sets of loops of what a stage computes, those that run least first: their places are the colours.
function levels(s) {
  var sets = {};
  s.ids.forEach(function(id) {
    var n = form.nodes[id], key = n.free.join();
    if (s.isBox(id)) (sets[key] = sets[key] || {free: n.free, times: n.times, many: 0}).many++;
  });
  return Object.keys(sets).map(function(k) { return sets[k]; }).sort(function(a, b) { return a.times - b.times; });
}
function expressionGraph(s) {
  var boxes = [], links = [], at = {}, sets = levels(s), colours = Math.max(1, sets.length - 1);
  s.ids.filter(function(id) { return s.isBox(id); }).forEach(function(id) {
    var n = form.nodes[id], own = s.formula(id, true), name = s.name(id), elsewhere = n.stage !== s.which;
    var colour = Math.round(5 * sets.findIndex(function(x) { return x.free.join() === n.free.join(); }) / colours);
    var lines = name === own ? [[name, 't']] : [[name, 't']].concat(wrap(own, 42).map(function(l) { return [l, '']; }));
    lines.push([
      (n.op === 'load' ? (n.clamped ? 'load, clamped' : 'load') + ', ' : '') + times(n.times) +
          (elsewhere ? ', in ' + form.stages[n.stage].name : ''),
      's'
    ]);
    at[id] = boxes.length;
    boxes.push(
        box('n' + id, (n.op === 'load' ? 'load' : 'value') + (elsewhere ? ' elsewhere' : ''), lines, {colour: colour}));
    s.named(n.in).forEach(function(i) { links.push([at[i], at[id]]); });
  });
  s.stage.statements.forEach(function(st, k) {
    var lines = wrap(s.statement(st), 42).map(function(l) { return [l, 't']; });
    if (st.loops.length) lines.push(['for each ' + s.axes(st.loops), 's']);
    boxes.push(box('t' + k, 'statement', lines, {at: 'bottom'}));
    s.named([st.value].concat(st.index)).forEach(function(i) { links.push([at[i], boxes.length - 1]); });
  });
  return [boxes, links];
}
function render() {
  var graph = level < 0 ? stagesGraph() : expressionGraph(stages[level]),
      paths = layout(
          graph[0], graph[1], level < 0 ? 26 : 20, level < 0 ? 24 : 36,
          level < 0 && form.stages[0].outer.length ? 54 : 36);
  shown = graph[0];
  chosen = null;
  world.textContent = '';
  var names = level < 0 ? frames() : [];
  wires = graph[1].map(function(l, k) {
    var line = draw('path', {class: 'wire', d: paths[k]});
    if (shown[l[1]].kind !== 'label') line.setAttribute('marker-end', 'url(#tip)');
    world.appendChild(line);
    return {from: shown[l[0]], to: shown[l[1]], line: line};
  });
  names.forEach(function(e) { world.appendChild(e); });
  shown.forEach(function(b) {
    var label = b.kind === 'label', left = b.x - b.w / 2;
    var said = b.lines.map(function(l) { return l[0].trim(); }).join('; ');
    b.g = draw('g', label ? {class: 'label'} : {
      class: 'box ' + b.kind,
      tabindex: '0',
      role: 'button',
      'aria-label': said,
      'data-key': b.key
    });
    if (label)
      b.g.appendChild(draw('rect', {x: left, y: b.y, width: b.w, height: b.h}));
    else
      b.g.appendChild(draw('rect', {
        class: 'body',
        x: left,
        y: b.y,
        width: b.w,
        height: b.h,
        rx: b.kind === 'stage' || b.kind === 'statement' ? 7 : 3
      }));
    if (b.colour !== undefined)
      b.g.appendChild(draw('rect', {class: 'l' + b.colour, x: left + 1, y: b.y + 1, width: 5, height: b.h - 2}));
    b.lines.forEach(function(l, k) {
      b.g.appendChild(
          draw('text', {class: l[1], x: left + (label ? 4 : 12), y: b.y + (label ? 14 : 18) + 16 * k}, l[0]));
    });
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
    shown.forEach(function(x) {
      var which = Number(x.key.slice(1).split('.')[0]),
          mine = 'srw'.indexOf(x.key[0]) >= 0 && which >= k && which < end;
      if (!mine) return;
      l = Math.min(l, x.x - x.w / 2);
      t = Math.min(t, x.y);
      r = Math.max(r, x.x + x.w / 2);
      b = Math.max(b, x.y + x.h);
    });
    if (outer.length) {
      var text =
          outer.map(function(a) { return 'for ' + form.axes[a].name + '  ' + whole(form.axes[a].extent); }).join(', ') +
          ', one after the other';
      world.appendChild(draw('rect', {
        class: 'loop',
        x: l - 14,
        y: t - 30,
        width: Math.max(r - l, text.length * letter - 8) + 28,
        height: b - t + 38,
        rx: 8
      }));
      names.push(
          draw('rect', {class: 'ground', x: l - 10, y: t - 27, width: text.length * letter + 12, height: 18}),
          draw('text', {class: 's t', x: l - 6, y: t - 14}, text));
    }
    k = end;
  }
  return names;
}

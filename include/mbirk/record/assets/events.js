// Zoom, search, keys and pointers.
function transform() {
  world.setAttribute(
      'transform',
      'translate(' + view.x.toFixed(2) + ' ' + view.y.toFixed(2) + ') scale(' + view.scale.toFixed(4) + ')');
}
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
  if (x === undefined) {
    x = size.width / 2;
    y = size.height / 2;
  }
  view.x = x - (x - view.x) * scale / view.scale;
  view.y = y - (y - view.y) * scale / view.scale;
  view.scale = scale;
  transform();
}
function centre(b) {
  var size = canvas.getBoundingClientRect();
  if (view.scale < 0.6) view.scale = 0.8;
  view.x = size.width / 2 - view.scale * b.x;
  view.y = size.height / 2 - view.scale * (b.y + b.h / 2);
  transform();
}
function inSight(b) {
  var size = canvas.getBoundingClientRect(), x = view.x + view.scale * b.x, y = view.y + view.scale * (b.y + b.h / 2);
  return x > 40 && y > 30 && x < size.width - 40 && y < size.height - 30;
}
function find(key) {
  return shown.filter(function(b) { return b.key === key; })[0];
}
function header() {
  var path = document.getElementById('path');
  path.textContent = '';
  if (level >= 0) {
    var back = make('button', {}, '\u2190 all stages');
    back.addEventListener('click', function() { show(-1); });
    path.appendChild(back);
    path.appendChild(document.createTextNode(stages[level].stage.name));
  } else
    path.textContent =
        form.stages.length === 1 ? 'One stage and its arrays' : form.stages.length + ' stages and their arrays';
  document.getElementById('everyone').hidden = level < 0;
}
function show(which) {
  var from = level;
  level = which;
  render();
  if (which < 0 && from >= 0) {
    var b = find('s' + from);
    if (b) {
      b.g.focus({preventScroll: true});
      if (!inSight(b)) centre(b);
    }
  } else
    canvas.focus({preventScroll: true});
  mark();
}
// Where a box of that key is, also when it is written out in another one, or in another view.
function visit(key) {
  var kind = key[0], id = Number(key.slice(1));
  if (kind === 'n') {
    if (level < 0 || stages[level].ids.indexOf(id) < 0) show(form.nodes[id].stage);
    while (!find('n' + id) && stages[level].users[id].length) id = stages[level].users[id][0];
    key = 'n' + id;
  } else if (level >= 0)
    show(-1);
  var b = find(key) || shown[shown.length - 1];
  select(b);
  centre(b);
}
function choose(which) {
  var name = form && level >= 0 ? stages[level].stage.name : null;
  form = data.forms[which];
  stages = form.stages.map(function(s, k) { return new Stage(form, k); });
  level = name === null ? -1 : form.stages.findIndex(function(s) { return s.name === name; });
  document.querySelectorAll('#forms button:enabled').forEach(function(b, k) {
    b.setAttribute('aria-checked', String(k === which));
    b.tabIndex = k === which ? 0 : -1;
  });
  render();
  mark();
}

var hits = [], hit = -1;
function matches(text) {
  var all = [], has = function(s) { return s.toLowerCase().indexOf(text) >= 0; };
  form.arrays.forEach(function(a, k) {
    if (has(a.name)) all.push('a' + k);
  });
  form.stages.forEach(function(s, k) {
    if (has(s.name) || has(s.file)) all.push('s' + k);
  });
  form.nodes.forEach(function(n, id) {
    var of = {load: form.arrays, axis: form.axes, sum: form.axes}[n.op],
        words = [n.op, n.label || '', '%' + id, n.value || '', of ? of[n.which].name : ''];
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
  if (level >= 0)
    hits.forEach(function(key) {
      var id = Number(key.slice(1));
      if (key[0] !== 'n' || stages[level].ids.indexOf(id) < 0) return;
      while (!find('n' + id) && stages[level].users[id].length) id = stages[level].users[id][0];
      inner['n' + id] = true;
    });
  else
    hits.forEach(function(key) { inner[key[0] === 'n' ? 's' + form.nodes[Number(key.slice(1))].stage : key] = true; });
  shown.forEach(function(b) { b.g.classList.toggle('hit', !!inner[b.key]); });
  said.textContent = text ? hits.length ? hits.length + ' found' : 'nothing found' : '';
}
function next(step) {
  if (!hits.length) return;
  var k = hit < 0 ? (step > 0 ? 0 : hits.length - 1) : (hit + step + hits.length) % hits.length,
      box = document.getElementById('find');
  if (hit < 0 && level >= 0)
    k = Math.max(0, hits.findIndex(function(key) {
      return key[0] === 'n' && stages[level].ids.indexOf(Number(key.slice(1))) >= 0;
    }));
  var key = hits[k], all = hits.length;
  visit(key);
  hit = k;
  document.getElementById('found').textContent = (k + 1) + ' of ' + all;
  box.focus({preventScroll: true});
}

Object.keys(titles).forEach(function(name) {
  var k = data.forms.findIndex(function(f) { return f.form === name; }), f = data.forms[k],
      text = 'the same as written';
  if (f)
    text = f.stages.length + (f.stages.length === 1 ? ' stage, ' : ' stages, ') + short(f.flops) + ' flops, ' +
        (f.between ? bytes(f.between) : 'nothing') + ' between stages';
  var b = make(
      'button', {role: 'radio', 'aria-checked': 'false', title: titles[name][1]},
      [make('b', {}, titles[name][0]), make('span', {}, text)]);
  if (f)
    b.addEventListener('click', function() { choose(k); });
  else
    b.disabled = true;
  document.getElementById('forms').appendChild(b);
});
document.getElementById('forms').addEventListener('keydown', function(e) {
  var step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key], many = data.forms.length;
  if (!step) return;
  choose((data.forms.indexOf(form) + step + many) % many);
  document.querySelector('#forms [aria-checked=true]').focus();
  e.preventDefault();
});
document.getElementById('every').addEventListener('change', function() {
  everyOperation = this.checked;
  stages.forEach(function(s) { s.boxes = null; });
  render();
  mark();
});
document.getElementById('find').addEventListener('input', function() {
  mark();
  var there = shown.filter(function(b) { return b.g.classList.contains('hit'); })[0];
  if (there) centre(there);
});
document.getElementById('find').addEventListener('keydown', function(e) {
  if (e.key === 'Enter') {
    next(e.shiftKey ? -1 : 1);
    e.preventDefault();
  }
  if (e.key === 'Escape') {
    this.value = '';
    mark();
    canvas.focus();
    e.stopPropagation();
  }
});
document.getElementById('less').addEventListener('click', function() { zoom(1 / 1.3); });
document.getElementById('more').addEventListener('click', function() { zoom(1.3); });
document.getElementById('fit').addEventListener('click', fit);
document.addEventListener('keydown', function(e) {
  if (e.target.tagName === 'INPUT' || e.ctrlKey || e.altKey || e.metaKey) return;
  var k = Number(e.key) - 1;
  if (e.key === '/')
    document.getElementById('find').focus();
  else if (e.key === '+' || e.key === '=')
    zoom(1.3);
  else if (e.key === '-')
    zoom(1 / 1.3);
  else if (e.key === '0')
    fit();
  else if (e.key === 'Escape') {
    if (chosen)
      select(null);
    else if (level >= 0)
      show(-1);
  } else if (data.forms[k])
    choose(k);
  else
    return;
  e.preventDefault();
});
function boxOf(target) {
  var g = target.closest ? target.closest('.box') : null;
  return g ? find(g.getAttribute('data-key')) : null;
}
canvas.addEventListener('keydown', function(e) {
  var b = boxOf(e.target), way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];
  if (e.key === 'Enter' || e.key === ' ') {
    if (!b) return;
    if (b.key[0] === 's' && (chosen === b || e.key === 'Enter'))
      show(Number(b.key.slice(1)));
    else
      select(b);
    e.preventDefault();
  }
  if (!way) return;
  var near = null, least = Infinity;
  if (b)
    shown.forEach(function(o) {
      var along = (o.x - b.x) * way[0] + (o.y - b.y) * way[1],
          aside = Math.abs((o.x - b.x) * way[1] + (o.y - b.y) * way[0]);
      if (o !== b && o.kind !== 'label' && along > 4 && along + 2 * aside < least) {
        least = along + 2 * aside;
        near = o;
      }
    });
  else
    near = shown.filter(function(o) { return o.kind !== 'label'; })[0];
  if (near) near.g.focus({preventScroll: true});
  e.preventDefault();
});
canvas.addEventListener('focusin', function(e) {
  var b = boxOf(e.target);
  if (!b || down) return;
  select(b);
  if (!inSight(b)) centre(b);
});
canvas.addEventListener('dblclick', function(e) {
  var b = boxOf(e.target);
  if (b && b.key[0] === 's') show(Number(b.key.slice(1)));
});
canvas.addEventListener('wheel', function(e) {
  var size = canvas.getBoundingClientRect();
  zoom(Math.exp(-Math.max(-120, Math.min(120, e.deltaY)) / 400), e.clientX - size.left, e.clientY - size.top);
  e.preventDefault();
}, {passive: false});
var pointers = {}, moved = 0, down = false;
canvas.addEventListener('pointerdown', function(e) {
  pointers[e.pointerId] = [e.clientX, e.clientY];
  moved = Object.keys(pointers).length > 1 ? 99 : 0;
  down = true;
});
window.addEventListener('pointermove', function(e) {
  var p = pointers[e.pointerId], ids = Object.keys(pointers);
  if (!p) return;
  var dx = e.clientX - p[0], dy = e.clientY - p[1];
  moved += Math.abs(dx) + Math.abs(dy);
  if (ids.length === 2) {
    var other = pointers[ids[0] === String(e.pointerId) ? ids[1] : ids[0]], size = canvas.getBoundingClientRect();
    var before = Math.hypot(p[0] - other[0], p[1] - other[1]),
        after = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
    if (before > 0 && after > 0)
      zoom(after / before, (e.clientX + other[0]) / 2 - size.left, (e.clientY + other[1]) / 2 - size.top);
  }
  if (moved > 4) {
    canvas.classList.add('moving');
    view.x += dx / ids.length;
    view.y += dy / ids.length;
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
canvas.addEventListener('click', function(e) {
  if (moved > 4) return;
  var b = boxOf(e.target);
  if (b && b.key[0] === 's' && e.target.classList.contains('more'))
    show(Number(b.key.slice(1)));
  else
    select(b);
});
window.addEventListener('resize', function() {
  if (!chosen) first();
});
document.getElementById('title').textContent = data.graph;
(function() {
var probe = draw('text', {}, '0123456789');
world.appendChild(probe);
letter = probe.getComputedTextLength() / 10 || letter;
})();
choose(Math.max(0, data.forms.findIndex(function(f) { return f.form === 'as written'; })));

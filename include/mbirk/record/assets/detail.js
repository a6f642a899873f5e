// What the panel at the side says of what is chosen.
function go(key, text) {
  var b = make('button', {class: 'link'}, text);
  b.addEventListener('click', function() { visit(key); });
  return b;
}
function table(rows) {
  var cell = function(c, k, row) { return make('td', k === row.length - 1 ? {class: 'n'} : {}, c); };
  return make('table', {}, rows.map(function(row) { return make('tr', {}, row.map(cell)); }));
}
function facts(rows) {
  return table(rows.map(function(r) { return [make('span', {class: 'soft'}, r[0]), r[1]]; }));
}
function say(parts) {
  detail.textContent = '';
  parts.forEach(function(p) {
    if (p) detail.appendChild(p);
  });
  detail.scrollTop = 0;
}
function overview() {
  var s = stages[level], parts;
  if (level < 0)
    parts = [
      make('h2', {}, 'How to read this'),
      make(
          'p', {},
          'Data flows down. A box with round corners is a stage: its loops with their trips, and the array ' +
              'that it writes. The other boxes are arrays: green an input, orange a result, violet and ' +
              'dashed a temporary that lies between stages. Text on a line says how often the stage ' +
              'loads or stores, and at which places; \u2026 is a place that is computed.'),
      make(
          'p', {},
          'Click a box for its detail; open a stage to see what it computes. ' +
              'The buttons on top show the same operation before and after stages are fused.'),
      make('h3', {}, 'This form'), facts([
        ['stages', String(form.stages.length)], ['flops', short(form.flops)],
        ['transcendental functions', short(form.transcendentals)],
        ['bytes that must be read and written', bytes(form.compulsory)],
        ['bytes of temporaries, written and read', bytes(form.between)]
      ]),
      make('h3', {}, 'Stages, in the order in which they run'), table(stages.map(function(x, k) {
        return [go('s' + k, x.stage.name), short(x.stage.flops) + ' flops'];
      }))
    ];
  else {
    var sets = levels(s), colours = Math.max(1, sets.length - 1);
    parts = [
      make('h2', {}, 'Inside ' + s.stage.name),
      make(
          'p', {},
          'What one point of the loops computes, from top to bottom. A box is a value with its formula: ' +
              'one that is loaded, named, summed, or used more than once.'),
      make(
          'p', {},
          'A value runs once for each point of the loops that it depends on, and no more often: ' +
              'the colour says which.'),
      table(sets.map(function(x, k) {
        var swatch = make('span', {class: 'swatch l' + Math.round(5 * k / colours)});
        return [make('span', {}, [swatch, x.free.length ? 'for ' + s.axes(x.free) : 'once']), times(x.times)];
      })),
      stageFacts(s)
    ];
  }
  var key = function(name) { return make('kbd', {}, name); };
  parts.push(make('h3', {}, 'Keys'), make('p', {}, [
               key('Tab'),   ' and arrows go from box to box, ',
               key('Enter'), ' opens, ',
               key('Esc'),   ' goes back, ',
               key('/'),     ' searches, ',
               key('+'),     ' ',
               key('-'),     ' ',
               key('0'),     ' zoom, ',
               key('1'),     ' ',
               key('2'),     ' ',
               key('3'),     ' choose the form. Drag to move, turn the wheel or pinch to zoom.'
             ]));
  return parts;
}
function stageFacts(s) {
  var accesses = [], code = function(text) { return make('code', {}, text); },
      soft = function(text) { return make('span', {class: 'soft'}, text); };
  var rows = s.nest(true).map(function(l) {
    return [code(new Array(l[0] + 1).join('\u00a0\u00a0') + l[1]), soft(l[3]), whole(l[2])];
  });
  form.arrays.forEach(function(a, k) {
    var c = s.stage.accesses[k],
        text = [c.loads ? short(c.loads) + ' loads' : '', c.stores ? short(c.stores) + ' stores' : ''].join(' ').trim();
    if (text || s.loads(k).length) accesses.push([go('a' + k, a.name), text || 'loaded by an earlier stage']);
  });
  return make(
      'div', {},
      [make('h3', {}, 'Loops, outermost first'), table(rows), make('h3', {}, 'Writes')]
          .concat(s.stage.statements.map(function(st) { return make('p', {}, code(s.statement(st))); }))
          .concat([
            make('h3', {}, 'Arrays'), table(accesses), make('h3', {}, 'Costs'), facts([
              ['flops', short(s.stage.flops)], ['transcendental functions', short(s.stage.transcendentals)],
              ['source', s.stage.file + ':' + s.stage.line]
            ])
          ]));
}
function arrayFacts(k) {
  var a = form.arrays[k], uses = [],
      strides =
          a.shape.map(function(n, d) { return a.shape.slice(d + 1).reduce(function(p, m) { return p * m; }, 1); });
  stages.forEach(function(s, which) {
    [[s.loads(k).length, false], [s.stage.accesses[k].stores, true]].forEach(function(u) {
      if (!u[0]) return;
      var lines = accessText(s, k, u[1]);
      uses.push([
        make('span', {}, [u[1] ? 'written by ' : 'read by ', go('s' + which, s.stage.name)]),
        make('span', {}, [lines[0][0], make('br'), make('code', {}, lines[1][0])])
      ]);
    });
  });
  var rows = [
    ['use', a.use], ['elements', a.type + ' ' + shape(a)], ['layout', 'row by row, the last index is contiguous'],
    ['strides, in elements', strides.join(', ') || 'none'], ['bytes', whole(a.bytes)], ['loads', whole(a.loads)],
    ['stores', whole(a.stores)]
  ];
  if (a.varies.length)
    rows.push(['made anew for each', a.varies.map(function(x) { return form.axes[x].name; }).join(', ')]);
  return [make('h2', {}, a.name), facts(rows), make('h3', {}, 'Stages'), table(uses)];
}
function nodeFacts(id) {
  var s = stages[level], n = form.nodes[id];
  var names = s.named(n.in),
      users = s.ids.filter(function(k) { return s.isBox(k) && s.named(form.nodes[k].in).indexOf(id) >= 0; });
  var spread = function(list) {
    if (!list.length) return make('p', {class: 'soft'}, 'none');
    return make('p', {}, [].concat.apply([], list.map(function(k) { return [go('n' + k, s.name(k)), make('br')]; })));
  };
  var rows = [
    ['operation', n.op.replace('_', ' ')], ['type', n.type],
    ['runs', whole(n.times) + (n.times === 1 ? ' time' : ' times')], ['depends on', s.axes(n.free)],
    ['in the text file', '%' + id]
  ];
  if (n.op === 'load') rows.push(['at the edges', n.clamped ? 'the nearest element' : 'is inside']);
  if (n.stage !== s.which) rows.push(['computed in', form.stages[n.stage].name]);
  return [
    make('h2', {}, s.name(id)), make('p', {}, make('code', {}, s.formula(id, true))), facts(rows),
    n.op === 'load' ? make('p', {}, ['Of the array ', go('a' + n.which, form.arrays[n.which].name), '.']) : null,
    make('h3', {}, 'Made of'), spread(names), make('h3', {}, 'Used by'), spread(users)
  ];
}
function select(b) {
  chosen = b;
  shown.forEach(function(x) { x.g.classList.toggle('on', x === b); });
  wires.forEach(function(w) {
    var near = [w.from, w.to].some(function(end) { return end === b || (end.kind === 'label' && touches(end, b)); });
    w.line.classList.toggle('on', !!b && near);
  });
  if (!b) return say(overview());
  var kind = b.key[0], k = Number(b.key.slice(1)), parts;
  if (kind === 's') {
    var open = make('button', {}, 'Open what it computes');
    open.addEventListener('click', function() { show(k); });
    parts = [make('h2', {}, stages[k].stage.name), make('p', {}, open), stageFacts(stages[k])];
  } else if (kind === 'a')
    parts = arrayFacts(k);
  else if (kind === 't') {
    var s = stages[level];
    parts = [
      make('h2', {}, 'A statement of ' + s.stage.name),
      make('p', {}, make('code', {}, s.statement(s.stage.statements[k]))), stageFacts(s)
    ];
  } else
    parts = nodeFacts(k);
  say(parts);
}
function touches(label, b) {
  return wires.some(function(w) { return (w.from === label && w.to === b) || (w.to === label && w.from === b); });
}

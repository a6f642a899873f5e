// What is shown of a form: stages with their loops, and formulas over boxes. Names go into the page as text, never as
// markup.
var data = JSON.parse(document.getElementById('data').textContent);
var titles = {
  'unfused': ['before fusion', 'every named value is an array'],
  'as written': ['as written', 'the stages of the source'],
  'fused': ['after fusion', 'temporaries are computed where they are read']
};
function short(n) {
  var units = ['', '\u00a0k', '\u00a0M', '\u00a0G', '\u00a0T', '\u00a0P'], k = 0;
  while (n >= (k ? 999.5 : 1000) && k < 5) {
    n /= 1000;
    ++k;
  }
  return (k ? n.toPrecision(3) : String(n)) + units[k];
}
function whole(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f'); }
function bytes(n) {
  var s = short(n);
  return /[kMGTP]$/.test(s) ? s + 'B' : s + '\u00a0B';
}
function times(n) { return short(n) + (n === 1 ? ' time' : ' times'); }
function shape(a) { return '[' + a.shape.join(', ') + ']'; }
function unique(list) {
  return list.filter(function(x, k) { return list.indexOf(x) === k; });
}

// One stage of a form: its live nodes, who uses them, its loops, and names of axes, with the apostrophes only where two
// are alike.
function Stage(form, which) {
  var stage = form.stages[which], nodes = form.nodes, seen = {}, self = this, open = [];
  stage.statements.forEach(function(st) {
    open.push(st.value);
    open = open.concat(st.index);
  });
  while (open.length) {
    var id = open.pop();
    if (seen[id]) continue;
    seen[id] = true;
    open = open.concat(nodes[id].in);
  }
  this.form = form;
  this.stage = stage;
  this.which = which;
  this.ids = Object.keys(seen).map(Number).sort(function(a, b) { return a - b; });
  this.users = {};
  this.ids.forEach(function(id) { self.users[id] = []; });
  this.ids.forEach(function(id) { unique(nodes[id].in).forEach(function(i) { self.users[i].push(id); }); });
  this.sums = unique(
      this.ids.filter(function(id) { return nodes[id].op === 'sum'; }).map(function(id) { return nodes[id].which; }));
  stage.statements.forEach(function(st) { self.sums = unique(self.sums.concat(st.loops)); });
  this.loops = stage.outer.concat(stage.axes, this.sums);
}
Stage.prototype.axis = function(a) {
  var axes = this.form.axes, name = axes[a].name;
  return this.loops.filter(function(b) { return axes[b].name === name; }).length > 1 ? axes[a].id : name;
};
Stage.prototype.axes = function(list) {
  var self = this;
  return list.map(function(a) { return self.axis(a); }).join(', ') || 'none';
};
Stage.prototype.loads = function(array) {
  var nodes = this.form.nodes;
  return this.ids.filter(function(id) { return nodes[id].op === 'load' && nodes[id].which === array; });
};
// "[pixel, row + 1, ...]": what is no axis beside a number is computed.
Stage.prototype.places = function(index) {
  var self = this;
  return '[' + index.map(function(id) { return self.simple(id) ? self.formula(id) : '\u2026'; }).join(', ') + ']';
};
// A loop's number, perhaps as a real, perhaps with a number added.
Stage.prototype.simple = function(id) {
  var nodes = this.form.nodes, n = nodes[id], self = this;
  return n.op === 'axis' || n.op === 'literal' ||
      (['add', 'sub', 'to_real'].indexOf(n.op) >= 0 && n.in.every(function(i) { return self.simple(i); }) &&
       n.free.length < 2);
};
// Is a value a box of its own? Loads, sums, what has a name, what several use, what runs less often than its user; and
// what would make a formula too long.
Stage.prototype.isBox = function(id) {
  if (!this.boxes) this.boxes = {};
  if (id in this.boxes) return this.boxes[id];
  var nodes = this.form.nodes, n = nodes[id], users = this.users[id], st = this.stage.statements;
  if (n.op === 'axis' || n.op === 'literal' || (!everyOperation && !n.label && this.simple(id) && users.length > 0))
    return this.boxes[id] = false;
  var value = st.some(function(s) { return s.value === id; }),
      index = st.some(function(s) { return s.index.indexOf(id) >= 0; });
  return this.boxes[id] = everyOperation || n.op === 'load' || n.op === 'sum' || !!n.label || value ||
      (index && users.length > 0) || users.length > 1 || (users.length === 1 && nodes[users[0]].times !== n.times) ||
      this.formula(id, true).length > 30;
};
Stage.prototype.name = function(id) {
  var n = this.form.nodes[id];
  if (n.label) {
    var self = this, same = this.ids.filter(function(k) { return self.form.nodes[k].label === n.label; });
    return same.length > 1 ? n.label + ' %' + id : n.label;
  }
  if (n.op === 'load') {
    var full = this.formula(id, true);
    if (full.length <= 40) return full;
  }
  return '%' + id;
};
// As text: of a box its name, unless its own formula is asked for.
Stage.prototype.formula = function(id, own) { return this.term(id, own).text; };
Stage.prototype.term = function(id, own) {
  if (!own && this.isBox(id)) {
    var name = this.name(id);
    return {text: name, binds: 9};
  }
  var n = this.form.nodes[id], self = this, t, of = function(k) { return self.formula(n.in[k]); };
  var in_ = function(sign, binds, both) {
    var side = function(k, least) {
      var t = self.term(n.in[k]);
      return t.binds < least ? '(' + t.text + ')' : t.text;
    };
    return {text: side(0, binds) + ' ' + sign + ' ' + side(1, binds + (both ? 0 : 1)), binds: binds};
  };
  switch (n.op) {
    case 'literal': return {text: n.value, binds: n.value[0] === '-' ? 2 : 9};
    case 'axis': return {text: this.axis(n.which), binds: 9};
    case 'load':
      return {
        text: this.form.arrays[n.which].name + '[' + n.in.map(function(i) { return self.formula(i); }).join(', ') + ']',
        binds: 9
      };
    case 'sum': return {text: 'sum over ' + this.axis(n.which) + ' of ' + of(0), binds: 0};
    case 'add':
      for (var k = 0; k < 2; ++k) {  // of a negative number: a difference
        var by = this.form.nodes[n.in[k]];
        if (by.op === 'literal' && by.value[0] === '-') {
          t = this.term(n.in[1 - k]);
          return {text: (t.binds < 2 ? '(' + t.text + ')' : t.text) + ' - ' + by.value.slice(1), binds: 2};
        }
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
    case 'select':
      return {
        text: (self.term(n.in[0]).binds < 1 ? '(' + of(0) + ')' : of(0)) + ' ? ' + of(1) + ' : ' + of(2),
        binds: -1
      };
    case 'abs': return {text: '|' + of(0) + '|', binds: 9};
    case 'to_real': return {text: 'real(' + of(0) + ')', binds: 9};
    case 'to_index': return {text: 'index(' + of(0) + ')', binds: 9};
    default: return {text: n.op + '(' + n.in.map(function(i) { return self.formula(i); }).join(', ') + ')', binds: 9};
  }
};
// The boxes that a box's formula names, through what is written out in it.
Stage.prototype.named = function(ids) {
  var found = [], self = this, visit = function(id) {
    if (self.isBox(id))
      found.push(id);
    else
      self.form.nodes[id].in.forEach(visit);
  };
  ids.forEach(visit);
  return unique(found);
};
Stage.prototype.statement = function(st) {
  var self = this,
      a = this.form.arrays[st.array].name + '[' + st.index.map(function(i) { return self.formula(i); }).join(', ') +
      ']';
  return a + (st.adds ? ' += ' : ' = ') + this.formula(st.value);
};
// [indent, text, trips, what it is] of its loops, outermost first; sums stand below the loops, and below the sums
// around them.
Stage.prototype.nest = function(withOuter) {
  var self = this, lines = [], depth = 0, axes = this.form.axes, nodes = this.form.nodes;
  if (withOuter)
    this.stage.outer.forEach(function(a) {
      lines.push([depth++, 'for ' + self.axis(a), axes[a].extent, 'one after the other']);
    });
  this.stage.axes.forEach(function(a) {
    var apart = self.stage.statements.every(function(st) {
      return !st.adds || st.index.some(function(i) { return nodes[i].op === 'axis' && nodes[i].which === a; });
    });
    lines.push([depth++, 'for ' + self.axis(a), axes[a].extent, apart ? 'independent' : 'may add to one place']);
  });
  var around = {};  // of each sum, the sums that its value depends on
  this.ids.forEach(function(id) {
    if (nodes[id].op === 'sum')
      around[nodes[id].which] = nodes[id].free.filter(function(b) { return self.sums.indexOf(b) >= 0; });
  });
  var put = function(a) {
    if (!around[a]) return lines.push([depth, 'for ' + self.axis(a), axes[a].extent, 'a few statements']);
    lines.push([
      depth + around[a].length, 'sum over ' + self.axis(a), axes[a].extent,
      axes[a].kind === 'small' ? 'a few terms' : 'one accumulator'
    ]);
    self.sums.forEach(function(b) {
      if (around[b] && around[b].indexOf(a) >= 0 && around[b].length === around[a].length + 1) put(b);
    });
  };
  this.sums.forEach(function(a) {
    if (!around[a] || !around[a].length) put(a);
  });
  return lines;
};

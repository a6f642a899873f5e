// Where the boxes and lines of a layered drawing go. It is one script in five files: layout, model, drawing, detail,
// events.
'use strict';
// boxes: {w, h, at: 'top' | 'stay' | 'bottom' or nothing}, each after those that it comes from; wires: [from, to].
// Ranks by the longest path, long wires through places of their own, order by medians of neighbours, places by least
// squares that keep order and gaps. gapTop: below the first layer. Sets x, y (centre, top) of boxes and returns paths.
function layout(boxes, wires, gapX, gapY, gapTop) {
  var nodes = boxes.map(function(b) { return {box: b, w: b.w, h: b.h, up: [], down: [], rank: 0}; });
  wires = wires.map(function(w) { return w[0] < w[1] ? w : [w[1], w[0]]; });
  var into = nodes.map(function() { return []; }), from = nodes.map(function() { return []; });
  wires.forEach(function(w) {
    into[w[1]].push(w[0]);
    from[w[0]].push(w[1]);
  });
  nodes.forEach(function(n, k) { into[k].forEach(function(j) { n.rank = Math.max(n.rank, nodes[j].rank + 1); }); });
  var last = nodes.reduce(function(m, n) { return Math.max(m, n.rank); }, 0);
  for (var k = nodes.length; k-- > 0;) {
    var at = boxes[k].at;
    if (at === 'bottom') nodes[k].rank = last;
    if (!at && from[k].length && from[k].length >= into[k].length) {
      var lowest = Infinity;
      from[k].forEach(function(j) { lowest = Math.min(lowest, nodes[j].rank - 1); });
      nodes[k].rank = Math.max(nodes[k].rank, lowest);
    }
  }
  var layers = [];
  for (var r = 0; r <= last; ++r) layers.push([]);
  nodes.forEach(function(n) { layers[n.rank].push(n); });
  var link = function(a, b) {
    a.down.push(b);
    b.up.push(a);
  };
  var chains = wires.map(function(w) {
    var chain = [nodes[w[0]]];
    for (var r = chain[0].rank + 1; r < nodes[w[1]].rank; ++r) {
      var place = {w: 6, h: 0, up: [], down: [], rank: r, box: null};
      layers[r].push(place);
      link(chain[chain.length - 1], place);
      chain.push(place);
    }
    link(chain[chain.length - 1], nodes[w[1]]);
    chain.push(nodes[w[1]]);
    return chain;
  });
  layers = layers.filter(function(l) { return l.length; });
  order(layers);
  place(layers, gapX);
  var y = 0;
  layers.forEach(function(layer, k) {
    var tall = 0;
    layer.forEach(function(n) { tall = Math.max(tall, n.h); });
    layer.forEach(function(n) {
      n.y = y + (tall - n.h) / 2;
      n.top = y;
      n.bottom = y + tall;
    });
    y += tall + (k ? gapY : gapTop);
  });
  nodes.forEach(function(n) {
    n.box.x = n.x;
    n.box.y = n.y;
  });
  var port = function(n, list, other) {  // wires side by side, in the order of where they go
    var sorted = list.slice().sort(function(a, b) { return a.x - b.x; }), k = sorted.indexOf(other),
        room = Math.min(n.w * 0.6, 22 * (list.length - 1));
    return n.x + (list.length > 1 ? room * (k / (list.length - 1) - 0.5) : 0);
  };
  return chains.map(function(chain) {
    var a = chain[0], b = chain[1], x = port(a, a.down, b), y = a.y + a.h,
        path = 'M' + x.toFixed(1) + ' ' + y.toFixed(1);
    for (var k = 1; k < chain.length; ++k) {
      var n = chain[k], end = k === chain.length - 1, toX = end ? port(n, n.up, chain[k - 1]) : n.x,
          toY = end ? n.y : n.top, mid = (y + toY) / 2;
      path += 'C' + [x, mid, toX, mid, toX, toY].map(function(v) { return v.toFixed(1); }).join(' ');
      if (!end) path += 'V' + n.bottom.toFixed(1);
      x = toX;
      y = end ? toY : n.bottom;
    }
    return path;
  });
}

function order(layers) {
  var number = function() { layers.forEach(function(l) { l.forEach(function(n, k) { n.pos = k; }); }); };
  var crossings = function() {
    var count = 0;
    layers.forEach(function(l) {
      var ends = [];
      l.forEach(function(n) {
        n.down.map(function(d) { return d.pos; })
            .sort(function(a, b) { return a - b; })
            .forEach(function(p) { ends.push(p); });
      });
      for (var i = 0; i < ends.length; ++i)
        for (var j = i + 1; j < ends.length; ++j)
          if (ends[i] > ends[j]) ++count;
    });
    return count;
  };
  number();
  var least = crossings(), best = layers.map(function(l) { return l.slice(); });
  for (var sweep = 0; sweep < 16 && least; ++sweep) {
    var down = sweep % 2 === 0;
    (down ? layers : layers.slice().reverse()).forEach(function(l) {
      l.forEach(function(n) {
        var near = (down ? n.up : n.down).map(function(m) { return m.pos; }).sort(function(a, b) { return a - b; }),
            half = near.length >> 1;
        n.want = !near.length ? n.pos : near.length % 2 ? near[half] : (near[half - 1] + near[half]) / 2;
      });
      l.sort(function(a, b) { return a.want - b.want || a.pos - b.pos; });
      l.forEach(function(n, k) { n.pos = k; });
    });
    var now = crossings();
    if (now < least) {
      least = now;
      best = layers.map(function(l) { return l.slice(); });
    }
  }
  layers.forEach(function(l, k) { l.splice.apply(l, [0, l.length].concat(best[k])); });
}

function place(layers, gap) {
  layers.forEach(function(l) {
    var x = 0;
    l.forEach(function(n) {
      n.x = x + n.w / 2;
      x += n.w + gap;
    });
    l.forEach(function(n) { n.x -= x / 2; });
  });
  for (var sweep = 0; sweep < 12; ++sweep) {
    var down = sweep % 2 === 0;
    (down ? layers : layers.slice().reverse()).forEach(function(l) {
      var offset = 0, blocks = [];  // of boxes that touch each other
      l.forEach(function(n, k) {
        if (k) offset += (l[k - 1].w + n.w) / 2 + gap;
        n.offset = offset;
        var near = sweep > 8 ? n.up.concat(n.down) :
            down             ? n.up :
                               n.down,
            weight = near.length ? (n.box ? 1 : 4) : 0.01, want = n.x;
        if (near.length) want = near.reduce(function(s, m) { return s + m.x; }, 0) / near.length;
        blocks.push({sum: weight * (want - offset), weight: weight, many: 1});
        for (var b = blocks.length - 1;
             b > 0 && blocks[b - 1].sum / blocks[b - 1].weight > blocks[b].sum / blocks[b].weight; --b) {
          blocks[b - 1].sum += blocks[b].sum;
          blocks[b - 1].weight += blocks[b].weight;
          blocks[b - 1].many += blocks[b].many;
          blocks.pop();
        }
      });
      var k = 0;
      blocks.forEach(function(b) {
        for (var i = 0; i < b.many; ++i, ++k) l[k].x = b.sum / b.weight + l[k].offset;
      });
    });
  }
}

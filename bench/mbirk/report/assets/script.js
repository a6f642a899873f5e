/* Sorts a table by the column whose heading is pressed: by data-v where a cell has it, else by its text. Rows without
   a value stay last. */
/* On narrow screens the rows of wide tables are cards, whose cells need the names of their columns. */
document.querySelectorAll('table').forEach(function(t) {
  var names = Array.from(t.tHead.rows[0].cells).map(function(c) { return c.textContent; });
  if (names.length < 5) return;
  t.classList.add('cards');
  Array.from(t.tBodies[0].rows).forEach(function(r) {
    Array.from(r.cells).forEach(function(c, k) { c.setAttribute('data-l', names[k]); });
  });
});
document.querySelectorAll('th button').forEach(function(b) {
  b.addEventListener('click', function() {
    var th = b.parentNode, table = th.closest('table'), body = table.tBodies[0], k = th.cellIndex;
    var up = th.getAttribute('aria-sort') ? th.getAttribute('aria-sort') !== 'ascending' :
                                            th.classList.contains('t') || k === 0;
    table.querySelectorAll('th').forEach(function(o) { o.removeAttribute('aria-sort'); });
    th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    var value = function(row) {
      var c = row.cells[k], v = c.getAttribute('data-v');
      return v === null ? c.textContent.trim() : v === '' ? null : Number(v);
    };
    Array.from(body.rows)
        .sort(function(p, q) {
          var x = value(p), y = value(q);
          if (x === null || y === null) return (x === null) - (y === null);
          var d = typeof x === 'number' ? x - y : x.localeCompare(y);
          return up ? d : -d;
        })
        .forEach(function(row) { body.appendChild(row); });
  });
});

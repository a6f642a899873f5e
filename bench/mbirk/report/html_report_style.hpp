// The style sheet and the script of the HTML report: everything that it needs, so that it opens without a network.
#pragma once

#include <string_view>

namespace mbirk::program::report {

inline constexpr std::string_view style = R"css(
:root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--ink:#1c1f23;--soft:#5b6470;--edge:#dcdfe3;--grid:#e9ebee;--head:#f2f3f5;
--a:#1f5fbf;--b:#b3540a;--c:#0b7a55;--d:#8a2f8f;--roof:#1c1f23;--good:#0b6b45;--bad:#a92222;--bar2:#c9cfd8}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--card:#1c2024;--ink:#e7e9ec;--soft:#a3adb9;--edge:#343a41;--grid:#2a2f35;--head:#242930;
--a:#7fb2ff;--b:#f2a65e;--c:#5fd0a5;--d:#d79be0;--roof:#e7e9ec;--good:#6fdcae;--bad:#ff9a94;--bar2:#4b5560}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
main,header,footer{max-width:1240px;margin:0 auto;padding:0 16px}
header{padding-top:20px}
h1{font-size:1.35rem;line-height:1.25;margin:0 0 2px}
h2{font-size:1.1rem;margin:30px 0 4px}
p{margin:4px 0 10px;max-width:78em}
.soft,.note{color:var(--soft)}
.note{font-size:.87rem}
nav{margin:8px 0 0;font-size:.9rem}
nav a{margin-right:12px;white-space:nowrap}
a{color:var(--a)}
.answer{background:var(--card);border:1px solid var(--edge);border-left:5px solid var(--a);border-radius:6px;padding:12px 16px;margin:14px 0 12px}
.answer p{margin:0 0 6px}
.answer .lead{font-size:1.13rem;line-height:1.4}
.answer p:last-child{margin:0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:0 0 6px;padding:0;list-style:none}
.tiles li{background:var(--card);border:1px solid var(--edge);border-radius:6px;padding:8px 12px}
.tiles b{display:block;font-size:1.15rem;font-variant-numeric:tabular-nums}
.tiles span{color:var(--soft);font-size:.85rem;display:block;line-height:1.3}
.box{overflow-x:auto;background:var(--card);border:1px solid var(--edge);border-radius:6px}
.box:focus-visible{outline:2px solid var(--a)}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums;overflow-wrap:normal}
th,td{padding:4px 9px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}
th{background:var(--head);font-weight:600;vertical-align:bottom;line-height:1.25;padding:5px 4px 5px 9px}
th.t,td.t{text-align:left}
td details{margin:0}td details summary{font-size:.95em}
td.w{text-align:left;white-space:normal;min-width:20em}
td.v{text-align:left;white-space:normal;min-width:13em}
td{vertical-align:top}
tbody tr:last-child td{border-bottom:0}
tbody tr:hover{background:var(--head)}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:inherit}
th button::after{content:"\2195";color:var(--soft);padding-left:3px;font-weight:400}
th[aria-sort=ascending] button::after{content:"\2191";color:var(--ink)}
th[aria-sort=descending] button::after{content:"\2193";color:var(--ink)}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:14px}
.pair>section{min-width:0}
.many{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:10px}
figure{margin:0;background:var(--card);border:1px solid var(--edge);border-radius:6px;padding:8px}
figcaption{font-size:.87rem;color:var(--soft);padding:2px 4px}
figcaption b{color:var(--ink)}
svg{display:block;width:100%;height:auto}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;fill:var(--ink)}
svg .tick,svg .name{fill:var(--soft);font-size:11px}
svg .lab{font-size:11.5px;font-weight:600}
svg .roofname{font-size:11px;fill:var(--ink)}
.grid{stroke:var(--grid);fill:none}.axis{stroke:var(--soft);fill:none}.lead{stroke:var(--soft);stroke-width:.7;fill:none}
.roof{stroke:var(--roof);stroke-width:1.6;fill:none}.roof.thin{stroke-width:1}.roof.guess{stroke-dasharray:6 4}
.guide{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 4;fill:none}
.f0{fill:var(--a)}.f1{fill:var(--b)}.f2{fill:var(--c)}
.l0,.l1,.l2{fill:none;stroke-width:1.8}.l0{stroke:var(--a)}.l1{stroke:var(--b);stroke-dasharray:7 3}.l2{stroke:var(--c);stroke-dasharray:2 3}
.curve{fill:none;stroke:var(--a);stroke-width:2}.least{fill:none;stroke:var(--c);stroke-dasharray:5 4;stroke-width:1.3}.knee{fill:none;stroke:var(--b);stroke-dasharray:2 3;stroke-width:1.6}
.key{display:inline-block;white-space:nowrap;margin-right:12px}
.key svg{display:inline-block;width:26px;height:11px;vertical-align:middle;margin-right:4px}
.bar{display:flex;width:150px;height:11px;background:none}
.bar i{display:block;height:100%}.bar .b0{background:var(--a)}.bar .b1{background:var(--c)}.bar .b2{background:repeating-linear-gradient(45deg,var(--b) 0 3px,var(--card) 3px 5px)}
.ok{color:var(--good);font-weight:600}.no{color:var(--bad);font-weight:600}
.t0{fill:var(--a)}.t1{fill:var(--c)}.t2{fill:var(--b)}.span{stroke:var(--card);stroke-width:.6}
svg .on{fill:var(--card);font-size:12px}svg.wide{min-width:760px;padding:6px}
details{margin:8px 0}summary{cursor:pointer;color:var(--a)}
ul.plain{margin:4px 0 10px;padding-left:20px}
footer{padding:26px 16px 30px;font-size:.87rem;color:var(--soft)}
@media (max-width:560px){body{font-size:14px}main,header,footer{padding-left:10px;padding-right:10px}th,td{padding:4px 6px}td.w{min-width:16em}.answer{padding:10px 12px}
.tiles{grid-template-columns:repeat(2,minmax(0,1fr));gap:8px}figure{padding:4px}}
@media print{:root{color-scheme:light;--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--edge:#bbb;--grid:#ddd;--head:#eee;--a:#1f5fbf;--b:#b3540a;--c:#0b7a55;--roof:#000}
body{font-size:10pt}nav,th button::after{display:none}.box{overflow:visible;border:0}table{font-size:7.5pt}th,td{padding:1px 4px}td.w{min-width:0}
figure,.answer,tr,.tiles li{break-inside:avoid}h2{break-after:avoid}main,header,footer{max-width:none;padding:0}@page{size:A4 landscape;margin:12mm}}
)css";

/// Sorts a table by the column whose heading is pressed: by data-v where a cell has it, else by its text. Rows without a value stay last.
inline constexpr std::string_view script = R"js(
document.querySelectorAll('th button').forEach(function (b) {
  b.addEventListener('click', function () {
    var th = b.parentNode, table = th.closest('table'), body = table.tBodies[0], k = th.cellIndex;
    var up = th.getAttribute('aria-sort') ? th.getAttribute('aria-sort') !== 'ascending' : th.classList.contains('t') || k === 0;
    table.querySelectorAll('th').forEach(function (o) { o.removeAttribute('aria-sort'); });
    th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    var value = function (row) {
      var c = row.cells[k], v = c.getAttribute('data-v');
      return v === null ? c.textContent.trim() : v === '' ? null : Number(v);
    };
    Array.from(body.rows).sort(function (p, q) {
      var x = value(p), y = value(q);
      if (x === null || y === null) return (x === null) - (y === null);
      var d = typeof x === 'number' ? x - y : x.localeCompare(y);
      return up ? d : -d;
    }).forEach(function (row) { body.appendChild(row); });
  });
});
)js";

}  // namespace mbirk::program::report

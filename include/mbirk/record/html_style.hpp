// What the page of a graph looks like, and the elements that its script fills.
#pragma once

#include <string_view>

namespace mbirk::record::detail {

inline constexpr std::string_view graph_page_style = R"css(
:root{color-scheme:light dark;--bg:#f6f6f4;--card:#fff;--ink:#1c1f23;--soft:#5b6470;--edge:#d3d7dc;--head:#eef0f2;--line:#8a93a0;
--a:#1f5fbf;--in:#0b7a55;--out:#b3540a;--tmp:#8a2f8f;--hit:#ffe169;
--l0:#7c8794;--l1:#2f6fd0;--l2:#0b7a55;--l3:#a06a00;--l4:#c2410c;--l5:#b0186d}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--card:#1e2328;--ink:#e7e9ec;--soft:#a3adb9;--edge:#3a4149;--head:#262c32;--line:#77818d;
--a:#7fb2ff;--in:#5fd0a5;--out:#f2a65e;--tmp:#d79be0;--hit:#7a6a12;
--l0:#8d98a5;--l1:#6fa4f5;--l2:#4fc796;--l3:#e0b04a;--l4:#f08a5a;--l5:#f07ab8}}
*{box-sizing:border-box}
html,body{height:100%}
body{margin:0;display:flex;flex-direction:column;background:var(--bg);color:var(--ink);font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
header{padding:10px 14px 0}
h1{font-size:1.15rem;margin:0 0 6px;overflow-wrap:anywhere}
h2{font-size:1rem;margin:0 0 2px;overflow-wrap:anywhere}
h3{font-size:.87rem;margin:12px 0 2px}
p{margin:2px 0 6px}
.soft{color:var(--soft)}
button,input{font:inherit;color:inherit}
button{background:var(--card);border:1px solid var(--edge);border-radius:6px;padding:3px 9px;cursor:pointer}
button:hover{border-color:var(--a)}
button:focus-visible,input:focus-visible,svg:focus-visible{outline:2px solid var(--a);outline-offset:1px}
#forms{display:flex;flex-wrap:wrap;gap:8px}
#forms button{text-align:left;padding:5px 11px;border-left:4px solid var(--edge);line-height:1.3}
#forms button[aria-checked=true]{border-color:var(--a);background:var(--head)}
#forms button:disabled{cursor:default;border-color:var(--edge);color:var(--soft)}
#forms b{display:block}
#forms span{font-size:.83rem;color:var(--soft)}
.tools{display:flex;flex-wrap:wrap;gap:8px;align-items:center;margin:8px 0}
#path{font-weight:600;overflow-wrap:anywhere}
#path button{margin-right:6px;font-weight:400}
.tools .end{margin-left:auto;display:flex;gap:6px;align-items:center;flex-wrap:wrap}
#find{width:16em;max-width:50vw;background:var(--card);border:1px solid var(--edge);border-radius:6px;padding:3px 8px}
#found{font-size:.85rem;color:var(--soft)}
main{flex:1;min-height:0;display:grid;grid-template-columns:minmax(0,1fr) 340px;border-top:1px solid var(--edge)}
#canvas{width:100%;height:100%;display:block;touch-action:none;cursor:grab;user-select:none;-webkit-user-select:none}
#canvas.moving{cursor:grabbing}
#detail{overflow:auto;background:var(--card);border-left:1px solid var(--edge);padding:10px 14px;font-size:.9rem}
#detail table{border-collapse:collapse;width:100%;margin:2px 0 8px;font-variant-numeric:tabular-nums}
#detail td{padding:2px 6px 2px 0;vertical-align:top;border-bottom:1px solid var(--head)}
#detail td.n{text-align:right;padding-right:0}
#detail td:first-child code{white-space:nowrap}
#detail code,#detail .link{font:12.5px/1.4 ui-monospace,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
#detail .link{background:none;border:0;padding:0;color:var(--a);text-align:left}
#detail .swatch{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}
kbd{border:1px solid var(--edge);border-radius:3px;padding:0 4px;font:inherit;font-size:.85em}
svg text{fill:var(--ink);font:12px ui-monospace,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
svg .t{font-weight:700}
svg .s{fill:var(--soft)}
.box{cursor:pointer}
.box rect.body{fill:var(--card);stroke:var(--line)}
.box.stage rect.body{stroke:var(--a);stroke-width:1.6}
.box.statement rect.body{stroke:var(--out);stroke-width:1.6}
.box.input rect.body{stroke:var(--in);stroke-width:1.6}
.box.output rect.body{stroke:var(--out);stroke-width:1.6}
.box.temporary rect.body{stroke:var(--tmp);stroke-width:1.6;stroke-dasharray:6 4}
.box.load rect.body{stroke:var(--in)}
.box.elsewhere rect.body{stroke-dasharray:2 3}
.box:focus{outline:none}
.box:focus rect.body,.box.on rect.body{stroke:var(--a);stroke-width:3}
.box.hit rect.body{fill:var(--hit)}
.label text{fill:var(--soft)}
.label rect,.ground{fill:var(--bg)}
.wire{fill:none;stroke:var(--line);stroke-width:1.2}
.wire.on{stroke:var(--a);stroke-width:2.4}
.tip{fill:var(--line)}
.loop{fill:none;stroke:var(--soft);stroke-dasharray:3 4}
.dim .box:not(.hit):not(.on){opacity:.35}
.more{fill:var(--a)!important}
.l0{fill:var(--l0);background:var(--l0)}.l1{fill:var(--l1);background:var(--l1)}.l2{fill:var(--l2);background:var(--l2)}
.l3{fill:var(--l3);background:var(--l3)}.l4{fill:var(--l4);background:var(--l4)}.l5{fill:var(--l5);background:var(--l5)}
@media (max-width:760px){html,body{height:auto}main{display:block}#canvas{height:62vh;border-bottom:1px solid var(--edge)}#detail{border-left:0}
header{padding:8px 10px 0}#forms{gap:5px}#forms button{flex:1 1 100%;padding:4px 9px}#forms b{display:inline;margin-right:6px}.tools .end{margin-left:0}}
@media print{#detail,.tools{display:none}main{display:block}}
)css";

inline constexpr std::string_view graph_page_body = R"html(
<header><h1 id="title"></h1>
<div id="forms" role="radiogroup" aria-label="Before or after fusion"></div>
<div class="tools"><span id="path"></span><span class="end"><label class="soft" id="everyone" hidden><input type="checkbox" id="every"> every operation a box</label>
<input id="find" type="search" placeholder="Search names, operations" aria-label="Search names and operations" autocomplete="off"><span id="found" role="status"></span>
<button id="less" aria-label="Zoom out">&#8722;</button><button id="more" aria-label="Zoom in">+</button><button id="fit">Fit</button></span></div></header>
<main><svg id="canvas" tabindex="0" role="group" aria-label="The graph: Tab goes from box to box, arrow keys to the next one, Enter opens, Escape goes back">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">
<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs><g id="world"></g></svg>
<div id="detail" role="region" aria-label="Detail" tabindex="-1"></div></main>
<noscript><p>This page needs scripts. The same graph as text is in the .txt file beside it.</p></noscript>
)html";

}  // namespace mbirk::record::detail

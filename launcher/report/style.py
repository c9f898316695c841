"""How the page looks: colours after Okabe and Ito, told apart by colour-blind readers, on light and on dark.

No I/O here.
"""

from __future__ import annotations

SHEET = """
:root{color-scheme:light dark;--page:#fff;--ink:#1d2329;--soft:#5c6670;--faint:#e4e8ec;--rule:#c3ccd4;--track:#f3f5f7;
--joining:#9aa5b0;--staging:#e0a83a;--serving:#6db6e0;--training:#1f6fad;--trained:#128f6b;--down:#c2540a;
--good:#0b7a5a;--goodback:#e8f5f0;--bad:#b3400a;--badback:#fdf0e9;--open:#2a5f8f;--openback:#ebf3fa;
--l0:#1f6fad;--l1:#d98200;--l2:#128f6b;--l3:#c2540a;--l4:#b65b91;--l5:#4da3d4;--l6:#5c6670;--l7:#8a7a00}
@media(prefers-color-scheme:dark){:root{--page:#14181c;--ink:#e3e8ec;--soft:#98a4af;--faint:#2b333a;--rule:#46515b;--track:#1c2227;
--joining:#67737e;--staging:#d9a441;--serving:#67b3de;--training:#3d8fd1;--trained:#2fb58c;--down:#f0823a;
--good:#4fcaa3;--goodback:#12281f;--bad:#f79a62;--badback:#2e1c12;--open:#7fb8e8;--openback:#14232f;
--l0:#5aa5e0;--l1:#efab45;--l2:#2fb58c;--l3:#f0823a;--l4:#d98bb9;--l5:#8fd0f5;--l6:#a8b3bd;--l7:#cdbf3f}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1140px;padding:32px 40px 24px;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1{margin:0 0 14px;font-size:22px;font-weight:600;line-height:1.3}
h2{margin:38px 0 12px;font-size:16px;font-weight:600}
.verdict{padding:14px 18px;border-left:5px solid var(--tone);border-radius:4px}
.verdict p{margin:0}.verdict p+p{margin-top:4px}
.verdict strong{font-size:17px;font-weight:600;color:var(--ink)}.verdict em{font-style:normal;color:var(--tone)}
.good{--tone:var(--good);background:var(--goodback)}
.bad{--tone:var(--bad);background:var(--badback)}
.open{--tone:var(--open);background:var(--openback)}
.facts{display:flex;flex-wrap:wrap;gap:10px 34px;margin:20px 0 0}.facts+.facts{margin-top:12px}
dt{font-size:12.5px;color:var(--soft)}dd{margin:0}
.legend{display:flex;flex-wrap:wrap;gap:4px 22px;margin:0 0 12px;padding:0;list-style:none;
font-size:13px;color:var(--soft)}
.legend li{display:flex;align-items:center;gap:7px}
.wide{overflow-x:auto}.wide>svg{min-width:860px}.hint{display:none}
section svg{display:block}.wide>svg,figure svg{width:100%;height:auto}
svg text{font-family:inherit;fill:var(--ink)}
.tick{font-size:11px;fill:var(--soft)!important;text-anchor:middle}.tick.end{text-anchor:end}
.tick.name{font-size:11px}
.seat{text-anchor:end}.blamed{fill:var(--down);font-weight:600}.cause{font-size:11.5px}
path{fill:none}.grid{stroke:var(--rule)}.track{stroke:var(--track)}
.made{stroke:var(--ink);stroke-width:1;stroke-dasharray:2 3;opacity:.65}
.joining{stroke:var(--joining)}.staging{stroke:var(--staging)}.serving{stroke:var(--serving)}
.training{stroke:var(--training)}.trained{stroke:var(--trained)}.gap{stroke:var(--down)}
.pass{stroke:var(--ink);stroke-width:1.2;opacity:.7}
.row:hover .track{stroke:var(--faint)}.row path:not(.track):hover{opacity:.75}
.mark{stroke-width:2;stroke:var(--down)}.mark.lost{fill:var(--page)}
.mark.done{fill:var(--trained);stroke:var(--page);stroke-width:1}
.mark.stopped{fill:var(--soft);stroke:var(--page);stroke-width:1}
.mark.alarm{fill:var(--staging);stroke:var(--page);stroke-width:1}
.spent{margin-bottom:14px;border-radius:4px}.spent path{stroke:var(--page);stroke-width:1}
section td svg{display:inline-block;flex:none;margin-right:7px}
.spent-kept{fill:var(--trained)}.spent-training{fill:var(--training)}.spent-lost{fill:var(--down)}.spent-saving{fill:var(--l4)}
.spent-barrier{fill:var(--l7)}.spent-starting{fill:var(--serving)}.spent-staging{fill:var(--staging)}.spent-waiting{fill:var(--joining)}
.spent-leaving{fill:var(--soft)}.spent-unknown{fill:var(--faint)}.spent .spent-unknown{stroke:var(--rule)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));gap:22px 26px}
figure{margin:0;max-width:460px}figcaption{display:flex;justify-content:space-between;gap:12px;margin-bottom:4px}
figcaption b{font-weight:600}figcaption span{color:var(--soft);font-size:13px}
.line{stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
.l0{stroke:var(--l0)}.l1{stroke:var(--l1)}.l2{stroke:var(--l2)}.l3{stroke:var(--l3)}
.l4{stroke:var(--l4);stroke-dasharray:6 3}.l5{stroke:var(--l5);stroke-dasharray:6 3}
.l6{stroke:var(--l6);stroke-dasharray:2 3}.l7{stroke:var(--l7);stroke-dasharray:2 3}
.d0{fill:var(--l0)}.d1{fill:var(--l1)}.d2{fill:var(--l2)}.d3{fill:var(--l3)}
.d4{fill:var(--l4)}.d5{fill:var(--l5)}.d6{fill:var(--l6)}.d7{fill:var(--l7)}
.band{fill:var(--l0);opacity:.2}
.b0{fill:var(--l0);opacity:.06}.b1{fill:var(--l1);opacity:.06}.b2{fill:var(--l2);opacity:.06}.b3{fill:var(--l3);opacity:.06}
.b4{fill:var(--l4);opacity:.06}.b5{fill:var(--l5);opacity:.06}.b6{fill:var(--l6);opacity:.06}.b7{fill:var(--l7);opacity:.06}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{padding:6px 16px 6px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--faint)}
th{font-size:12.5px;font-weight:500;color:var(--soft);white-space:nowrap}
.n{width:1%;text-align:right;white-space:nowrap;padding-right:22px}.s{width:1%;white-space:nowrap}
.none,.note,.hint{color:var(--soft);margin:0}.note{margin-top:8px;font-size:13px}.none{margin-top:38px}
details{margin-top:14px}summary{cursor:pointer;font-size:14px}
pre{margin:8px 0 0;padding:10px 14px;border-radius:4px;background:var(--track);
font:12.5px/1.45 ui-monospace,Menlo,Consolas,
"DejaVu Sans Mono",monospace;white-space:pre-wrap}
.warn{margin:2px 0 0;font-size:13px;color:var(--bad)}
footer{margin-top:42px;padding-top:12px;border-top:1px solid var(--faint);font-size:12.5px;color:var(--soft)}
footer p{margin:0}
@media(max-width:940px){.hint{display:block;margin:0 0 6px;font-size:13px}}
@media(max-width:800px){body{padding:20px 16px}h1{font-size:19px}.facts{gap:8px 24px}
thead{display:none}tbody,tr,td{display:block}tr{padding:10px 0;border-bottom:1px solid var(--rule)}
td,.n,.s{display:flex;gap:12px;width:auto;padding:1px 0;border:0;text-align:left;white-space:normal}
td:empty{display:none}
td::before{content:attr(data-name);flex:0 0 104px;font-size:12.5px;color:var(--soft)}
.ranks thead{display:table-header-group}.ranks tbody{display:table-row-group}.ranks tr{display:table-row}
.ranks :is(td,th){display:table-cell;padding:5px 8px 5px 0;border-bottom:1px solid var(--faint);overflow-wrap:normal}
.ranks .n{text-align:right;white-space:nowrap}.ranks td::before{content:none}
.ranks :is(th,td):is(:nth-child(2),:nth-child(8)){display:none}}
@media print{body{max-width:none;padding:0}section{break-inside:avoid-page}}
"""

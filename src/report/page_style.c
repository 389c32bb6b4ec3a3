/* SPDX-License-Identifier: Apache-2.0
 *
 * Style sheet, head and sections of all pages, and the script of report.html, which shows
 * values under the pointer.
 */
#include "report/page.h"

/* An array of strings: compilers need not support strings of more than 4095 bytes. */
static const char *const style[] = {
    ":root{color-scheme:light dark;--back:#f4f6f8;--card:#fff;--text:#1f2733;"
    "--soft:#5a6675;--edge:#e1e6ec;--link:#0067a3;--fill:#eef2f6;--good:#00734f;"
    "--bad:#b3400a}"
    "@media(prefers-color-scheme:dark){:root{--back:#0e1217;--card:#171c23;--text:#"
    "e8edf4;"
    "--soft:#9fabba;--edge:#2a323d;--link:#6bb9f0;--fill:#212933;--good:#3ccf9e;"
    "--bad:#ff9a63}}\n"
    "*{box-sizing:border-box}"
    "html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}"
    "body{margin:0;background:var(--back);color:var(--text);"
    "font:16px/1.55 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,"
    "sans-serif;font-variant-numeric:tabular-nums}"
    "main,header,footer{max-width:1120px;margin:0 auto;padding:0 24px}"
    "header{padding-top:44px}"
    "h1{font-size:2.1rem;line-height:1.15;letter-spacing:-.02em;margin:0 0 6px;"
    "font-weight:680;overflow-wrap:anywhere}"
    "h2{font-size:1.28rem;letter-spacing:-.01em;margin:0;font-weight:650}"
    "h3{font-size:1rem;margin:22px 0 8px;font-weight:620}"
    "p{margin:.4em 0 .9em}"
    ".lead{color:var(--soft);font-size:1.06rem;margin:0 0 18px}"
    ".soft{color:var(--soft)}.note{color:var(--soft);max-width:74ch;font-size:.94rem}"
    "a{color:var(--link);text-decoration-thickness:1px;text-underline-offset:2px}"
    "nav{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 22px;font-size:.94rem}"
    "nav a{text-decoration:none}nav a:hover{text-decoration:underline}"
    ".alert{border-left:4px solid #c8860a;background:var(--card);padding:10px 16px;"
    "border-radius:6px;margin:0 0 20px}"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));"
    "gap:16px;margin:0 0 22px}"
    ".figure{background:var(--card);border:1px solid var(--edge);border-radius:14px;"
    "padding:16px 20px}"
    ".figure b{display:block;font-size:1.7rem;line-height:1.2;letter-spacing:-.02em;"
    "font-weight:680;margin:2px 0;overflow-wrap:anywhere}"
    ".figure span{color:var(--soft);font-size:.9rem;display:block}",
    "section{background:var(--card);border:1px solid var(--edge);border-radius:14px;"
    "padding:22px 26px 20px;margin:0 0 22px;scroll-margin-top:12px}"
    ".head{display:flex;align-items:baseline;justify-content:space-between;gap:12px;"
    "flex-wrap:wrap}.head a{font-size:.86rem}"
    ".chart{display:block;width:100%;height:auto;overflow:visible}"
    ".chart.narrow{display:none}.chart .series{transition:opacity .15s}"
    ".chart.narrow .row text{paint-order:stroke;stroke:var(--card);stroke-width:4px}"
    ".keys{display:flex;flex-wrap:wrap;gap:6px 8px;margin:10px 0 14px;padding:0;"
    "list-style:none;border:0}"
    ".keys label{display:inline-flex;align-items:center;gap:8px;padding:3px 12px 3px 8px;"
    "border:1px solid var(--edge);border-radius:99px;font-size:.92rem;cursor:pointer;"
    "background:var(--card);max-width:100%;overflow-wrap:anywhere}"
    ".keys label:hover{background:var(--fill)}"
    ".keys "
    "input{margin:0;color:inherit;accent-color:currentColor;width:14px;height:14px;flex:"
    "none}"
    ".keys span{color:var(--text)}.keys svg{width:34px;height:14px;flex:none}"
    ".keys label:has(input:not(:checked)) "
    "span{color:var(--soft);text-decoration:line-through}"
    ".key{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:9px;"
    "background:currentColor;flex:none}",
    ".scroll{overflow-x:auto;margin:6px 0 4px;max-height:560px}"
    "table{border-collapse:collapse;font-size:.93rem;width:100%}"
    "th,td{text-align:right;padding:7px 12px;border-bottom:1px solid var(--edge);"
    "white-space:nowrap}"
    "th{font-weight:600;color:var(--soft);font-size:.84rem;vertical-align:bottom}"
    "tbody th{color:var(--text);font-size:.93rem}"
    "th:first-child,td:first-child{text-align:left;padding-left:4px}"
    "tbody tr:last-child>*{border-bottom:0}tbody tr:hover>*{background:var(--fill)}"
    "caption{text-align:left;color:var(--soft);font-size:.88rem;padding:0 0 6px;"
    "position:sticky;left:0;max-width:calc(100vw - 56px)}"
    "td .good{color:var(--good)}td .bad{color:var(--bad)}"
    ".top td,.top th{font-weight:680}"
    "details{margin:12px 0 0}"
    "summary{cursor:pointer;color:var(--link);font-size:.93rem;width:fit-content}"
    "pre{background:var(--fill);border-radius:10px;padding:16px 18px;overflow:auto;"
    "font:13.5px/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;"
    "margin:10px 0 0;max-height:640px}"
    ".sheet{display:flex;flex-wrap:wrap;gap:10px 8px;margin:0;padding:0;list-style:none}"
    ".sheet li{width:74px;text-align:center;font-size:.76rem;line-height:1.25;"
    "color:var(--soft)}"
    ".sheet i{display:block;margin:0 auto 4px;border-radius:5px;background-color:"
    "var(--fill);image-rendering:pixelated;background-repeat:no-repeat}"
    ".sheet span{display:block;overflow:hidden;text-overflow:ellipsis}"
    ".files{columns:2;column-gap:36px;margin:8px 0 0;padding:0;list-style:none;"
    "font-size:.94rem}.files li{break-inside:avoid;margin:0 0 6px}",
    "footer{color:var(--soft);font-size:.86rem;padding-bottom:44px}"
    "#tip{position:absolute;pointer-events:none;background:var(--card);color:var(--text);"
    "border:1px solid var(--edge);border-radius:10px;padding:9px 13px;font-size:.86rem;"
    "line-height:1.5;box-shadow:0 6px 24px "
    "rgba(10,20,40,.16);z-index:9;white-space:nowrap;"
    "display:none}"
    "#tip table{width:auto}#tip td{padding:0 0 0 14px;border:0;font-size:.86rem}"
    "#tip td:first-child{padding:0}#tip b{display:block;margin-bottom:3px}"
    ".guide{stroke:var(--soft);stroke-width:1;stroke-dasharray:3 3}"
    "@media(max-width:860px){.chart.wide{display:none}"
    ".chart.narrow{display:block;max-width:540px;margin:0 auto}}"
    "@media(max-width:680px){main,header,footer{padding:0 12px}header{padding-top:24px}"
    "h1{font-size:1.55rem}section{padding:16px 14px 14px;border-radius:12px}"
    ".figures{grid-template-columns:1fr 1fr;gap:10px}.figure{padding:12px 14px}"
    ".figure b{font-size:1.25rem}.files{columns:1}th,td{padding:6px 9px}"
    ".sheet li{width:62px}}"
    "@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}"
    "@media print{body{background:#fff}section,.figure{break-inside:avoid;border-color:"
    "#ccc}nav,#tip,summary{display:none}}\n"};

/* Shows a tooltip with the strategies' values at the number of labels nearest to the
 * pointer, best first. Names are set as text, never as markup. */
const char report_page_script[] =
    "(function(){'use strict';\n"
    "var box=document.getElementById('data');if(!box)return;\n"
    "var d=JSON.parse(box.textContent),tip=document.getElementById('tip');\n"
    "var grid=[];d.series.forEach(function(s){s.points.forEach(function(p){\n"
    " if(grid.indexOf(p[0])<0)grid.push(p[0]);});});\n"
    "grid.sort(function(a,b){return a-b;});\n"
    "function shown(i){var k=document.getElementById('t'+i);return !k||k.checked;}\n"
    "function cell(row,text,kind){var t=document.createElement('td');\n"
    " if(kind){var k=document.createElement('span');k.className='key '+kind;"
    "t.appendChild(k);}\n"
    " t.appendChild(document.createTextNode(text));row.appendChild(t);}\n"
    "function number(v){return d.regression?v.toPrecision(4):(100*v).toFixed(2)+' %';}\n"
    "document.querySelectorAll('svg.curves').forEach(function(svg){\n"
    " var a=svg.querySelector('.geometry').dataset.axes.split(' ').map(Number);\n"
    " var guide=document.createElementNS('http://www.w3.org/2000/svg','line');\n"
    " guide.setAttribute('class','guide');guide.setAttribute('y1',a[6]);\n"
    " guide.setAttribute('y2',a[7]);guide.style.display='none';svg.appendChild(guide);\n"
    " function hide(){tip.style.display='none';guide.style.display='none';}\n"
    " function move(e){var r=svg.getBoundingClientRect();\n"
    "  var k=svg.viewBox.baseVal.width/r.width,x=(e.clientX-r.left)*k;\n"
    "  if(x<a[2]-12||x>a[3]+12){hide();return;}\n"
    "  var at=a[0]+(x-a[2])/(a[3]-a[2])*(a[1]-a[0]),best=grid[0];\n"
    "  grid.forEach(function(g){if(Math.abs(g-at)<Math.abs(best-at))best=g;});\n"
    "  var rows=[];d.series.forEach(function(s,i){if(!shown(i))return;\n"
    "   s.points.forEach(function(p){if(p[0]===best)rows.push([s,p]);});});\n"
    "  if(!rows.length){hide();return;}\n"
    "  rows.sort(function(p,q){return (q[1][1]-p[1][1])*(d.regression?-1:1);});\n"
    "  tip.textContent='';var b=document.createElement('b');\n"
    "  b.textContent=best+' labels';tip.appendChild(b);\n"
    "  var t=document.createElement('table');tip.appendChild(t);\n"
    "  rows.slice(0,16).forEach(function(row){var tr=t.insertRow();\n"
    "   cell(tr,row[0].name,'k'+row[0].colour);cell(tr,number(row[1][1]));\n"
    "   cell(tr,row[1][3]>1?'\\u00b1 '+number(row[1][2]):'');});\n"
    "  var gx=a[2]+(best-a[0])/(a[1]-a[0])*(a[3]-a[2]);\n"
    "  guide.setAttribute('x1',gx);guide.setAttribute('x2',gx);"
    "guide.style.display='';\n"
    "  tip.style.display='block';\n"
    "  var w=tip.offsetWidth,left=e.clientX+18;\n"
    "  if(left+w>document.documentElement.clientWidth-8)left=e.clientX-w-18;\n"
    "  tip.style.left=Math.max(8,left)+window.scrollX+'px';\n"
    "  tip.style.top=Math.max(8,e.clientY-tip.offsetHeight/2)+window.scrollY+'px';}\n"
    " svg.addEventListener('pointermove',move);svg.addEventListener('pointerdown',move);"
    "\n"
    " svg.addEventListener('pointerleave',hide);});\n"
    "})();\n";

void page_begin(scant__text *out, const char *title, bool script) {
    report_addf(out,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                "<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, "
                "initial-scale=1\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                "'none'; style-src 'unsafe-inline'; %simg-src data:\">\n"
                "<link rel=\"icon\" href=\"data:,\">\n<title>%s</title>\n<style>\n",
                script ? "script-src 'unsafe-inline'; " : "", title);
    scant__text_add(out, report_chart_style);
    scant__text_add(out, "\n");
    for (size_t i = 0; i < sizeof style / sizeof *style; i++)
        scant__text_add(out, style[i]);
}

void page_begin_body(scant__text *out, const char *title) {
    report_addf(out, "\n</style>\n</head>\n<body>\n<header><h1>%s</h1>\n", title);
}

void page_section_begin(scant__text *out, const char *id, const char *heading,
                        const char *file) {
    report_addf(out,
                "<section id=\"%s\" aria-labelledby=\"h-%s\"><div class=\"head\">"
                "<h2 id=\"h-%s\">%s</h2>",
                id, id, id, heading);
    if (file) report_addf(out, "<a href=\"charts/%s.svg\">as a file</a>", file);
    scant__text_add(out, "</div>\n");
}

"""The report of a push whose session showed attacks on the page, in each kind of output.

    python tests/browser/hostile_session.py FOLDER

Whatever succeeds changes the page's title, or loads an address of attacker.example.
"""

import json
import shutil
import sys
from pathlib import Path

import nbformat

from kernelkit import files
from kernelkit.pages.one_run import push_report
from kernelkit.runs import kit_folder
from kernelkit.session.recording import mark
from kernelkit.session_records import log as logs

RUNS = "document.title = 'owned'"
HTML = f"""<script>{RUNS}</script><img src=x onerror="{RUNS}"><svg onload="{RUNS}"></svg>
<iframe srcdoc="<script>parent.{RUNS}</script>"></iframe><object data="javascript:{RUNS}"></object>
<style>body {{ display: none }} @import url(https://attacker.example/a.css);</style>
<link rel="stylesheet" href="https://attacker.example/b.css"><base href="https://attacker.example/">
<meta http-equiv="refresh" content="0; url=https://attacker.example/c">
<a href="javascript:{RUNS}" style="position: fixed; inset: 0">over all</a>
<form action="https://attacker.example"><button autofocus onfocus="{RUNS}">press</button></form>
<table onclick="{RUNS}" style="background: url(https://attacker.example/d.png)"><td>42</td></table>
<details open ontoggle="{RUNS}"><summary>more</summary></details></script></div></main></body>"""
MARKDOWN = f"""[press](javascript:{RUNS}) ![x](https://attacker.example/e.png)
[data](data:text/html,<script>{RUNS}</script>) <https://attacker.example/f>

{HTML}

$\\href{{javascript:{RUNS}}}{{x}}$ `</script>{HTML}`"""
SVG = f"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 width="9" height="9" onload="{RUNS}"><script>{RUNS}; top.{RUNS}</script><foreignObject>{HTML}
</foreignObject><image xlink:href="https://attacker.example/g.png" width="9" height="9"/></svg>"""
ESCAPES = (
    "\x1b]0;owned\x07\x1b[2J\x1b]8;;javascript:alert(1)\x1b\\press\x1b]8;;\x1b\\\u202eevil\u202c"
)
VIEW = {"model_id": f'"><script>{RUNS}</script>', "version_major": 2, "version_minor": 0}
WIDGET = {"application/vnd.jupyter.widget-view+json": VIEW}
DATA = [
    {"text/html": HTML},
    {"text/html": f'<img src="data:image/svg+xml;base64,{"A" * 3_000_000}">'},
    {"text/html": "<div>" * 200_000},
    {"text/markdown": MARKDOWN},
    {"text/latex": f"$$\\href{{javascript:{RUNS}}}{{x}} {HTML}$$"},
    {"image/svg+xml": SVG, "text/plain": "<Figure>"},
    {"image/png": "A" * 3_000_000, "text/plain": f"a picture's name{ESCAPES}"},
    {**WIDGET, "text/plain": f"Slider({HTML})"},
    {**WIDGET, "text/html": HTML, "text/plain": "Slider()"},
    {"application/javascript": RUNS, "text/plain": f"<IPython.core.display.Javascript {RUNS}>"},
    {"application/vnd.plotly.v1+json": {"data": [{"x": HTML}], "layout": {"title": HTML}}},
    {f"text/html;{HTML}": HTML, "text/plain": "an odd kind"},
    {"text/plain": ESCAPES},
]


def make(folder: Path) -> None:
    """Write the run's folder and its report."""
    shutil.rmtree(folder, ignore_errors=True)
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell(f"# A hostile session\n\n## Below {HTML}\n\n{MARKDOWN}"),
            nbformat.v4.new_code_cell("show()"),
        ]
    )
    log = json.dumps([{"stream_name": "stdout", "time": 1.0, "data": f"{HTML}{ESCAPES}\n"}])
    logs.keep(folder, log, nbformat.writes(notebook))
    files.write_text(
        kit_folder.path(folder, kit_folder.MARKER),
        json.dumps({"kernel": "me/hostile", "version": 1, "rehearsal": True}),
    )
    sizes = {"image/png": {"width": f"1 onerror={RUNS}", "height": 10**9}}
    outputs = [{"output_type": "display_data", "data": data, "metadata": sizes} for data in DATA]
    outputs += [
        {"output_type": "stream", "name": HTML, "text": f"{HTML}{ESCAPES}\n"},
        {"output_type": "error", "ename": HTML, "evalue": HTML, "traceback": [HTML, ESCAPES]},
    ]
    lines = [{"cell": mark("show()")}, *({"output": output} for output in outputs)]
    place = kit_folder.path(folder, kit_folder.SESSION, "shown-001.jsonl")
    files.write_text(place, "".join(json.dumps(line) + "\n" for line in lines))
    page, why = push_report.report_or_why(folder, "me/hostile version 1")
    if page is None:
        raise SystemExit(str(why))


if __name__ == "__main__":
    make(Path(sys.argv[1]))

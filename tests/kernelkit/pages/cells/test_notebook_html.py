"""What a report shows of an output that it cannot show as a notebook does."""

import re

import nbformat
import pytest
from IPython import display
from sklearn.linear_model import LogisticRegression

from kernelkit.pages.cells import notebook_html
from kernelkit.pages.one_run import origin

NOTE = ": the notebook has it."


def shown(folder, data):
    """The text of a report's outputs, with the sources of its pictures."""
    cell = nbformat.v4.new_code_cell("show()")
    cell.outputs = [nbformat.v4.new_output("display_data", data=data)]
    notebook = nbformat.v4.new_notebook(cells=[cell])
    body = notebook_html.body(notebook, folder).partition("</details>")[2]
    return re.sub(r"<(?!img)[^>]*>", "", body).strip()


PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


@pytest.mark.parametrize(
    "markdown",
    [
        "![x](<attachment:my plot.png>)",
        "![x](attachment:my%20plot.png)",
        '<img src="attachment:my plot.png">',
    ],
)
def test_an_attached_picture_is_in_the_page(markdown, tmp_path):
    cell = nbformat.v4.new_markdown_cell(markdown)
    cell["attachments"] = {"my plot.png": {"image/png": PIXEL}}
    page = notebook_html.body(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
    assert f'src="data:image/png;base64,{PIXEL}"' in page


def test_a_picture_without_a_description_is_described_by_its_name(tmp_path):
    cell = nbformat.v4.new_markdown_cell('<img src="attachment:plot.png" width="9">')
    cell["attachments"] = {"plot.png": {"image/png": PIXEL}}
    page = notebook_html.body(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
    assert '<img alt="plot.png" src="data:' in page


@pytest.mark.parametrize(
    ("markdown", "note"),
    [
        ("![x](attachment:gone.png)", "x (the notebook lacks the picture gone.png)"),
        ('<img src="attachment:gone.png">', "(the notebook lacks the picture gone.png)"),
        ("![x](gone%20by.png)", "x (the notebook lacks the picture gone by.png)"),
        (
            '<img alt="a &amp; b" src="https://example.com/c.png">',
            "a &amp; b (the notebook lacks the picture https://example.com/c.png)",
        ),
    ],
)
def test_a_note_stands_where_a_picture_is_missing(markdown, note, tmp_path):
    cell = nbformat.v4.new_markdown_cell(markdown)
    page = notebook_html.body(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
    assert f"<em>{note}</em>" in page
    assert "<img" not in page


def test_a_picture_stays_within_the_tags_around_it(tmp_path):
    cell = nbformat.v4.new_markdown_cell(
        'A <a href="https://example.com"><img src="attachment:plot.png"></a> picture'
    )
    cell["attachments"] = {"plot.png": {"image/png": PIXEL}}
    page = notebook_html.body(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
    assert re.search(r'<a href="https://example.com"><img [^>]*/></a> picture', page)


def test_an_estimator_is_shown_as_its_text(tmp_path):
    model = LogisticRegression(C=0.5)

    data = {"text/html": model._repr_html_(), "text/plain": repr(model)}

    assert shown(tmp_path, data) == "LogisticRegression(C=0.5)"


@pytest.mark.parametrize(
    ("html", "note"),
    [
        (display.Audio(data=[0.0, 0.5], rate=8000)._repr_html_(), "A sound"),
        (display.Audio(data=[0.0, 0.5] * 150_000, rate=8000)._repr_html_(), "A sound"),
        (display.Video(url="run.mp4")._repr_html_(), "A video"),
        (display.IFrame("https://example.org", 600, 300)._repr_html_(), "An embedded page"),
        ("<object data='a.pdf'>no plugin</object>", "An embedded object"),
        ("<canvas>no canvas</canvas>", "A drawing"),
        ("<script>draw()</script>", "An output that a script draws"),
        ('<img src="https://example.org/a.png">', "A picture"),
        ("<embed src='a.pdf'>", "An output that a report cannot show"),
    ],
)
def test_a_note_stands_for_what_has_no_text(tmp_path, html, note):
    data = {"text/html": html, "text/plain": "<IPython.lib.display.Audio object>"}
    assert shown(tmp_path, data) == note + NOTE
    assert shown(tmp_path, {"text/html": html}) == note + NOTE


def test_the_text_is_shown_for_what_only_a_script_draws(tmp_path):
    data = {"text/html": "<div></div><script>draw()</script>", "text/plain": "Chart of 3 runs"}
    assert shown(tmp_path, data) == "Chart of 3 runs"


def test_a_table_with_buttons_stays_a_table(tmp_path):
    html = "<style>a{}</style><table><tr><td>.91</td></tr></table><button>Copy</button>"
    data = {"text/html": f"{html}<script>sort()</script>", "text/plain": "  f1\n0 .91"}
    assert shown(tmp_path, data) == ".91"


def test_hidden_markup_stays_hidden(tmp_path):
    output = nbformat.v4.new_output("display_data", data={"text/html": '<p hidden="">not</p>'})
    cell = nbformat.v4.new_code_cell("show()", outputs=[output])
    assert "<p hidden" in notebook_html.body(nbformat.v4.new_notebook(cells=[cell]), tmp_path)


@pytest.mark.parametrize(
    "data", [{}, {"text/html": ""}, {"text/plain": ""}, {"text/html": "<style>a{}</style>"}]
)
def test_an_empty_output_leaves_nothing(tmp_path, data):
    assert shown(tmp_path, data) == ""


def test_an_unknown_kind_without_a_text_is_named(tmp_path):
    data = {"application/x-model": "…", "text/plain": "<Model object at 0x7f01>"}
    assert shown(tmp_path, data) == f"application/x-model: {notebook_html.WHOLE}"


def test_formulas_are_marked_and_money_keeps_its_dollars(tmp_path):
    source = "$a<b$, $5 or $6\n\n$$\n\\hat y\n$$\n\n\\begin{align}c&=d\\end{align}\n\n`$e$`"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(source)])
    body = notebook_html.body(notebook, tmp_path)
    marked = re.findall('<code class="formula([^"]*)"[^>]*>(.*?)</code>', body, re.DOTALL)
    assert marked == [
        ("", "$a&lt;b$"),
        ("", "$5 or $"),
        (" displayed", "\\hat y"),
        (" displayed", "\\begin{align}c&amp;=d\\end{align}"),
    ]
    assert "<code>$e$</code>" in body
    assert "$5 or $6" in re.sub("<[^>]*>", "", body)


def test_an_output_in_latex_is_a_formula(tmp_path):
    data = {"text/latex": "$\\displaystyle x^{2} < 3$", "text/plain": "x**2 < 3"}
    assert shown(tmp_path, data) == "x^{2} &lt; 3"


def test_a_formula_runs_nothing(tmp_path):
    cell = nbformat.v4.new_markdown_cell("$<img src=x onerror=alert(1)>$")
    assert "<img" not in notebook_html.body(nbformat.v4.new_notebook(cells=[cell]), tmp_path)


def test_a_title_that_is_styled_as_html_is_its_text():
    styled = "# <p style='color: red'>HOUSE <b>PRICES</b></p>"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(styled)])
    assert origin.title(notebook) == "HOUSE PRICES"


def test_of_very_many_outputs_a_page_has_the_ends(tmp_path):
    cell = nbformat.v4.new_code_cell("show()")
    of_number = (f"number {number}." for number in range(3_000))
    cell.outputs = [
        nbformat.v4.new_output("display_data", data={"text/plain": text}) for text in of_number
    ]
    page = notebook_html.body(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
    assert page.count("number ") == 1_000
    assert "… 2,000 outputs: the executed notebook has all of it …" in page
    assert "number 2999." in page


@pytest.mark.parametrize(("lines", "scrolls"), [(40, False), (41, True)])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_long_text_scrolls_within_its_cell(tmp_path, stream, lines, scrolls):
    cell = nbformat.v4.new_code_cell("show()")
    cell.outputs = [nbformat.v4.new_output("stream", name=stream, text="a line\n" * lines)]
    page = notebook_html.body(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
    assert page.count("a line") == lines
    assert ('class="scroll" role="region" tabindex="0"' in page) == scrolls

"""nbconvert's HTML of a notebook, without what it would load from a network.

Formulas stay LaTeX, marked as such: MathJax would typeset them, which is larger than most reports.
"""

import copy
import re
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import bs4
import nbconvert
from jinja2 import pass_context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from kernelkit.pages.cells import safe_html

ATTACHMENT = "attachment:"  # begins the address of a picture in the notebook
_IMAGE = re.compile(r"(?i)<img\b[^<>]*>")
TEMPLATES = Path(__file__).parent / "templates"


def formula(latex: str, *, displayed: bool) -> str:
    """A formula's LaTeX as HTML, within its line or `displayed` on lines of its own."""
    kind = "formula displayed" if displayed else "formula"
    return f'<code class="{kind}" title="A formula in LaTeX">{escape(latex.strip())}</code>'


def latex_output(text: str) -> str:
    """HTML of an output's `text/latex`, which has its formula between dollars."""
    bare = text.strip().strip("$").strip().removeprefix("\\displaystyle")
    return formula(bare, displayed=True)


def _parsed(html: str) -> bs4.BeautifulSoup:
    return bs4.BeautifulSoup(html, features="html.parser")


class _Renderer(IPythonRenderer):  # type: ignore[misc]
    """nbconvert's Markdown, with its formulas marked, and a note in place of a missing picture."""

    def inline_math(self, body: str) -> str:
        # With its dollars: Markdown takes "$5 or $6" for a formula, too.
        return formula(f"${body}$", displayed=False)

    def block_math(self, body: str) -> str:
        return formula(body, displayed=True)

    def latex_environment(self, name: str, body: str) -> str:
        return formula(f"\\begin{{{name}}}{body}\\end{{{name}}}", displayed=True)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        tag = bs4.BeautifulSoup().new_tag("img", attrs={"src": url, "alt": _parsed(text).text})
        if title:
            tag["title"] = title
        return str(self._shown(tag))

    def _html_embed_images(self, html: str) -> str:
        # The rest stays as it is: of a tag whose end follows later, a parser makes a closed one.
        return _IMAGE.sub(self._shown_html, html)

    def _shown_html(self, image: re.Match[str]) -> str:
        tag = _parsed(image[0]).find("img", src=True)
        return str(self._shown(tag)) if tag else image[0]

    def _shown(self, tag: bs4.Tag) -> bs4.Tag:
        """The tag of a picture that lies in the notebook or beside it, or the note for another."""
        source = str(tag["src"])
        if source.startswith("data:"):
            return tag
        name = unquote(source.removeprefix(ATTACHMENT))
        if source.startswith(ATTACHMENT):
            data = self._attached(name)
        else:
            data = str(self._src_to_base64(name) or "")
        if data:
            shown = copy.copy(tag)
            shown["src"] = data
            shown["alt"] = tag.get("alt") or name
            return shown
        note = bs4.BeautifulSoup().new_tag("em")
        note.string = f"{tag.get('alt', '')} (the notebook lacks the picture {name})".strip()
        return note

    def _attached(self, name: str) -> str:
        """The `data:` address of a picture that the cell has with it; "" without it."""
        for kind, content in self.attachments.get(name, {}).items():
            if kind.startswith("image/"):
                return f"data:{kind};base64,{''.join(content)}".replace("\n", "")
        return ""


class Exporter(nbconvert.HTMLExporter):  # type: ignore[misc]
    """The cells of a notebook as a part of a report, with harmless HTML only."""

    def __init__(self) -> None:
        super().__init__(
            extra_template_basedirs=[str(TEMPLATES)],
            template_name="notebook",
            embed_images=True,
            sanitize_html=True,
            mathjax_url="",
            require_js_url="",
            filters={"clean_html": safe_html.clean, "latex_output": latex_output},
        )

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """The HTML of a cell's Markdown; its pictures are those beside the run, or attached."""
        cell = context.get("cell", {})
        renderer = _Renderer(
            escape=False,
            embed_images=True,
            path=context.get("resources", {}).get("metadata", {}).get("path", ""),
            exclude_anchor_links=True,
            attachments=cell.get("attachments", {}),
        )
        return str(MarkdownWithMath(renderer=renderer).render(source))

"""nbconvert's HTML of a notebook, without what it would load from a network.

Formulas stay LaTeX, marked as such: MathJax would typeset them, which is larger than most reports.
"""

import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbconvert
from jinja2 import pass_context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from kernelkit.pages import safe_html

_ATTACHMENT = re.compile(r"!\[([^\]]*)\]\(<?attachment:([^)>]*)>?\)")
TEMPLATES = Path(__file__).parent / "templates"


def formula(latex: str, *, displayed: bool) -> str:
    """A formula's LaTeX as HTML, within its line or `displayed` on lines of its own."""
    kind = "formula displayed" if displayed else "formula"
    return f'<code class="{kind}" title="A formula in LaTeX">{escape(latex.strip())}</code>'


def latex_output(text: str) -> str:
    """HTML of an output's `text/latex`, which has its formula between dollars."""
    bare = text.strip().strip("$").strip().removeprefix("\\displaystyle")
    return formula(bare, displayed=True)


class _Renderer(IPythonRenderer):  # type: ignore[misc]
    """nbconvert's Markdown, with its formulas marked."""

    def inline_math(self, body: str) -> str:
        # With its dollars: Markdown takes "$5 or $6" for a formula, too.
        return formula(f"${body}$", displayed=False)

    def block_math(self, body: str) -> str:
        return formula(body, displayed=True)

    def latex_environment(self, name: str, body: str) -> str:
        return formula(f"\\begin{{{name}}}{body}\\end{{{name}}}", displayed=True)


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
        )
        return str(MarkdownWithMath(renderer=renderer).render(_with_pictures(source, cell)))


def _with_pictures(markdown: str, cell: Mapping[str, Any]) -> str:
    """A cell's Markdown with its attached pictures in it, and a note in place of a missing one."""
    attached = cell.get("attachments", {})
    for name in sorted(attached, key=len, reverse=True):  # one may begin with another's name
        for kind, content in attached[name].items():
            if kind.startswith("image/"):
                picture = f"data:{kind};base64,{''.join(content)}".replace("\n", "")
                markdown = markdown.replace(f"attachment:{quote(name)}", picture)
                markdown = markdown.replace(f"attachment:{name}", picture)
    return _ATTACHMENT.sub(r"*\1 (the notebook lacks the picture \2)*", markdown)

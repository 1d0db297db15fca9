"""One HTML file that needs no network: the style sheet, the scripts and the data are inside it.

Nothing but the kit's own scripts runs in a page: its Content-Security-Policy names their hashes,
and allows no address to be asked for anything.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

PAGES = Path(__file__).parent
CHART = "chart.js"
CLOSED = "default-src 'none';"  # of a page's policy: as it stands it connects to nothing


def page(
    title: str,
    body: str,
    scripts: Sequence[str],
    data: Mapping[str, Any],
    back: Mapping[str, str] | None = None,
) -> str:
    """The page's HTML; `title` is text, `body` markup that the caller answers for.

    `scripts`: names of files in this folder, which run in that order and find `data` as JSON in
    the element `data`. `back`: {name: relative address} of the pages that led here.
    """
    sources = [source(name) for name in scripts]
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in sources]
    policy = (
        f"{CLOSED} style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'; script-src " + " ".join(f"'sha256-{digest}'" for digest in hashes)
    )
    return rendered(
        "page.html.j2",
        title=title,
        policy=policy,
        style=source("style.css"),
        back=back or {},
        body=body,
        data=as_json(data),
        scripts=sources,
    )


def is_free(page: Path) -> bool:
    """Whether a page may be written there: there is nothing, or an earlier page of the kit."""
    if not page.exists():
        return True
    with page.open("rb") as file:
        return CLOSED.encode() in file.read(500)  # the head comes first


def rendered(template: str, **values: object) -> str:
    """A template of this folder with these values, which are text unless it says otherwise."""
    return _environment().get_template(template).render(values)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader

    return Environment(loader=FileSystemLoader(PAGES), autoescape=True)


def source(name: str) -> str:
    """The text of a file of this folder."""
    return (PAGES / name).read_text("utf-8")


def as_json(value: object) -> str:
    """JSON that may stand in a script element: nan and infinities are null, and half a surrogate
    pair, which no browser can encode in a chart or an address, is a question mark."""
    finite = json.loads(json.dumps(value), parse_constant=lambda constant: None)
    # "</" would end the script element, wherever in a string it stands, and "<!--" its reading.
    text = json.dumps(finite, ensure_ascii=False).encode("utf-8", "replace").decode()
    return text.replace("<", "\\u003c")

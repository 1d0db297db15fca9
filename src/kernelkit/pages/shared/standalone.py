"""One HTML file that needs no network: the style sheet, the scripts and the data are inside it.

Nothing but the kit's own scripts runs in a page: its Content-Security-Policy names their hashes,
and allows no address to be asked for anything.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

PAGES = Path(__file__).parents[1]
SCRIPTS = PAGES / "scripts"
_IMPORT = re.compile(r'(?m)^import \{([^}]*)\} from "([^"]+)";$')
_EXPORT = re.compile(r"(?m)^export (?=(?:async )?(?:function|const) (\w+))")
CLOSED = "default-src 'none';"  # of a page's policy: as it stands it connects to nothing


def page(
    title: str,
    body: str,
    script: str,
    data: Mapping[str, Any],
    back: Mapping[str, str] | None = None,
) -> str:
    """The page's HTML; `title` is text, `body` markup that the caller answers for.

    `script`: the file of `scripts/` that makes the page; it finds `data` as JSON in the element
    `data`. `back`: {name: relative address} of the pages that led here.
    """
    code = bundled(script)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = (
        f"{CLOSED} style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        f"form-action 'none'; script-src 'sha256-{digest}'"
    )
    return rendered(
        "page.html.j2",
        title=title,
        policy=policy,
        style=(PAGES / "style.css").read_text("utf-8"),
        back=back or {},
        body=body,
        data=as_json(data),
        script=code,
    )


@functools.cache
def bundled(script: str) -> str:
    """A file of `scripts/` and all that it imports, as one script.

    A browser loads no module for a page on disk. So each file becomes a function that returns what
    the file exports, after those that it imports; `modules` has what each returned, by its path.
    Raises `ValueError` for files that import one another.
    """
    functions: dict[str, str] = {}
    _add_function(script, functions, ())
    return "\n".join(['"use strict";', "const modules = {};", *functions.values()])


def _add_function(script: str, functions: dict[str, str], above: tuple[str, ...]) -> None:
    """Add the function of a file behind those of its imports; `above`: the files that led to it."""
    if script in above:
        raise ValueError(f"scripts import one another: {' > '.join([*above, script])}")
    if script in functions:
        return

    def declared(found: re.Match[str]) -> str:
        imported = posixpath.normpath(posixpath.join(posixpath.dirname(script), found[2]))
        _add_function(imported, functions, (*above, script))
        return f'const {{{found[1]}}} = modules["{imported}"];'

    code = _IMPORT.sub(declared, (SCRIPTS / script).read_text("utf-8"))
    exported = ", ".join(_EXPORT.findall(code))
    body = _EXPORT.sub("", code)
    functions[script] = f'modules["{script}"] = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();'


def is_free(page: Path) -> bool:
    """Whether a page may be written there: there is nothing, or an earlier page of the kit."""
    if not page.exists():
        return True
    with page.open("rb") as file:
        return CLOSED.encode() in file.read(500)  # the head comes first


def rendered(template: str, **values: object) -> str:
    """A template of `pages` with these values, which are text unless it says otherwise."""
    return _environment().get_template(template).render(values)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader

    return Environment(loader=FileSystemLoader(PAGES), autoescape=True)


def as_json(value: object) -> str:
    """JSON that may stand in a script element: nan and infinities are null, and half a surrogate
    pair, which no browser can encode in a chart or an address, is a question mark."""
    finite = json.loads(json.dumps(value), parse_constant=lambda constant: None)
    # "</" would end the script element, wherever in a string it stands, and "<!--" its reading.
    text = json.dumps(finite, ensure_ascii=False).encode("utf-8", "replace").decode()
    return text.replace("<", "\\u003c")

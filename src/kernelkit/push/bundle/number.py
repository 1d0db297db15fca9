"""The number of a push in a bundle: put into its first cell, and found there again."""

import re

from kernelkit import files
from kernelkit.notebook.document import cell_source
from kernelkit.push.bundle.build import as_json

NUMBER = re.compile(r'^PUSH = "([0-9a-f]{16})?"', re.MULTILINE)  # in the first cell
# What reading a text as a notebook can raise, whatever it is.
NO_NOTEBOOK = (ValueError, LookupError, TypeError, AttributeError)


def stamped(text: str, number: str) -> str:
    """A bundle, or the source of its first cell, with the push's number in it.

    A notebook that cannot be read, as an edit on Kaggle may leave it, stays as it is.
    """
    if not text.startswith("{"):  # a script, or the cell
        return NUMBER.sub(f'PUSH = "{number}"', text, count=1)
    try:
        notebook = files.parse_json(text)
        first = notebook["cells"][0]
        first["source"] = stamped(cell_source(first), number)
    except NO_NOTEBOOK:
        return text
    return as_json(notebook)


def number_of(text: str) -> str:
    """The number in a notebook's first cell; empty if there is none."""
    try:
        first = cell_source(files.parse_json(text)["cells"][0]) if text.startswith("{") else text
    except NO_NOTEBOOK:
        return ""
    stated = NUMBER.search(first)
    if stated is None:
        return ""
    return stated[1] or ""

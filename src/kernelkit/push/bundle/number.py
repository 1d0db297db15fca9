"""The number of a push in a bundle, a notebook or a script: put into it, and found there again."""

import re

from kernelkit import files
from kernelkit.notebook.document import cell_source
from kernelkit.push.bundle.build import as_json

NUMBER = re.compile(r'^PUSH = "([0-9a-f]{16})?"', re.MULTILINE)  # in the first cell
# What reading a text as a notebook can raise, whatever it is.
NO_NOTEBOOK = (ValueError, LookupError, TypeError, AttributeError)


def stamped(text: str, number: str) -> str:
    """A bundle with the push's number in its first cell.

    A notebook that cannot be read, as an edit on Kaggle may leave it, stays as it is.
    """
    if not text.startswith("{"):  # a script
        return _with_number(text, number)
    try:
        notebook = files.parse_json(text)
        first = notebook["cells"][0]
        first["source"] = _with_number(cell_source(first), number)
    except NO_NOTEBOOK:
        return text
    return as_json(notebook)


def _with_number(source: str, number: str) -> str:
    return NUMBER.sub(f'PUSH = "{number}"', source, count=1)


def number_of(text: str) -> str:
    """The number in a bundle's first cell; empty if there is none."""
    first = text
    if text.startswith("{"):
        try:
            first = cell_source(files.parse_json(text)["cells"][0])
        except NO_NOTEBOOK:
            return ""
    stated = NUMBER.search(first)
    return (stated[1] or "") if stated else ""

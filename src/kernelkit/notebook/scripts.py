"""Scripts: their block of parameters, and how a script is divided once it is pushed.

A pushed script consists of

1. its docstring and its `from __future__` imports, which Python wants first;
2. what the push carries, its facts and its files;
3. the line `BEGINS`;
4. the script without these imports, in which what is set with -p stands between the lines `STOPS`
   and `GOES_ON`.

`push.bundle.build` writes it so, and whoever reads a pushed script or its log looks for the marks.
"""

import ast
import re
from itertools import zip_longest
from pathlib import Path
from typing import Any

from kernelkit.errors import NotebookError
from kernelkit.notebook.document import PARAMETERS_TAG
from kernelkit.notebook.language import python

BEGINS = "# The bundled files end here; the script itself begins."
STOPS = "# The parameters of this push."
GOES_ON = "# The script goes on."
_BLOCK = '#%%tags=["parameters"]'  # without its spaces


def read_script(path: Path) -> dict[str, Any]:
    """A script as a notebook's JSON: its block of parameters, and the code before and after it.

    The block begins at the line `# %% tags=["parameters"]` and ends at the next `# %%`. Each has
    the number of the `line` at which it begins, and together they are the file's text. Raises
    `NotebookError` if the file cannot be read.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise NotebookError(f"{path} cannot be read as UTF-8 text: {error}") from None
    cells: list[dict[str, Any]] = []
    line = 1
    for part in re.split(r"^(?=# %%)", text, flags=re.MULTILINE):
        first_line = part.partition("\n")[0]
        is_block = first_line.replace(" ", "") == _BLOCK
        metadata = {"tags": [PARAMETERS_TAG]} if is_block else {}
        if cells and cells[-1]["metadata"] == metadata:
            cells[-1]["source"] += part
        else:
            cell = {"cell_type": "code", "metadata": metadata, "source": part, "line": line}
            cells.append(cell)
        line += part.count("\n")
    return {"cells": cells}


def divided(source: str) -> tuple[list[str], str]:
    """What Python wants first in a script, and the script without its `from __future__` imports.

    The first are its docstring, which the script keeps, and these imports, each once. Where they
    stood there is nothing, or empty lines, so that the other lines keep their numbers.
    """
    tree, _ = python.tree(source, cell=False)
    first: list[str] = []
    match tree.body:
        case [ast.Expr(ast.Constant(str()) as constant), *_]:
            first.append(ast.get_source_segment(source, constant) or "")
    lines = [line.encode() for line in source.split("\n")]  # a syntax tree counts bytes
    imports: list[str] = []
    # From the last, so that places before it stay as they are.
    for statement, following in reversed([*zip_longest(tree.body, tree.body[1:])]):
        if not isinstance(statement, ast.ImportFrom) or statement.module != "__future__":
            continue
        imports.insert(0, ast.unparse(statement))
        begin, end = statement.lineno - 1, (statement.end_lineno or 0) - 1
        before = lines[begin][: statement.col_offset]
        after = lines[end][statement.end_col_offset or 0 :]
        if following and following.lineno - 1 == end:  # on the same line, after a semicolon
            after = lines[end][following.col_offset :]
        lines[begin : end + 1] = [before + after, *[b""] * (end - begin)]
    return [*first, *dict.fromkeys(imports)], b"\n".join(lines).decode()

"""Scripts: their block of parameters, and how a script is divided once it is pushed.

A pushed script consists of

1. its docstring and its `from __future__` imports, which Python wants first;
2. what the push carries, its facts and its files;
3. the line `BEGINS`;
4. the script without these imports, in which what is set with -p stands between the lines `STOPS`
   and `GOES_ON`.

`push.bundle.build` writes it so, and whoever reads a pushed script or its log looks for the marks.
"""

import re
from pathlib import Path
from typing import Any

from kernelkit.errors import NotebookError
from kernelkit.notebook.document import PARAMETERS_TAG

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

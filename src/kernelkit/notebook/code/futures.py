"""The `from __future__` imports of a script, which Python wants before everything else."""

import ast
from itertools import zip_longest

from kernelkit.notebook.language import python


def divided(source: str) -> tuple[list[str], str]:
    """The `from __future__` imports of a script, each once, and the script without them.

    Where they stood there is nothing, or empty lines, so that the other lines keep their numbers.
    """
    tree, _ = python.tree(source, cell=False)
    lines = [line.encode() for line in source.split("\n")]  # a syntax tree counts bytes
    found: list[str] = []
    # From the last, so that places before it stay as they are.
    for statement, following in reversed([*zip_longest(tree.body, tree.body[1:])]):
        if not isinstance(statement, ast.ImportFrom) or statement.module != "__future__":
            continue
        found.insert(0, ast.unparse(statement))
        first, last = statement.lineno - 1, (statement.end_lineno or 0) - 1
        before = lines[first][: statement.col_offset]
        after = lines[last][statement.end_col_offset or 0 :]
        if following and following.lineno - 1 == last:  # on the same line, after a semicolon
            after = lines[last][following.col_offset :]
        lines[first : last + 1] = [before + after, *[b""] * (last - first)]
    return list(dict.fromkeys(found)), b"\n".join(lines).decode()

"""Kaggle's own paths in a rehearsal: "/kaggle/input/…" leads to the session's folder.

Only root could make /kaggle, and two sessions would share it. So every Python of a session compiles
its code with the session's folders in their place: in a text that begins with such a path, and
anywhere in a shell line or a magic. `install` is called by the image, which holds this file.
Installed packages are left as they are.
"""

import ast
import builtins
import json
import os
import re
import shlex
from typing import Any

MOUNTS = "LOCAL_KAGGLE_MOUNTS"  # the variable with {"/kaggle/input": a folder, …} as JSON
SHELLS = {"system", "getoutput", "popen", "run_line_magic", "run_cell_magic"}
ANY = "/kaggle/"


class SessionPaths(ast.NodeTransformer):
    """Puts the folders of `mounts` where a syntax tree has Kaggle's."""

    def __init__(self, mounts: dict[str, str]) -> None:
        self._mounts = mounts
        places = "|".join(map(re.escape, mounts))
        self._path = re.compile(rf"(?<![\w./-])({places})(?![\w.-])")

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """A text that is one of the paths or begins with it."""
        text = node.value
        if isinstance(text, str) and (match := self._path.match(text)):
            rest = text[match.end() :]
            if not rest or rest[0] == "/":
                return ast.copy_location(ast.Constant(self._mounts[match[1]] + rest), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A shell line or a magic, in which the paths are words."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in SHELLS:
            node.args = [self._in_shell(argument) for argument in node.args]
        return self.generic_visit(node)

    def _in_shell(self, node: ast.expr) -> ast.expr:
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return node
        line = self._path.sub(lambda match: shlex.quote(self._mounts[match[1]]), node.value)
        return ast.copy_location(ast.Constant(line), node)


def install() -> None:
    """Have this process compile with the session's folders; without `MOUNTS` nothing changes."""
    if not os.environ.get(MOUNTS):
        return
    mounts = json.loads(os.environ[MOUNTS])
    plain = builtins.compile

    def moved(
        source: Any,
        filename: Any,
        mode: str,
        flags: int = 0,
        dont_inherit: bool = False,
        **options: Any,
    ) -> Any:
        text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
        installed = "-packages" in str(filename)  # their compiled files outlive the session
        if installed or not isinstance(text, str) or ANY not in text:
            return plain(source, filename, mode, flags, dont_inherit, **options)
        # This function's own flags are none: a caller's are in `flags`, or it has none either.
        tree = plain(source, filename, mode, flags | ast.PyCF_ONLY_AST, True, **options)
        tree = ast.fix_missing_locations(SessionPaths(mounts).visit(tree))
        if flags & ast.PyCF_ONLY_AST:
            return tree
        return plain(tree, filename, mode, flags, True, **options)

    builtins.compile = moved  # type: ignore[assignment]

"""Texts, and the paths below /kaggle/input that they name."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from kernelkit.notebook.code.noting.around import Around
from kernelkit.notebook.code.noting.expressions import dotted, names_below, text_of, text_with_names
from kernelkit.notebook.code.noting.noted_names import NotedNames
from kernelkit.notebook.code.noting.paths import SAME
from kernelkit.notebook.code.records import WRITING, Input, Reading

_TESTS = {"exists", "is_dir", "is_file", "isdir", "isfile", "lexists"}
_WRITES = ("to_", "save", "write_", "mkdir", "makedirs", "imwrite", "touch")  # how they begin
_INPUT = re.compile(r"(?:/kaggle|\.\.)/input/([\w.{-]*[\w}][^\n]*)")
_INPUT_IN_TEXT = re.compile(
    r"(?<![\w/])(?:/kaggle|\.\.)/input/([\w.-]*\w(?:/[\w./-]*)?)(?=[\s\"']|$)"
)
_AT_NAME = re.compile(r"@([^\W\d]\w*)")  # as in pandas' frame.query("width > @least")


class NotedInputs:
    """Notes the texts of a source, and the inputs that they and its commands name."""

    def __init__(self, found: Reading, around: Around, names: NotedNames) -> None:
        self.found = found
        self.around = around
        self.names = names
        self.handlers: Mapping[type[ast.AST], Callable[[Any], None]] = {
            ast.Constant: self._text,
            ast.JoinedStr: self._f_string,
        }

    def in_command(self, word: str, node: ast.AST, *, optional: bool) -> None:
        """Note the inputs that a word of a command names."""
        for named in _INPUT_IN_TEXT.finditer(word):
            self._input(named[1], node, optional=optional)

    def of_slug(self, slug: str, node: ast.AST) -> None:
        """Note the input that Kaggle's `KaggleDatasets().get_gcs_path` finds by its slug."""
        if slug:
            optional = any(map(_may_do_without, self.around.above))
            self.found.inputs.append(Input(slug, self.around.line(node), optional))

    def _text(self, node: ast.Constant) -> None:
        if not isinstance(node.value, str) or isinstance(self.around.holder, ast.Expr):
            return
        self.found.texts.append(node.value)
        for name in _AT_NAME.findall(node.value):
            self.names.read(name)
        if not isinstance(self.around.holder, ast.JoinedStr):
            self._path(node.value, node)

    def _f_string(self, node: ast.JoinedStr) -> None:
        self._path(text_with_names(node, self.around.parameters()), node)

    def _path(self, text: str, node: ast.expr) -> None:
        """Note a text that is the path of an input, unless the code writes there."""
        named = _INPUT.fullmatch(text)
        if named is None or ("/" not in named[1] and _goes_on(node, self.around.holder)):
            return
        around = self._around_path()
        if any(isinstance(each, ast.Call) and _writes(each) for each in around):
            return
        lists = [each for each in around if isinstance(each, ast.List | ast.Tuple)]
        is_one_of_several = bool(lists) and len(lists[0].elts) > 1
        optional = is_one_of_several or any(map(_may_do_without, self.around.above))
        self._input(named[1], node, optional=optional)

    def _around_path(self) -> list[ast.AST]:
        """The nodes around the path that a text is part of, from the nearest to the call that
        gets it."""
        around = []
        for holder in reversed(self.around.above):
            around.append(holder)
            if isinstance(holder, ast.Call) and not _makes_path(holder):
                break
        return around

    def _input(self, path: str, node: ast.AST, *, optional: bool) -> None:
        self.found.inputs.append(Input(path, self.around.line(node), optional))


def _may_do_without(holder: ast.AST) -> bool:
    """Whether code below a node can do without an input: a `try`, or a test for a path."""
    match holder:
        case ast.Try() | ast.TryStar():
            return True
        case ast.If(test) | ast.While(test) | (ast.IfExp() | ast.BoolOp() as test):
            return not _TESTS.isdisjoint(names_below(test))
    return False


def _makes_path(call: ast.Call) -> bool:
    """Whether a call makes a path of a path."""
    return dotted(call.func).rpartition(".")[2] in (*SAME, "join")


def _writes(call: ast.Call) -> bool:
    """Whether a call that gets a path writes there, by its name or by the mode of `open`."""
    last = dotted(call.func).rpartition(".")[2]
    if last != "open":
        return last.startswith(_WRITES)
    modes = [*call.args[:2], *(each.value for each in call.keywords if each.arg == "mode")]
    return any(text_of(each).startswith(WRITING) for each in modes)


def _goes_on(node: ast.AST, holder: ast.AST) -> bool:
    """Whether a text is the beginning of a longer one."""
    return isinstance(holder, ast.BinOp) and node is holder.left

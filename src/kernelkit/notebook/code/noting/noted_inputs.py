"""Texts, and the paths below /kaggle/input that they name."""

import ast
import re

from kernelkit.notebook.code.noting.expressions import dotted, names_below, text_of, text_with_names
from kernelkit.notebook.code.noting.noting_context import Context
from kernelkit.notebook.code.noting.paths import SAME
from kernelkit.notebook.code.records import WRITING, Input

_TESTS = {"exists", "is_dir", "is_file", "isdir", "isfile", "lexists"}
_WRITES = ("to_", "save", "write_", "mkdir", "makedirs", "imwrite", "touch")  # how they begin
_INPUT = re.compile(r"(?:/kaggle|\.\.)/input/([\w.{-]*[\w}][^\n]*)")
_INPUT_IN_TEXT = re.compile(
    r"(?<![\w/])(?:/kaggle|\.\.)/input/([\w.-]*\w(?:/[\w./-]*)?)(?=[\s\"']|$)"
)
_AT_NAME = re.compile(r"@([^\W\d]\w*)")  # as in pandas' frame.query("width > @least")


def text(context: Context, node: ast.Constant) -> None:
    """Note a literal that is a text, but for a docstring, and the input that it is a path of."""
    if not isinstance(node.value, str) or isinstance(context.holder, ast.Expr):
        return
    context.found.texts.append(node.value)
    for name in _AT_NAME.findall(node.value):
        context.read(name)
    if not isinstance(context.holder, ast.JoinedStr):
        _path(context, node.value, node)


def f_string(context: Context, node: ast.JoinedStr) -> None:
    """Note the input that an f-string is a path of."""
    _path(context, text_with_names(node, context.parameters()), node)


def in_command(context: Context, word: str, node: ast.expr, *, optional: bool) -> None:
    """Note the inputs that a word of a command names."""
    for named in _INPUT_IN_TEXT.finditer(word):
        context.found.inputs.append(Input(named[1], node.lineno, optional))


def of_slug(context: Context, slug: str, node: ast.expr) -> None:
    """Note the input that Kaggle's `KaggleDatasets().get_gcs_path` finds by its slug."""
    if slug:
        optional = any(map(_may_do_without, context.above))
        context.found.inputs.append(Input(slug, node.lineno, optional))


def _path(context: Context, text: str, node: ast.expr) -> None:
    """Note a text that is the path of an input, unless the code writes there."""
    named = _INPUT.fullmatch(text)
    if named is None or ("/" not in named[1] and _goes_on(node, context.holder)):
        return
    around = _around_path(context)
    if any(isinstance(each, ast.Call) and _writes(each) for each in around):
        return
    lists = [each for each in around if isinstance(each, ast.List | ast.Tuple)]
    is_one_of_several = bool(lists) and len(lists[0].elts) > 1
    optional = is_one_of_several or any(map(_may_do_without, context.above))
    context.found.inputs.append(Input(named[1], node.lineno, optional))


def _around_path(context: Context) -> list[ast.AST]:
    """The nodes around the path that a text is part of, from the nearest to the call that gets
    it."""
    around = []
    for holder in reversed(context.above):
        around.append(holder)
        if isinstance(holder, ast.Call) and not _makes_path(holder):
            break
    return around


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

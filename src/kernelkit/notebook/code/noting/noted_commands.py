"""Commands of a shell, and processes that Python starts."""

import ast
from collections.abc import Callable, Iterable, Sequence

from kernelkit.notebook.code.noting import noted_inputs
from kernelkit.notebook.code.noting.expressions import dotted, text_of
from kernelkit.notebook.code.noting.noting_context import Context
from kernelkit.notebook.code.records import Command
from kernelkit.notebook.language import shell
from kernelkit.notebook.language.shell import Start

# Functions of `os`, `subprocess` and IPython that start a process.
_STARTS = {"system", "popen", "run", "Popen", "check_call", "check_output", "call", "getoutput"}


def listed(context: Context, node: ast.List | ast.Tuple) -> None:
    """Note a list that is a command: it begins with the interpreter, or something starts it.

    One that begins with the interpreter may be given to `subprocess.run` much later, by a name.
    """
    if not node.elts:
        return
    first, *arguments = node.elts
    name = text_of(first)
    if dotted(first) == "sys.executable" or shell.is_python(name):
        name = "python"
    elif not _is_started(context):
        return
    if name:
        command(context, [name, *(text_of(each) or "{}" for each in arguments)], node)


def _is_started(context: Context) -> bool:
    """Whether the list is an argument of what starts a process."""
    holder = context.holder
    return isinstance(holder, ast.Call) and starts_process(context.full(dotted(holder.func)))


def in_shell(context: Context, text: str, node: ast.expr) -> None:
    """Note the commands in lines that run in a shell."""
    context.read_all_in(text)
    for words in shell.commands(text):
        command(context, words, node)


def command(
    context: Context,
    words: Sequence[str],
    node: ast.expr,
    started: Callable[[Sequence[str]], Iterable[Start]] = shell.started_by_shell,
) -> None:
    """Note a command by its words; `started` says what one with these words starts."""
    guarded = context.is_guarded(node) or context.functions > 0
    context.found.commands.append(Command(tuple(words), node.lineno, guarded))
    context.found.starts += started(words)
    for word in words:
        noted_inputs.in_command(context, word, node, optional=guarded)


def starts_process(name: str) -> bool:
    """Whether a function of this full name starts a process."""
    owner, _, last = name.rpartition(".")
    return last in _STARTS and owner in ("os", "subprocess", "get_ipython()")

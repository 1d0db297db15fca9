"""Commands of a shell, processes that Python starts, and magics."""

import ast
from collections.abc import Callable, Mapping
from typing import Any

from kernelkit.notebook.code.noting.around import Around
from kernelkit.notebook.code.noting.expressions import dotted, text_of
from kernelkit.notebook.code.noting.noted_inputs import NotedInputs
from kernelkit.notebook.code.noting.noted_names import NotedNames
from kernelkit.notebook.code.records import (
    ANYTHING,
    Command,
    Magic,
    Reading,
    Variable,
    WrittenFile,
)
from kernelkit.notebook.language import python, shell

# Magics whose body, or whose line, is Python of this notebook.
_PYTHON_BODIES = ("capture", "time", "timeit")  # `timeit` sets no name of the notebook
# Functions of `os`, `subprocess` and IPython that start a process.
_STARTS = {"system", "popen", "run", "Popen", "check_call", "check_output", "call", "getoutput"}


class NotedCommands:
    """Notes the commands and the magics of a source.

    `visit_module` visits the statements of a tree, as those of a magic's body; `sets` says whether
    what they assign becomes a name of the source.
    """

    def __init__(
        self,
        found: Reading,
        around: Around,
        names: NotedNames,
        inputs: NotedInputs,
        visit_module: Callable[[ast.Module, bool], None],
    ) -> None:
        self.found = found
        self.around = around
        self.names = names
        self.inputs = inputs
        self.visit_module = visit_module
        self.handlers: Mapping[type[ast.AST], Callable[[Any], None]] = {
            ast.List: self._list,
            ast.Tuple: self._list,
        }

    def _list(self, node: ast.List | ast.Tuple) -> None:
        """A list that is a command: it begins with the interpreter, or something starts it.

        One that begins with the interpreter may be given to `subprocess.run` much later, by a name.
        """
        if not node.elts:
            return
        first, *arguments = node.elts
        name = text_of(first)
        if dotted(first) == "sys.executable" or shell.is_python(name):
            name = "python"
        elif not self._is_started():
            return
        if name:
            self._command([name, *(text_of(each) or "{}" for each in arguments)], node)

    def _is_started(self) -> bool:
        """Whether the list is an argument of what starts a process."""
        holder = self.around.holder
        return isinstance(holder, ast.Call) and starts_process(self.names.full(dotted(holder.func)))

    def in_shell(self, text: str, node: ast.AST) -> None:
        """Note the commands in lines that run in a shell."""
        self.names.read_all_in(text)
        for words in shell.commands(text):
            self._command(words, node)

    def _command(self, words: list[str], node: ast.AST, *, is_magic: bool = False) -> None:
        line = self.around.line(node)
        guarded = self.around.is_guarded(node) or self.around.functions > 0
        self.found.commands.append(Command(tuple(words), line, is_magic, guarded))
        started = shell.started_by_magic if is_magic else shell.started_by_shell
        self.found.starts += started(words)
        for word in words:
            self.inputs.in_command(word, node, optional=guarded)

    def line_magic(self, node: ast.Call) -> None:
        """Note a call of `run_line_magic`, which IPython makes of a line with `%`."""
        match [text_of(each) for each in node.args]:
            case [name, text, *_]:
                line = self.around.line(node)
                self.found.magics.append(Magic(name, of_cell=False))
                self.names.read_all_in(text)
                if name == "run":
                    self.names.read(ANYTHING)
                if name in _PYTHON_BODIES:
                    self._python_body(text, name, node, line - 1)
                    return
                if name in ("env", "set_env"):
                    self._set_by_magic(text, line)
                self._command([name, *shell.words(text)], node, is_magic=True)

    def _set_by_magic(self, text: str, line: int) -> None:
        name, equals, value = text.partition("=")
        if not equals:
            name, _, value = text.strip().partition(" ")
        if name.strip() and value.strip():
            known = None if {"{", "$"} & set(value) else value.strip()
            self.found.environment.append(Variable(name.strip(), known, line))

    def cell_magic(self, node: ast.Call) -> None:
        """Note a call of `run_cell_magic`, which IPython makes of a cell with `%%`."""
        match [text_of(each) for each in node.args]:
            case [name, arguments, body]:
                self.found.magics.append(Magic(name, of_cell=True))
                if name in _PYTHON_BODIES:
                    self.names.read_all_in(arguments)  # as in `%%timeit data = rows`
                    self._body_of_cell(body, name, node)
                elif name in ("writefile", "file"):
                    paths = [word for word in shell.words(arguments) if not word.startswith("-")]
                    if paths:
                        self.found.writes.append(WrittenFile(paths[-1], body))
                else:
                    self.names.read_all_in(f"{arguments}\n{body}")
                    if name in shell.SHELL_MAGICS and "python" not in arguments:
                        self.in_shell(body, node)

    def _body_of_cell(self, body: str, name: str, node: ast.Call) -> None:
        line = self.around.line(node)
        problem = self._python_body(body, name, node, line)
        if problem:  # not so of a line, which may begin with the magic's own options
            at = problem.line + line if problem.line else 0
            self.found.problem = problem._replace(line=at)

    def _python_body(
        self, body: str, name: str, node: ast.Call, offset: int
    ) -> python.Problem | None:
        """Visit the Python of a magic, whose first line is the one after `offset`.

        Returns what is wrong if it is not Python.
        """
        tree, problem = python.tree(body, cell=True)
        if problem:
            self.names.read(ANYTHING)
        before = self.around.offset, self.names.reads, self.names.reads_in_functions
        self.around.offset = offset
        is_certain = not self.around.is_guarded(node) and not self.around.functions
        self.visit_module(tree, is_certain and name != "timeit")
        self.around.offset, self.names.reads, self.names.reads_in_functions = before
        return problem


def starts_process(name: str) -> bool:
    """Whether a function of this full name starts a process."""
    owner, _, last = name.rpartition(".")
    return last in _STARTS and owner in ("os", "subprocess", "get_ipython()")

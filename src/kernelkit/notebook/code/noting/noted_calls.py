"""Calls, and what some of them do: import, search in a folder, set a variable, start a process."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from kernelkit.notebook.code.noting.around import Around
from kernelkit.notebook.code.noting.expressions import (
    argument_of,
    dotted,
    text_of,
    value_of,
)
from kernelkit.notebook.code.noting.noted_commands import NotedCommands, starts_process
from kernelkit.notebook.code.noting.noted_names import NotedNames
from kernelkit.notebook.code.noting.paths import place_of
from kernelkit.notebook.code.records import NOT_LITERAL, Call, Place, Reading, Variable

_DOTTED = re.compile(r"\w+(?:\.\w+)*")


class NotedCalls:
    """Notes the calls of a source and what they do, and assignments to `os.environ`."""

    def __init__(
        self, found: Reading, around: Around, names: NotedNames, commands: NotedCommands
    ) -> None:
        self.found = found
        self.around = around
        self.names = names
        self.commands = commands
        self.places: dict[str, Place] = {}  # the paths that names have
        self.handlers: Mapping[type[ast.AST], Callable[[Any], None]] = {
            ast.Call: self._call,
            ast.Assign: self._assign,
            ast.AnnAssign: self._assign,
        }

    def _call(self, node: ast.Call) -> None:
        name = dotted(node.func)
        if name == "get_ipython().run_line_magic":
            self.commands.line_magic(node)
        elif name == "get_ipython().run_cell_magic":
            self.commands.cell_magic(node)
        elif name:
            self._note(node, name)
        self._do(node, self.names.full(name))

    def _note(self, node: ast.Call, name: str) -> None:
        parameters = self.around.parameters()
        arguments = [argument_of(each, parameters) for each in node.args]
        keywords = {}
        for each in node.keywords:
            if each.arg:
                keywords[each.arg] = argument_of(each.value, parameters)
        self.found.calls.append(
            Call(
                name,
                tuple(arguments),
                keywords,
                self.around.line(node),
                guarded=self.around.is_guarded(node),
            )
        )

    def _do(self, node: ast.Call, name: str) -> None:
        """Note what a call does, by its full name."""
        owner, _, last = name.rpartition(".")
        match last, node.args:
            case "import_module" | "__import__", _:
                self._import_by_name(node)
            case ("append", [folder]) | ("insert", [_, folder]) if owner == "sys.path":
                self._search_in(folder)
            case "get_gcs_path", [slug]:
                self.commands.inputs.of_slug(text_of(slug), node)
            case "setdefault", [variable, value] if _is_environment(owner):
                self._set_variable(variable, value)
            case _, [command, *_] if starts_process(name):
                self.commands.in_shell(text_of(command), node)

    def _import_by_name(self, node: ast.Call) -> None:
        name = value_of(node.args[0]) if node.args else NOT_LITERAL
        if isinstance(name, str) and _DOTTED.fullmatch(name):
            self.names.imported(node, name)
        else:
            self.found.loads_by_name = True

    def _search_in(self, folder: ast.expr) -> None:
        """An expression that is added to `sys.path`."""
        self.found.folders.append(place_of(folder, self.places))

    def _set_variable(self, name: ast.expr, value: ast.expr) -> None:
        """A variable of the environment that is set."""
        text, known = value_of(name), value_of(value)
        if isinstance(text, str):
            told = known if isinstance(known, str) else None
            self.found.environment.append(Variable(text, told, self.around.line(value)))

    def _assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(
                ast.Name(name), value=ast.expr() as value
            ):
                place = place_of(value, self.places)
                if place:
                    self.places[name] = place
            case ast.Assign([ast.Subscript(owner, key)], value):
                if _is_environment(self.names.full(dotted(owner))):
                    self._set_variable(key, value)


def _is_environment(name: str) -> bool:
    return name in ("os.environ", "environ")

"""Calls, and what some of them do: import, search in a folder, set a variable, start a process."""

import ast
import re

from kernelkit.notebook.code.noting import noted_commands, noted_inputs, noted_names
from kernelkit.notebook.code.noting.expressions import argument_of, dotted, text_of, value_of
from kernelkit.notebook.code.noting.noting_context import Context
from kernelkit.notebook.code.noting.paths import place_of
from kernelkit.notebook.code.records import NOT_LITERAL, Call, Variable

_DOTTED = re.compile(r"\w+(?:\.\w+)*")


def call(context: Context, node: ast.Call) -> None:
    """Note a call by the name that it has in the source, and what it does by its full name."""
    name = dotted(node.func)
    if name:
        _note(context, node, name)
    _do(context, node, context.full(name))


def _note(context: Context, node: ast.Call, name: str) -> None:
    parameters = context.parameters()
    arguments = [argument_of(each, parameters) for each in node.args]
    keywords = {}
    for each in node.keywords:
        if each.arg:
            keywords[each.arg] = argument_of(each.value, parameters)
    guarded = context.is_guarded(node)
    context.found.calls.append(Call(name, tuple(arguments), keywords, node.lineno, guarded))


def _do(context: Context, node: ast.Call, name: str) -> None:
    owner, _, last = name.rpartition(".")
    match last, node.args:
        case "import_module" | "__import__", _:
            _import_by_name(context, node)
        case ("append", [folder]) | ("insert", [_, folder]) if owner == "sys.path":
            context.found.folders.append(place_of(folder, context.places))
        case "get_gcs_path", [slug]:
            noted_inputs.of_slug(context, text_of(slug), node)
        case "setdefault", [variable, value] if _is_environment(owner):
            _set_variable(context, variable, value)
        case _, [command, *_] if noted_commands.starts_process(name):
            noted_commands.in_shell(context, text_of(command), node)


def _import_by_name(context: Context, node: ast.Call) -> None:
    name = value_of(node.args[0]) if node.args else NOT_LITERAL
    if isinstance(name, str) and _DOTTED.fullmatch(name):
        noted_names.module(context, node, name)
    else:
        context.found.loads_by_name = True


def _set_variable(context: Context, name: ast.expr, value: ast.expr) -> None:
    """Note a variable of the environment that is set."""
    text, known = value_of(name), value_of(value)
    if isinstance(text, str):
        told = known if isinstance(known, str) else None
        context.found.environment.append(Variable(text, told, value.lineno))


def assignment(context: Context, node: ast.Assign | ast.AnnAssign) -> None:
    """Note the path that a name is set to, and a variable of the environment that is set."""
    match node:
        case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(
            ast.Name(name), value=ast.expr() as value
        ):
            place = place_of(value, context.places)
            if place:
                context.places[name] = place
        case ast.Assign([ast.Subscript(owner, key)], value):
            if _is_environment(context.full(dotted(owner))):
                _set_variable(context, key, value)


def _is_environment(name: str) -> bool:
    return name in ("os.environ", "environ")

"""The visitor that goes through a syntax tree once, and notes what it says in a `Reading`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from kernelkit.notebook.code.expressions import (
    argument_of,
    dotted,
    names_below,
    names_set_by,
    text_of,
    text_with_names,
    value_of,
)
from kernelkit.notebook.code.paths import SAME, Place, place_of
from kernelkit.notebook.code.records import (
    ANYTHING,
    NOT_LITERAL,
    WRITING,
    Call,
    Command,
    Folder,
    Import,
    Input,
    Magic,
    Reading,
    Statement,
    Variable,
    WrittenFile,
)
from kernelkit.notebook.language import python, shell

# Magics whose body, or whose line, is Python of this notebook.
PYTHON_BODIES = ("capture", "time", "timeit")  # `timeit` sets no name of the notebook
# Functions of `os`, `subprocess` and IPython that start a process.
_STARTS = {"system", "popen", "run", "Popen", "check_call", "check_output", "call", "getoutput"}
# What code may read any name by.
_ALL_NAMES = {"globals", "locals", "vars", "dir", "eval", "exec", "__main__", "user_ns"}
_ALL_NAMES |= {"f_globals", "f_locals", "run_cell"}
_TESTS = {"exists", "is_dir", "is_file", "isdir", "isfile", "lexists"}
_WRITES = ("to_", "save", "write_", "mkdir", "makedirs", "imwrite", "touch")  # how they begin
_INPUT = re.compile(r"(/kaggle|\.\.)/input/([\w.{-]*[\w}][^\n]*)")
_INPUT_IN_TEXT = re.compile(
    r"(?<![\w/])(/kaggle|\.\.)/input/([\w.-]*\w(?:/[\w./-]*)?)(?=[\s\"']|$)"
)
_NAME = re.compile(r"[^\W\d]\w*")
_AT_NAME = re.compile(r"@([^\W\d]\w*)")  # as in pandas' frame.query("width > @least")
_DOTTED = re.compile(r"\w+(?:\.\w+)*")
_FUNCTIONS = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
_GUARDS = frozenset(
    (ast.If, ast.IfExp, ast.Try, ast.TryStar, ast.While, ast.For, ast.Match, ast.BoolOp)
)
_LEAVES = frozenset((ast.Name, ast.Constant, ast.alias))  # most nodes, which hold no others


def visited(tree: ast.Module, source: str) -> Reading:
    """What the tree of a source says, but for why it has none."""
    visitor = _Visitor()
    visitor.module(tree)
    visitor.found.docstring = _docstring(tree, source)
    return visitor.found


def _docstring(tree: ast.Module, source: str) -> str:
    match tree.body:
        case [ast.Expr(ast.Constant(str()) as constant), *_]:
            lines = source.split("\n")[: constant.end_lineno]
            return ast.get_source_segment("\n".join(lines), constant) or ""
    return ""


class _Visitor:
    """Goes through a tree once, with the nodes above the one that it is at."""

    def __init__(self) -> None:
        self.found = Reading()
        self.above: list[ast.AST] = []
        self.functions = 0  # how many functions it is in
        self.guards = 0  # how many conditions, loops and `try`s
        self.offset = 0  # lines before the tree, for the body of a cell magic
        self.reads: set[str] = set()  # of the statement that it is in
        self.reads_in_functions: set[str] = set()
        self.places: dict[str, Place] = {}  # the paths that names have
        self.handlers: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Constant: self._text,
            ast.JoinedStr: self._f_string,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.Assign: self._assign,
            ast.AnnAssign: self._assign,
            ast.AugAssign: self._augmented,
            ast.Call: self._call,
            ast.List: self._list,
            ast.Tuple: self._list,
        }

    # Going through the tree.

    def module(self, tree: ast.Module, *, sets: bool = True) -> None:
        """Visit each statement of a tree; `sets`: what they assign becomes a name of the source."""
        for statement in tree.body:
            self.reads, self.reads_in_functions = set(), set()
            self.visit(statement)
            certain = names_set_by(statement) if sets else ()
            self.found.statements.append(
                Statement(
                    self._line(statement),
                    frozenset(self.reads),
                    frozenset(self.reads_in_functions),
                    frozenset(certain),
                )
            )

    def visit(self, top: ast.AST) -> None:
        """Note what a node says, and then what is below it, in order.

        A long sum is nested more deeply than Python's functions may be, so this one does not call
        itself.
        """
        waiting: list[ast.AST | None] = [top]
        while waiting:
            node = waiting.pop()
            if node is None:  # all below the last of `above` is visited
                self._count(self.above.pop(), -1)
                continue
            handler = self.handlers.get(node.__class__)
            if handler:
                handler(node)
            below = _below(node)
            if below:
                self._count(node, 1)
                self.above.append(node)
                waiting.append(None)
                waiting += reversed(below)

    def _count(self, node: ast.AST, one: int) -> None:
        if node.__class__ in _FUNCTIONS:
            self.functions += one
        elif node.__class__ in _GUARDS:
            self.guards += one

    def _line(self, node: Any) -> int:
        return self.offset + int(node.lineno)

    # Names.

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._read(node.id)
            return
        value = NOT_LITERAL
        holder = self.above[-1]
        if isinstance(holder, ast.Assign | ast.AnnAssign) and holder.value:
            value = value_of(holder.value)
        self.found.bound[node.id] = NOT_LITERAL if node.id in self.found.bound else value

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._read(node.target.id)

    def _attribute(self, node: ast.Attribute) -> None:
        if node.attr in _ALL_NAMES or dotted(node) == "sys.modules":
            self._read(ANYTHING)

    def _parameters(self) -> set[str]:
        """Those of the functions that it is in, whose names are no names of the source."""
        found: set[str] = set()
        for holder in self.above:
            if isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                found.update(
                    each.arg for each in ast.walk(holder.args) if isinstance(each, ast.arg)
                )
        return found

    def _read(self, name: str) -> None:
        if name in _ALL_NAMES:
            name = ANYTHING
        self.reads.add(name)
        if self.functions:
            self.reads_in_functions.add(name)

    def _assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), value=value):
                place = place_of(value, self.places) if value else None
                if place:
                    self.places[name] = place
            case ast.Assign([ast.Subscript(owner, name)], value):
                if _is_environment(self._full(dotted(owner))):
                    self._variable(name, value)

    def _full(self, name: str) -> str:
        """A dotted name by what the imports before it bind."""
        first, dot, rest = name.partition(".")
        return f"{self.found.names.get(first, first)}{dot}{rest}"

    # Texts, and the inputs that they name.

    def _text(self, node: ast.Constant) -> None:
        if not isinstance(node.value, str) or isinstance(self.above[-1], ast.Expr):
            return
        self.found.texts.append(node.value)
        for name in _AT_NAME.findall(node.value):
            self._read(name)
        if not isinstance(self.above[-1], ast.JoinedStr):
            self._path(node.value, node)

    def _f_string(self, node: ast.JoinedStr) -> None:
        self._path(text_with_names(node, self._parameters()), node)

    def _path(self, text: str, node: ast.expr) -> None:
        """A text that is the path of an input."""
        named = _INPUT.fullmatch(text)
        if named is None or ("/" not in named[2] and _goes_on(node, self.above[-1])):
            return
        around = self._around_path()
        if any(isinstance(each, ast.Call) and _writes(each) for each in around):
            return
        lists = [each for each in around if isinstance(each, ast.List | ast.Tuple)]
        is_one_of_several = bool(lists) and len(lists[0].elts) > 1
        optional = is_one_of_several or any(map(_may_do_without, self.above))
        self._input(named, node, optional=optional)

    def _around_path(self) -> list[ast.AST]:
        """The nodes around the path that a text is part of, from the nearest to the call that
        gets it."""
        around = []
        for holder in reversed(self.above):
            around.append(holder)
            if isinstance(holder, ast.Call) and not _makes_path(holder):
                break
        return around

    def _input(self, named: re.Match[str], node: ast.AST, *, optional: bool) -> None:
        is_relative = named[1] == ".."
        self.found.inputs.append(Input(named[2], self._line(node), optional, is_relative))

    # Imports.

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._imported(node, alias.name)
            first = alias.name.partition(".")[0]
            self.found.names[alias.asname or first] = alias.name if alias.asname else first

    def _import_from(self, node: ast.ImportFrom) -> None:
        dots = "." * node.level
        for alias in node.names:
            name = f"{node.module}.{alias.name}" if node.module else alias.name
            self._imported(node, name, node.level)
            self.found.names[alias.asname or alias.name] = f"{dots}{name}"

    def _imported(self, node: ast.AST, name: str, level: int = 0) -> None:
        if name.partition(".")[0] == "__main__":
            self._read(ANYTHING)
        optional = any(isinstance(each, ast.Try | ast.TryStar) for each in self.above)
        self.found.imports.append(Import(name, self._line(node), optional, level))

    def _loaded(self, node: ast.Call) -> None:
        """A call that imports a module by its name."""
        name = value_of(node.args[0]) if node.args else NOT_LITERAL
        if isinstance(name, str) and _DOTTED.fullmatch(name):
            self._imported(node, name)
        else:
            self.found.loads_by_name = True

    # Calls.

    def _call(self, node: ast.Call) -> None:
        name = dotted(node.func)
        if name == "get_ipython().run_line_magic":
            self._line_magic(node)
        elif name == "get_ipython().run_cell_magic":
            self._cell_magic(node)
        elif name:
            own = self._parameters()
            arguments = tuple(argument_of(each, own) for each in node.args)
            keywords = {
                each.arg: argument_of(each.value, own) for each in node.keywords if each.arg
            }
            guarded, in_function = self.guards > 0, self.functions > 0
            call = Call(name, arguments, keywords, self._line(node), guarded, in_function)
            self.found.calls.append(call)
        full = self._full(name)
        owner, _, last = full.rpartition(".")
        match last, node.args:
            case "import_module" | "__import__", _:
                self._loaded(node)
            case ("append", [folder]) | ("insert", [_, folder]) if owner == "sys.path":
                self._searched(folder)
            case "setdefault", [variable, value] if _is_environment(owner):
                self._variable(variable, value)
            case _, [command, *_] if _starts_process(full):
                self._shell(text_of(command), node)

    def _searched(self, folder: ast.expr) -> None:
        """An expression that is added to `sys.path`."""
        place = place_of(folder, self.places)
        path, by_file = (place.path, place.by_file) if place else (None, False)
        self.found.folders.append(Folder(path, by_file, self._line(folder)))

    def _variable(self, name: ast.expr, value: ast.expr) -> None:
        """A variable of the environment that is set."""
        text, known = value_of(name), value_of(value)
        if isinstance(text, str):
            told = known if isinstance(known, str) else None
            self.found.environment.append(Variable(text, told, self._line(value)))

    # Commands.

    def _list(self, node: ast.List | ast.Tuple) -> None:
        """A list that begins with the interpreter, or is given to what starts a process."""
        if not node.elts:
            return
        first = text_of(node.elts[0])
        holder = self.above[-1]
        if dotted(node.elts[0]) == "sys.executable" or shell.is_python(first):
            first = "python"
        elif not isinstance(holder, ast.Call) or not _starts_process(
            self._full(dotted(holder.func))
        ):
            return
        if first:
            words = [first, *(text_of(each) or "{}" for each in node.elts[1:])]
            self._command(words, node, is_magic=False)

    def _shell(self, text: str, node: ast.AST) -> None:
        """Lines that run in a shell."""
        self.reads.update(_NAME.findall(text))
        for words in shell.commands(text):
            self._command(words, node, is_magic=False)

    def _command(self, words: list[str], node: ast.AST, *, is_magic: bool) -> None:
        line = self._line(node)
        guarded = self.guards > 0 or self.functions > 0
        self.found.commands.append(Command(tuple(words), line, is_magic, guarded))
        self.found.starts += shell.started(words, line)
        for word in words:
            for named in _INPUT_IN_TEXT.finditer(word):
                self._input(named, node, optional=guarded)

    # Magics.

    def _line_magic(self, node: ast.Call) -> None:
        match [text_of(each) for each in node.args]:
            case [name, text, *_]:
                line = self._line(node)
                self.found.magics.append(Magic(name, False, line))
                self.reads.update(_NAME.findall(text))
                if name == "run":
                    self.reads.add(ANYTHING)
                if name in PYTHON_BODIES:
                    self._python_body(text, name, line - 1, of_cell=False)
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

    def _cell_magic(self, node: ast.Call) -> None:
        match [text_of(each) for each in node.args]:
            case [name, arguments, body]:
                line = self._line(node)
                self.found.magics.append(Magic(name, True, line))
                words = shell.words(arguments)
                paths = [word for word in words if not word.startswith("-")]
                if name in PYTHON_BODIES:
                    self._python_body(body, name, line, of_cell=True)
                    self.reads.update(_NAME.findall(arguments))  # as in `%%timeit data = rows`
                elif name in ("writefile", "file"):
                    if paths:
                        self.found.writes.append(WrittenFile(paths[-1], body))
                else:
                    self.reads.update(_NAME.findall(f"{arguments}\n{body}"))
                    if name in shell.CELLS and "python" not in arguments:
                        self._shell(body, node)

    def _python_body(self, body: str, name: str, offset: int, *, of_cell: bool) -> None:
        """Visit the Python of a magic, whose first line is the one after `offset`."""
        tree, problem = python.tree(body, cell=True)
        if problem:
            self.reads.add(ANYTHING)
            if of_cell:  # a line may begin with the magic's own options
                line = problem.line and problem.line + offset
                self.found.problem = problem._replace(line=line)
        before = self.offset, self.reads, self.reads_in_functions
        self.offset = offset
        certain = name != "timeit" and not self.guards and not self.functions
        self.module(tree, sets=certain)
        self.offset, self.reads, self.reads_in_functions = before


def _below(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below one."""
    if node.__class__ in _LEAVES:
        return []
    below: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if value.__class__ is list:
            below += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.expr | ast.arguments | ast.pattern):
            below.append(value)
    return below


def _is_environment(name: str) -> bool:
    return name in ("os.environ", "environ")


def _starts_process(name: str) -> bool:
    """Whether a function of this full name starts a process."""
    owner, _, last = name.rpartition(".")
    return last in _STARTS and owner in ("os", "subprocess", "get_ipython()")


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

"""The visitor that reads a syntax tree, once, and notes what a `Reading` holds."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Any

from kernelkit.notebook.code import python, shell
from kernelkit.notebook.code.expressions import (
    argument_of,
    dotted,
    is_environ,
    names_below,
    names_set_by,
    only_stops,
    parameters_of,
    text_of,
    text_with_names,
    value_of,
)
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
    Problem,
    Reading,
    Role,
    Start,
    Statement,
    Variable,
    WrittenFile,
)

# Magics whose body, or whose line, is Python of this notebook.
PYTHON_BODIES = ("capture", "time", "timeit")  # `timeit` sets no name of the notebook
# Exceptions and calls that guard code which can do without a module.
_MISSING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_LOADERS = {"import_module", "__import__"}
_SHELLS = {"system", "popen", "run", "Popen", "check_call", "check_output", "call", "getoutput"}
# What code may read any name by.
_ALL_NAMES = {"globals", "locals", "vars", "dir", "eval", "exec", "__main__", "user_ns"}
_ALL_NAMES |= {"f_globals", "f_locals", "run_cell"}
_TESTS = {"exists", "is_dir", "is_file", "isdir", "isfile", "lexists"}
_WRITES = ("to_", "save", "write_", "mkdir", "makedirs", "imwrite", "touch")  # how they begin
_SAME_PATH = {"Path", "PurePath", "str", "fspath", "as_posix"}
_SAME_PATH |= {"abspath", "absolute", "normpath", "realpath", "resolve"}
_INPUT = re.compile(r"(?:[^=]*=\s*)?(/kaggle|\.\.)/input/([\w.{-]*[\w}][^\n]*)")
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
    return visitor.reading(_docstring(tree, source))


def _docstring(tree: ast.Module, source: str) -> str:
    match tree.body:
        case [ast.Expr(ast.Constant(str()) as constant), *_]:
            lines = source.split("\n")[: constant.end_lineno]
            return ast.get_source_segment("\n".join(lines), constant) or ""
    return ""


class _Visitor:
    """Goes through a tree once, with the nodes above the one that it is at."""

    def __init__(self) -> None:
        self.problem: Problem | None = None  # of the body of a magic
        self.above: list[ast.AST] = []
        self.offset = 0  # lines before the tree, for the body of a cell magic
        self.functions = 0  # how many functions it is in
        self.guards = 0  # how many conditions
        self.reads: set[str] = set()  # of the statement that it is in
        self.reads_later: set[str] = set()
        self.paths: dict[str, tuple[bool, str]] = {}  # those that names have, see `_path`
        self.inputs: list[Input] = []
        self.named: dict[Input, str] = {}  # of these, the name that has it
        self.texts: dict[str, None] = {}  # in order
        self.tested: set[str] = set()  # the names in tests for existence
        self.tests_paths = False
        self.imports: list[Import] = []
        self.loads_by_name = False
        self.starts: list[Start] = []
        self.folders: list[Folder] = []
        self.names: dict[str, str] = {}
        self.bound: dict[str, Any] = {}
        self.calls: list[Call] = []
        self.commands: list[Command] = []
        self.magics: list[Magic] = []
        self.environment: list[Variable] = []
        self.writes: list[WrittenFile] = []
        self.statements: list[Statement] = []
        self.handlers: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Name: self._name,
            ast.Constant: self._constant,
            ast.JoinedStr: self._f_string,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.Call: self._call,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.List: self._list,
            ast.Tuple: self._list,
            ast.Attribute: self._attribute,
        }

    def reading(self, docstring: str) -> Reading:
        """What was found."""
        inputs = []
        for each in sorted(self.inputs, key=lambda each: each.line):
            name = self.named.get(each, "")
            is_tested = name in self.tested if name else self.tests_paths
            if each.role == "read" and is_tested:
                each = each._replace(role="optional")
            inputs.append(each)
        return Reading(
            problem=self.problem,
            imports=tuple(self.imports),
            loads_by_name=self.loads_by_name,
            starts=tuple(self.starts),
            folders=tuple(self.folders),
            names=self.names,
            bound=self.bound,
            calls=tuple(self.calls),
            commands=tuple(self.commands),
            magics=tuple(self.magics),
            environment=tuple(self.environment),
            inputs=tuple(inputs),
            writes=tuple(self.writes),
            statements=tuple(self.statements),
            texts=tuple(self.texts),
            docstring=docstring,
        )

    # Going through the tree.

    def module(self, tree: ast.Module, *, sets: bool = True) -> None:
        """Visit each statement of a tree; `sets`: what they assign becomes a name of the source."""
        for statement in tree.body:
            self.reads, self.reads_later = set(), set()
            self.visit(statement)
            certain = names_set_by(statement) if sets else ()
            self.statements.append(
                Statement(
                    self._line(statement),
                    frozenset(self.reads),
                    frozenset(self.reads_later),
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
        else:
            self._bind(self._qualified(node.id))

    def _bind(self, name: str) -> None:
        value = NOT_LITERAL
        holder = self.above[-1]
        if isinstance(holder, ast.Assign | ast.AnnAssign) and holder.value:
            value = value_of(holder.value)
        self.bound[name] = NOT_LITERAL if name in self.bound else value

    def _qualified(self, name: str) -> str:
        """A name as the rest of the code calls it: with the classes in whose body it is set."""
        for holder in reversed(self.above):
            if holder.__class__ in _FUNCTIONS:
                break
            if isinstance(holder, ast.ClassDef):
                name = f"{holder.name}.{name}"
        return name

    def _parameters(self) -> set[str]:
        """Those of the functions that it is in, whose names are no names of the source."""
        found: set[str] = set()
        for holder in self.above:
            if isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                found.update(parameters_of(holder.args))
        return found

    def _read(self, name: str) -> None:
        if name in _ALL_NAMES:
            name = ANYTHING
        self.reads.add(name)
        if self.functions:
            self.reads_later.add(name)

    def _attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind(dotted(node))
        if node.attr in _ALL_NAMES or dotted(node) == "sys.modules":
            self._read(ANYTHING)

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._read(node.target.id)

    # Imports.

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._imported(node, alias.name)
            first = alias.name.partition(".")[0]
            self.names[alias.asname or first] = alias.name if alias.asname else first

    def _import_from(self, node: ast.ImportFrom) -> None:
        dots = "." * node.level
        for alias in node.names:
            name = f"{node.module}.{alias.name}" if node.module else alias.name
            self._imported(node, name, node.level)
            self.names[alias.asname or alias.name] = f"{dots}{name}"

    def _imported(self, node: ast.AST, name: str, level: int = 0) -> None:
        if name == "__main__":
            self._read(name)
        guarded = self.guards > 0 or self.functions > 0
        optional = self._is_optional(node)
        self.imports.append(Import(name, self._line(node), optional, level, guarded))

    def _is_optional(self, node: ast.AST) -> bool:
        """Whether code can continue without what a node imports."""
        for holder in reversed(self.above):
            words: set[str] = set()
            guarded: Sequence[ast.AST] = ()
            match holder:
                case ast.Try(body, handlers) | ast.TryStar(body, handlers):
                    guarded = body
                    for handler in handlers:  # a bare `except:` catches every exception
                        words |= names_below(handler.type) if handler.type else _MISSING
                case ast.If(test, body, others):
                    found = names_below(test)
                    if "TYPE_CHECKING" in found and node in body:
                        return True
                    if "find_spec" in found and node in (*body, *others):
                        return True
            if node in guarded and not _MISSING.isdisjoint(words):
                return True
            node = holder
        return False

    # Calls.

    def _call(self, node: ast.Call) -> None:
        name = dotted(node.func)
        last = name.rpartition(".")[2]
        if name == "get_ipython().run_line_magic":
            self._line_magic(node)
        elif name == "get_ipython().run_cell_magic":
            self._cell_magic(node)
        elif name:
            own = self._parameters()
            self.calls.append(
                Call(
                    name,
                    tuple(argument_of(each, own) for each in node.args),
                    {each.arg: argument_of(each.value, own) for each in node.keywords if each.arg},
                    self._line(node),
                    self.guards > 0,
                    self.functions > 0,
                    self._only_stops(),
                )
            )
        if last in _TESTS and not self._only_stops():
            self.tests_paths = True
            self.tested |= names_below(node)
        elif node.args and self._is_process(name):
            text = text_of(node.args[0])
            if text:
                self._shell(text, node)
        self._loaded(node, last)
        self._on_search_path(node)
        self._on_environment(node)

    def _only_stops(self) -> bool:
        """Whether the statement that it is in only ends the run if a condition is not met."""
        statement = next(each for each in reversed(self.above) if isinstance(each, ast.stmt))
        if isinstance(statement, ast.If):
            return only_stops(statement.body, statement.orelse)
        return isinstance(statement, ast.Assert)

    def _is_process(self, name: str) -> bool:
        """Whether a function of this name starts a process."""
        owner, _, last = self._full(name).rpartition(".")
        return last in _SHELLS and owner in ("os", "subprocess", "get_ipython()")

    def _full(self, name: str) -> str:
        """A dotted name by what the imports before it bind."""
        first, dot, rest = name.partition(".")
        return f"{self.names.get(first, first)}{dot}{rest}"

    def _loaded(self, node: ast.Call, last: str) -> None:
        """A call that loads a module by its name."""
        if last not in _LOADERS:
            return
        name = value_of(node.args[0]) if node.args else NOT_LITERAL
        if isinstance(name, str) and _DOTTED.fullmatch(name):
            self._imported(node, name)
        else:
            self.loads_by_name = True

    def _list(self, node: ast.List | ast.Tuple) -> None:
        """A list that begins with the interpreter, or is given to what starts a process."""
        if not node.elts:
            return
        first = text_of(node.elts[0])
        holder = self.above[-1]
        if dotted(node.elts[0]) == "sys.executable" or shell.is_python(first):
            words = ["python"]
        elif first and isinstance(holder, ast.Call) and self._is_process(dotted(holder.func)):
            words = [first]
        else:
            return
        words += [text_of(each) or "{}" for each in node.elts[1:]]
        self._command(words, node, is_magic=False)

    # Shell lines and magics.

    def _shell(self, text: str, node: ast.AST) -> None:
        """Lines that run in a shell."""
        self.reads.update(_NAME.findall(text))
        for words in shell.commands(text):
            self._command(words, node, is_magic=False)

    def _command(self, words: list[str], node: ast.AST, *, is_magic: bool) -> None:
        line = self._line(node)
        guarded = self.guards > 0 or self.functions > 0
        self.commands.append(Command(tuple(words), line, is_magic, guarded))
        self.starts += shell.started(words, line)
        role: Role = "optional" if guarded else "read"
        for word in words:
            for match in _INPUT_IN_TEXT.finditer(word):
                self.inputs.append(Input(match[2], line, role, match[1] == ".."))

    def _line_magic(self, node: ast.Call) -> None:
        match [text_of(each) for each in node.args]:
            case [name, text, *_]:
                self.magics.append(Magic(name, False, self._line(node)))
                self.reads.update(_NAME.findall(text))
                if name == "run":
                    self.reads.add(ANYTHING)
                if name in PYTHON_BODIES:
                    self._python_body(text, name, self._line(node) - 1, of_cell=False)
                    return
                if name in ("env", "set_env"):
                    self._set_by_magic(text, node)
                self._command([name, *shell.words(text)], node, is_magic=True)

    def _cell_magic(self, node: ast.Call) -> None:
        match [text_of(each) for each in node.args]:
            case [name, arguments, body]:
                line = self._line(node)
                self.magics.append(Magic(name, True, line))
                words = shell.words(arguments)
                paths = [word for word in words if not word.startswith("-")]
                if name in PYTHON_BODIES:
                    self._python_body(body, name, line, of_cell=True)
                elif name in ("writefile", "file"):
                    if paths:
                        self.writes.append(WrittenFile(paths[-1], body))
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
                self.problem = problem._replace(line=line)
        before = self.offset, self.reads, self.reads_later
        self.offset = offset
        certain = name != "timeit" and not self.guards and not self.functions
        self.module(tree, sets=certain)
        self.offset, self.reads, self.reads_later = before

    # The environment, and the search path.

    def _set_by_magic(self, text: str, node: ast.AST) -> None:
        name, equals, value = text.partition("=")
        if not equals:
            name, _, value = text.strip().partition(" ")
        if name.strip() and value.strip():
            known = None if {"{", "$"} & set(value) else value.strip()
            self.environment.append(Variable(name.strip(), known, self._line(node)))

    def _on_environment(self, node: ast.Call) -> None:
        line = self._line(node)
        match node:
            case ast.Call(ast.Attribute(owner, "setdefault"), [name, value]) if is_environ(owner):
                self._variable(name, value, line)

    def _variable(self, name: ast.AST | None, value: ast.expr, line: int) -> None:
        text = name.value if isinstance(name, ast.Constant) else None
        if isinstance(text, str):
            known = value_of(value)
            self.environment.append(Variable(text, known if isinstance(known, str) else None, line))

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            return
        match node.targets[0]:
            case ast.Name(name):
                path = self._path(node.value)
                if path:
                    self.paths[name] = path
            case ast.Subscript(owner, index) if is_environ(owner):
                self._variable(index, node.value, self._line(node))

    def _annotated(self, node: ast.AnnAssign) -> None:
        path = self._path(node.value) if node.value else None
        if path and isinstance(node.target, ast.Name):
            self.paths[node.target.id] = path

    def _on_search_path(self, node: ast.Call) -> None:
        match node:
            case ast.Call(ast.Attribute(owner, "append"), [value]) | ast.Call(
                ast.Attribute(owner, "insert"), [_, value]
            ):
                if self._full(dotted(owner)) == "sys.path":
                    by_file, path = self._path(value) or (False, None)
                    self.folders.append(Folder(path, by_file, self._line(value)))

    def _path(self, node: ast.AST) -> tuple[bool, str] | None:
        """The path that an expression has: whether it starts at the source's file, and the rest.

        It is made of literals, `__file__` and the current folder alone, or has no value here.
        """
        match node:
            case ast.Constant(str(text)):
                return False, text
            case ast.Name("__file__"):
                return True, "__file__"
            case ast.Name(name):
                return self.paths.get(name)
            case ast.BinOp(left, ast.Div(), right):
                return self._joined([left, right])
            case ast.Attribute(owner, "parent"):
                return _above(self._path(owner), 1)
            case ast.Subscript(ast.Attribute(owner, "parents"), ast.Constant(int(steps))):
                return _above(self._path(owner), steps + 1)
            case ast.Call(ast.Attribute(_, "getcwd" | "cwd")):
                return False, "."
            case ast.Call(ast.Attribute(_, "dirname"), [value]):
                return _above(self._path(value), 1)
            case ast.Call(ast.Attribute(_, "join"), values) if values:
                return self._joined(values)
            case ast.Call(ast.Name(name) | ast.Attribute(_, name), [value]) if name in _SAME_PATH:
                return self._path(value)
            case ast.Call(ast.Attribute(owner, name), []) if name in _SAME_PATH:
                return self._path(owner)
        return None

    def _joined(self, parts: Sequence[ast.expr]) -> tuple[bool, str] | None:
        joined = self._path(parts[0])
        for part in parts[1:]:
            path = self._path(part)
            if joined is None or path is None or path[0]:
                return None
            joined = joined[0], posixpath.normpath(posixpath.join(joined[1], path[1]))
        return joined

    # Inputs.

    def _constant(self, node: ast.Constant) -> None:
        if not isinstance(node.value, str) or isinstance(self.above[-1], ast.Expr):
            return
        self.texts[node.value] = None
        for name in _AT_NAME.findall(node.value):
            self._read(name)
        if "/input/" in node.value and not isinstance(self.above[-1], ast.JoinedStr):
            self._input(node.value, node)

    def _f_string(self, node: ast.JoinedStr) -> None:
        text = text_with_names(node, self._parameters())
        if "/input/" in text:
            self._input(text, node)

    def _input(self, text: str, node: ast.expr) -> None:
        """The input that a text names, if it is the path of one."""
        match = _INPUT.fullmatch(text)
        if match is None:
            return
        if "/" not in match[2] and _goes_on(node, self.above[-1]):
            return  # the name goes on in another text
        found = Input(match[2], self._line(node), self._role(), match[1] == "..")
        self.inputs.append(found)
        statement = next(each for each in reversed(self.above) if isinstance(each, ast.stmt))
        match statement:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), value=value):
                if not isinstance(value, ast.IfExp | ast.BoolOp):
                    self.named[found] = name

    def _role(self) -> Role:
        """How code uses the path of the literal that it is at."""
        role: Role = "read"
        is_given = False
        for holder in reversed(self.above):
            match holder:
                case ast.Call(function) if not is_given:
                    last = dotted(function).rpartition(".")[2]
                    if last in _TESTS:
                        return "optional"
                    if _writes(holder):
                        return "written"
                    is_given = last not in _SAME_PATH and last != "join"
                case ast.List(parts) | ast.Tuple(parts) if len(parts) > 1 and not is_given:
                    role = "optional"
                case ast.Try() | ast.TryStar():
                    role = "optional"
        return role


def _below(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below one."""
    if node.__class__ in _LEAVES:
        return []
    if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value:
        return list(node.orelse)  # what is switched off never runs
    below: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if value.__class__ is list:
            below += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.expr | ast.arguments | ast.pattern):
            below.append(value)
    return below


def _above(path: tuple[bool, str] | None, steps: int) -> tuple[bool, str] | None:
    if path is None:
        return None
    return path[0], posixpath.normpath(posixpath.join(path[1], *[".."] * steps))


def _writes(call: ast.Call) -> bool:
    """Whether a call that gets a path writes there, by its name or by the mode of `open`."""
    last = dotted(call.func).rpartition(".")[2]
    if last != "open":
        return last.startswith(_WRITES)
    modes = [*call.args[:2], *(each.value for each in call.keywords if each.arg == "mode")]
    return any(text_of(each).startswith(WRITING) for each in modes)


def _goes_on(node: ast.AST, holder: ast.AST) -> bool:
    """Whether a text is the beginning of a longer one."""
    match holder:
        case ast.BinOp(left, ast.Add() | ast.Mod()):
            return node is left
    return False

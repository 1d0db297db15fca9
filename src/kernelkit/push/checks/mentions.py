"""The inputs that code names by their paths below /kaggle/input, read as paths.

A path counts where the code cannot do without it. One of several candidates, a default behind a
test whether it exists, and a path in a text that is only printed or written do not count.
"""

import ast
import enum
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from kernelkit.notebook import magics, syntax
from kernelkit.notebook.modules import parsed

_PATH = re.compile(r"(?:file://)?(/kaggle|\.\.)/input/([\w.-]*\w)(?=/|$)")
_IN_TEXT = re.compile(r"(?<![\w/])(/kaggle|\.\.)/input/([\w.-]*\w)(?=[/\s\"']|$)")
_TESTS = {"exists", "is_dir", "is_file", "isdir", "isfile", "lexists"}
_SEARCHES = {"glob", "iglob", "rglob", "walk", "listdir", "iterdir", "scandir"}
_TEXTS = {"print", "write", "writelines", "write_text", "display", "debug", "info", "warning"}
_TEXTS |= {"warn", "error", "critical", "exception", "log", "Markdown", "HTML", "set_description"}
_LISTS = {"ls", "find", "tree", "du", "test", "["}  # commands that only look
_SHELLS = {"system", "popen", "getoutput"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SEVERAL = 2  # paths in one list: candidates, if the code tests which of them exist


class Mention(NamedTuple):
    """An input that code reads: the first folder below /kaggle/input, and where it is named.

    `relative`: it is written as ../input. `needed`: the code cannot do without it. `searched`: it
    stands in a function that searches folders, and may be its last resort. `command`: it stands in
    a shell command of a cell that works with it and does not only list it.
    """

    name: str
    place: str
    line: int
    relative: bool
    needed: bool
    searched: bool = False
    command: bool = False


def mentions(sources: Iterable[tuple[str, str]]) -> list[Mention]:
    """What these (place, source) pairs name below /kaggle/input, in order."""
    sources = list(sources)
    naming = [(place, source) for place, source in sources if "/input" in source]
    if not naming:
        return []
    trees = [parsed(source) for _, source in sources]
    tests: set[ast.AST] = set()
    for tree, (_, source) in zip(trees, sources, strict=True):
        if any(test in source for test in _TESTS):
            tests |= syntax.holding(tree, ast.Call, _is_test)
    tested = _tested_anywhere(trees, tests)
    found: list[Mention] = []
    for place, source in naming:
        found += _Reader(place, parsed(source), tested, tests).found()
        found += _in_shell(place, source)
    return found


def _in_shell(place: str, source: str) -> Iterator[Mention]:
    name, _ = magics.cell_magic(source)
    if name in ("writefile", "file"):
        return
    for words in magics.commands(source):
        if words[0] == "echo":
            continue
        for match in _IN_TEXT.finditer(" ".join(words)):
            number = source[: max(source.find(match[0]), 0)].count("\n") + 1
            indented = source.splitlines()[number - 1].startswith((" ", "\t"))  # perhaps not run
            works = words[0] not in _LISTS and not indented
            yield Mention(match[2], place, number, match[1] == "..", True, command=works)


def _called(node: ast.AST) -> str:
    """The name of the function that a node calls, without what it belongs to."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _is_test(node: ast.AST) -> bool:
    return _called(node) in _TESTS


def _is_search(node: ast.AST) -> bool:
    return _called(node) in _SEARCHES


def _is_shell(node: ast.AST) -> bool:
    return _called(node) in _SHELLS


def _tested_anywhere(trees: Sequence[ast.AST], tests: Collection[ast.AST]) -> set[str]:
    """The names whose paths some source tests, also one by one: `for root in ROOTS: if exists(…)`.

    A list that is made of another, or given to a function that tests paths, tests the other's.
    `tests` are the nodes that hold a test.
    """
    testing = [tree for tree in trees if tree in tests]
    if not testing:
        return set()
    tested: set[str] = set()
    choosers: set[str] = set()
    for tree in testing:
        tested.update(_tested(tree, tests))
        functions = syntax.nodes(tree, *_FUNCTIONS)
        choosers.update(function.name for function in functions if function in tests)
        for loop in syntax.nodes(tree, ast.For, ast.comprehension):
            if loop in tests and _tests_elements(loop):
                tested.update(_names(loop.iter))
    made: list[tuple[set[str], set[str]]] = []
    for tree in trees:
        for node in syntax.nodes(tree, ast.Call, ast.Assign):
            if _called(node) in choosers:
                tested.update(name for argument in node.args for name in _names(argument))
            elif isinstance(node, ast.Assign) and _is_collection(node.value):
                targets = {name for target in node.targets for name in _names(target)}
                made.append((targets, {*_names(node.value)}))
    while True:
        known = len(tested)
        for targets, names in made:
            if targets & tested:
                tested.update(names)
        if len(tested) == known:
            return tested


def _tests_elements(loop: ast.For | ast.comprehension) -> bool:
    """Whether a loop tests the paths that it goes through, also below another name."""
    elements = {*_names(loop.target)}
    body = loop.body if isinstance(loop, ast.For) else loop.ifs
    for node in (node for part in body for node in ast.walk(part)):
        if isinstance(node, ast.Assign) and elements.intersection(_names(node.value)):
            elements.update(name for target in node.targets for name in _names(target))
        if _is_test(node) and elements.intersection(_names(node)):
            return True
    return False


def _is_collection(node: ast.AST) -> bool:
    kinds = ast.List | ast.Tuple | ast.Set | ast.ListComp | ast.SetComp | ast.GeneratorExp
    return isinstance(node, kinds) or _called(node) in ("list", "tuple", "sorted", "map", "filter")


def _tested(tree: ast.AST, tests: Collection[ast.AST]) -> Iterator[str]:
    """The names whose paths the code tests, other than to stop if they do not exist."""
    for node in syntax.nodes(tree, ast.If, ast.IfExp, ast.comprehension, ast.While):
        if isinstance(node, ast.If) and not _only_stops(node) and node.test in tests:
            yield from _names(node.test)
        elif isinstance(node, ast.IfExp | ast.comprehension | ast.While):
            parts = node.ifs if isinstance(node, ast.comprehension) else [node.test]
            for part in parts:
                if part in tests:
                    yield from _names(part)


def _names(node: ast.AST) -> Iterator[str]:
    """The names below a node, also in `globals().get("NAME")` and `globals()["NAME"]`."""
    for each in ast.walk(node):
        match each:
            case ast.Name(name):
                yield name
            case ast.Call(
                ast.Attribute(ast.Call(ast.Name("globals")), "get"),
                [ast.Constant(str(name)), *_],
            ) | ast.Subscript(ast.Call(ast.Name("globals")), ast.Constant(str(name))):
                yield name


def _only_stops(node: ast.If) -> bool:
    """Whether a branch does nothing but end the run, as in `if not path.exists(): raise …`."""
    stops = {"exit", "_exit", "quit"}
    last = node.body[-1]
    ends = isinstance(last, ast.Expr) and _called(last.value) in stops
    return (isinstance(last, ast.Raise) or ends) and not node.orelse


class _Role(enum.Enum):
    """What a node is to the one above it, as far as the paths in it are concerned."""

    READ = enum.auto()
    OPTIONAL = enum.auto()  # the code can do without it
    UNREAD = enum.auto()  # it names nothing, such as a text to print


class _Reader:
    """Finds the paths of one source.

    `tested` are the names whose paths are tested anywhere, `tests` the nodes that hold a test.
    """

    def __init__(
        self, place: str, tree: ast.AST, tested: set[str], tests: Collection[ast.AST]
    ) -> None:
        self.place = place
        self.tree = tree
        self.tested = tested
        self.tests = tests
        self.searches = syntax.holding(tree, ast.Call, _is_search)

    def found(self) -> list[Mention]:
        """The mentions, in order."""
        placed = [*self._in_texts(), *self._in_commands()]
        return [mention for _, mention in sorted(placed, key=lambda each: each[0])]

    def _in_texts(self) -> Iterator[tuple[tuple[int, int], Mention]]:
        """The literals that are paths, each with where it stands."""
        for node, above in syntax.placed(self.tree, _names_input, ast.Constant):
            path = node.value.rpartition("=")[2].strip() if "=" in node.value else node.value
            match = _PATH.match(path)
            if match is None or "\n" in path:
                continue
            if _goes_on(node, above[0]) and match.end(2) == len(path):
                continue  # the name goes on in braces, or in another text
            mention = self._mention(match, node, above)
            if mention:
                yield (node.lineno, node.col_offset), mention

    def _in_commands(self) -> Iterator[tuple[tuple[int, int], Mention]]:
        """The paths anywhere in a command for a shell."""
        for node, above in syntax.placed(self.tree, _is_shell, ast.Call):
            for text in filter(None, map(_text, node.args)):
                for match in _IN_TEXT.finditer(text):
                    mention = self._mention(match, node, above)
                    if mention:
                        yield (node.lineno, node.col_offset), mention

    def _mention(
        self, match: re.Match[str], node: ast.expr, above: Iterable[ast.AST]
    ) -> Mention | None:
        """The mention of a path in a node; None if nothing reads it there."""
        needed = True
        searched: bool | None = None  # known from the innermost function that tests or searches
        below: ast.AST = node
        for holder in above:
            role = self._role(holder, below)
            if role is _Role.UNREAD:
                return None
            if role is _Role.OPTIONAL:
                needed = False
                if searched is None and isinstance(holder, _FUNCTIONS):
                    searched = holder in self.searches
            below = holder
        relative = match[1] == ".."
        return Mention(match[2], self.place, node.lineno, relative, needed, bool(searched))

    def _role(self, holder: ast.AST, node: ast.AST) -> _Role:
        """What a node is to the `holder` directly above it."""
        is_optional = False
        is_read = True
        match holder:
            case ast.Expr():  # a docstring, or another text that nobody reads
                is_read = not isinstance(node, ast.Constant)
            case ast.JoinedStr(values):
                is_read = not isinstance(node, ast.Constant) or node is values[0]
            case ast.FormattedValue(value):
                is_read = node is value
            case ast.Assign(targets, value):
                is_read = node is value
                is_optional = any(self._is_tested(target) for target in targets)
            case ast.AnnAssign(target, _, value):
                is_read = node is value
                is_optional = self._is_tested(target)
            case ast.If():
                is_optional = holder.test in self.tests and not _only_stops(holder)
            case ast.IfExp():
                is_optional = holder in self.tests
            case ast.Try(body, handlers) | ast.TryStar(body, handlers):
                is_optional = node in (*body, *handlers) and _names_another(handlers)
            case ast.List(parts) | ast.Tuple(parts) | ast.Set(parts):
                is_optional = self.tree in self.tests and _are_candidates(parts)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if holder in self.tests or holder in self.searches:
                    is_optional = node in holder.body  # it may end with a path as its last resort
                    is_read = is_optional or node is not holder.returns
            case ast.Call():
                is_optional = _called(holder) in _TESTS
                is_read = _is_read_by(holder, node)
        if not is_read:
            return _Role.UNREAD
        return _Role.OPTIONAL if is_optional else _Role.READ

    def _is_tested(self, target: ast.AST) -> bool:
        return not self.tested.isdisjoint(_names(target))


def _names_input(node: ast.Constant) -> bool:
    return isinstance(node.value, str) and "/input" in node.value


def _goes_on(node: ast.Constant, holder: ast.AST) -> bool:
    """Whether a literal is the beginning of a longer text."""
    match holder:
        case ast.JoinedStr(values):
            return len(values) > 1
        case ast.BinOp(left, ast.Add() | ast.Mod()):
            return node is left
    return False


def _names_another(handlers: Iterable[ast.AST]) -> bool:
    """Whether what handles an exception makes up for it by another path."""
    calls = (each for handler in handlers for each in ast.walk(handler))
    return any("/" in _text(each) for each in calls if isinstance(each, ast.Call))


def _are_candidates(parts: Iterable[ast.AST]) -> bool:
    paths = [text for text in map(_text, parts) if "/" in text]
    return len(paths) >= _SEVERAL


def _is_read_by(call: ast.Call, node: ast.AST) -> bool:
    """Whether a call reads the paths in one of its parts: a text to print or write names nothing.

    A command for a shell is read by itself, see `_Reader._in_commands`.
    """
    name = _called(call)
    if name in _SHELLS:
        return False
    if name in _TESTS:
        return not isinstance(node, ast.keyword)
    part = node.value if isinstance(node, ast.keyword) else node
    return name not in _TEXTS or not isinstance(part, ast.Constant | ast.JoinedStr)


def _text(node: ast.AST) -> str:
    """The first literal below a node, such as that of `Path("/kaggle/input/x")`."""
    texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return next((text for text in texts if isinstance(text, str)), "")

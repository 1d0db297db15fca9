"""The inputs that code names by their paths below /kaggle/input, read as paths.

A path counts where the code cannot do without it. One of several candidates, a default behind a
test whether it exists, and a path in a text that is only printed or written do not count.
"""

import ast
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
_SHELLS = {"system", "popen", "getoutput"}
_SEVERAL = 2  # paths in one list: candidates, if the code tests which of them exist


class Mention(NamedTuple):
    """An input that code reads: the first folder below /kaggle/input, and where it is named.

    `relative`: it is written as ../input. `needed`: the code cannot do without it. `searched`: it
    stands in a function that searches folders, and may be its last resort.
    """

    name: str
    place: str
    line: int
    relative: bool
    needed: bool
    searched: bool = False


def mentions(sources: Iterable[tuple[str, str]]) -> list[Mention]:
    """What these (place, source) pairs name below /kaggle/input, in order."""
    sources = list(sources)
    naming = [(place, source) for place, source in sources if "/input" in source]
    if not naming:
        return []
    trees = [parsed(source) for _, source in sources]
    tests: set[ast.AST] = set()
    for tree in trees:
        tests |= syntax.holding(tree, ast.Call, _is_test)
    tested = _tested_anywhere(trees, tests)
    found: list[Mention] = []
    for place, source in naming:
        reader = _Reader(place, parsed(source), tested, tests)
        found += reader.found
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
            yield Mention(match[2], place, number, match[1] == "..", True)


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
        functions = syntax.nodes(tree, ast.FunctionDef)
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


class _Reader(ast.NodeVisitor):
    """Collects the paths of one source.

    `tested` are the names whose paths are tested anywhere, `tests` the nodes that hold a test.
    """

    def __init__(
        self, place: str, tree: ast.AST, tested: set[str], tests: Collection[ast.AST]
    ) -> None:
        self.place = place
        self.tested = tested
        self.tests = tests
        self.tests_paths = tree in tests
        self.searches = syntax.holding(tree, ast.Call, _is_search)
        self.found: list[Mention] = []
        self.optional = 0  # how many nodes around this one make it optional
        self.searched = False
        self.visit(tree)

    def _optionally(self, *nodes: ast.AST) -> None:
        self.optional += 1
        for node in nodes:
            self.visit(node)
        self.optional -= 1

    def _add(self, text: str, node: ast.AST, *, whole: bool = True) -> None:
        path = text.rpartition("=")[2].strip() if "=" in text else text
        match = _PATH.match(path)
        # Of an f-string's part, the name may go on in braces.
        if match and "\n" not in path and (whole or match.end(2) < len(path)):
            line = getattr(node, "lineno", 1)
            needed = not self.optional
            relative = match[1] == ".."
            mention = Mention(match[2], self.place, line, relative, needed, self.searched)
            self.found.append(mention)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A literal."""
        if isinstance(node.value, str):
            self._add(node.value, node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """An f-string: its beginning, and what its braces hold."""
        match node.values:
            case [ast.Constant(str(start)), *_]:
                self._add(start, node, whole=len(node.values) == 1)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """A path whose name goes on in another text is none yet."""
        match node:
            case ast.BinOp(ast.Constant(str(start)), ast.Add() | ast.Mod()):
                self._add(start, node, whole=False)
                self.visit(node.right)
            case _:
                self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """A docstring, or another text that nobody reads, is none."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """What is assigned to a name whose path is tested is one candidate."""
        names = {each for target in node.targets for each in _names(target)}
        if names & self.tested:
            self._optionally(node.value)
        else:
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """The same, with the type of the name."""
        if node.value and {*_names(node.target)} & self.tested:
            self._optionally(node.value)
        elif node.value:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        """A branch behind a test whether something exists."""
        if node.test in self.tests and not _only_stops(node):
            self._optionally(node.test, *node.body, *node.orelse)
        else:
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """The same in an expression."""
        if node in self.tests:
            self._optionally(node.test, node.body, node.orelse)
        else:
            self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        """What fails here may be made up for by another path."""
        constants = (each for handler in node.handlers for each in ast.walk(handler))
        if any("/" in _text(each) for each in constants if isinstance(each, ast.Call)):
            self._optionally(*node.body, *node.handlers)
        else:
            self._each([*node.body, *node.handlers])
        self._each([*node.orelse, *node.finalbody])

    def _each(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _candidates(self, node: ast.List | ast.Tuple | ast.Set, parts: list[ast.expr]) -> None:
        texts = [_text(part) for part in parts]
        paths = [text for text in texts if "/" in text]
        if self.tests_paths and len(paths) >= _SEVERAL:
            self._optionally(*parts)
        else:
            self.generic_visit(node)

    def visit_List(self, node: ast.List) -> None:
        """Several paths, perhaps candidates."""
        self._candidates(node, node.elts)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        """Several paths, perhaps candidates."""
        self._candidates(node, node.elts)

    def visit_Set(self, node: ast.Set) -> None:
        """Several paths, perhaps candidates."""
        self._candidates(node, node.elts)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function that searches may end with a path as its last resort."""
        if node in self.tests or node in self.searches:
            before = self.searched
            self.searched = node in self.searches
            self._optionally(*node.body)
            self.searched = before
            self._each([node.args, *node.decorator_list])
        else:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """A text to print or write names nothing; a command for a shell may anywhere."""
        name = _called(node)
        if name in _SHELLS:
            for text in filter(None, map(_text, node.args)):
                for match in _IN_TEXT.finditer(text):
                    relative = match[1] == ".."
                    needed = not self.optional
                    mention = Mention(match[2], self.place, node.lineno, relative, needed)
                    self.found.append(mention)
            return
        if name in _TESTS:
            self._optionally(node.func, *node.args)
            return
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        if name in _TEXTS:
            parts = [part for part in parts if not isinstance(part, ast.Constant | ast.JoinedStr)]
        self._each([node.func, *parts])


def _text(node: ast.AST) -> str:
    """The first literal below a node, such as that of `Path("/kaggle/input/x")`."""
    texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return next((text for text in texts if isinstance(text, str)), "")

"""Sizes that hold the house light: functions, modules, rooms, `src`, tests; no circles."""

import ast
import io
import tokenize
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from checkouts import ROOT
from test_walls import SOURCES, of_this_repository, parsed

MOST_TOKENS, MOST_TOKENS_OF_TESTS = 197_400, 179_000
MOST_LINES, MOST_FUNCTION_LINES, MOST_ARGUMENTS, MOST_MODULES = 300, 50, 7, 12
MODULES = {
    path.relative_to(ROOT).as_posix(): path
    for folder in ("src", "tools", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
}
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
LAYOUT = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}


@cache
def functions():
    """Every function and method, as `module.name`."""
    return [
        (f"{path.stem}.{node.name}", node)
        for path in MODULES.values()
        for node in parsed(path.read_text())
        if isinstance(node, FUNCTION)
    ]


def arguments(node):
    """What a caller passes: `self`, `cls`, `*names` and `**names` do not count."""
    own = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return sum(argument.arg not in ("self", "cls") for argument in own)


def tokens(path):
    """Tokens of a module without comments, docstrings, line ends and indentation."""
    text = path.read_text()
    documentation = set()
    for node in parsed(text):
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTION) and ast.get_docstring(node):
            documentation.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return sum(
        tokenize.tok_name[token.type] not in LAYOUT and token.start[0] not in documentation
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    )


def test_a_function_fits_a_screen():
    lengths = [(name, node.end_lineno - node.lineno + 1) for name, node in functions()]
    assert len(lengths) > 1500
    too_long = {name for name, lines in lengths if lines > MOST_FUNCTION_LINES}
    assert too_long == set()


def test_a_function_takes_seven_arguments_or_a_dataclass():
    too_many = {name for name, node in functions() if arguments(node) > MOST_ARGUMENTS}
    assert too_many == set()


def test_a_module_has_at_most_300_lines():
    lines = {name: len(path.read_text().splitlines()) for name, path in MODULES.items()}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_a_room_has_at_most_twelve_modules():
    rooms = Counter(str(Path(name).parent) for name in MODULES if Path(name).name != "__init__.py")
    full = {room for room, count in rooms.items() if count > MOST_MODULES}
    assert full == set()


def test_no_imports_run_in_a_circle():
    imports = {name: of_this_repository(path.read_text()) for name, path in SOURCES.items()}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the files


def test_the_formatter_decides_every_layout():
    exemption = "# fmt: " + "skip"
    paths = [*MODULES.values(), *(ROOT / "tests").rglob("*.py"), *ROOT.glob("notebooks/*.py")]
    assert [str(path) for path in paths if exemption in path.read_text()] == []


def test_the_source_and_its_tests_stay_light():
    assert sum(map(tokens, SOURCES.values())) <= MOST_TOKENS
    assert sum(map(tokens, (ROOT / "tests").rglob("*.py"))) <= MOST_TOKENS_OF_TESTS

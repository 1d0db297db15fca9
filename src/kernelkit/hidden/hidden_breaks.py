"""What of a notebook breaks on a hidden test set: ids and row counts in its text, files, rows.

Kaggle shows a message of three words for each of these. Three things tell more: the text of the
notebook and of the modules that it carries, the failure of the run on hidden data, and the
submission that it left.
"""

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.hidden import tables
from kernelkit.hidden.public_and_hidden import PublicAndHidden
from kernelkit.notebook import syntax
from kernelkit.runs.log import RunFailure

FEWEST_IDS = 3  # numbers in a list, for them to be taken for ids
FEWEST_ROWS = 2  # of a public test set, for its number of rows to be looked for in cells
# In modules, which are larger and about more than this test set, small numbers mean anything.
FEWEST_IN_MODULES = 20
SMALLEST_ID = 1000  # of numbers in a list in a module, for them to be taken for ids
FILLERS = ("zeros", "ones", "empty", "full", "range", "arange", "reshape", "head", "tail", "repeat")
RANGES = ("range", "arange")
ENDS = 2  # arguments of a range before its step, which is no number of rows
ROUND = 10
COUNTS = ("shape", "size", "n_rows", "height")  # attributes that are a number of rows
SHOWN = 60  # characters of a line
SAMPLE = "sample_submission"
MATCHED = ("map", "merge", "join", "reindex", "loc")  # methods that go by ids
NOT_IN_ORDER = (
    "predictions are put into the sample submission row by row, and its rows are in another order "
    "than the test table's"
)
INSTALLED = "site-packages"  # in the paths of packages, whose lines are not the notebook's
_ARROW = re.compile(r"(?m)^-+>\s*(\d+)\s?(.*)$")
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)(?:\n {4,}([^\n]*))?')
_MISSING = re.compile(r"No such file or directory: *'([^']+)'|cannot find.*'([^']+)'")


def in_code(
    code: Iterable[tuple[str, str]], modules: Iterable[tuple[str, str]], sets: PublicAndHidden
) -> list[str]:
    """The lines of a notebook, or of a script, that only fit the public test set, in words.

    `code` has its cells, as `cells_of` gives them, or the script; `modules` the modules that it
    carries. Both are a place and a text each. A constant of a module, such as ROWS, is known
    wherever it may be imported.
    """
    in_modules = list(_parsed(modules))
    constants: dict[str, int] = {}
    for _, _, tree in in_modules:
        numbers = _named_numbers(tree)
        constants |= {name: numbers[name] for name in numbers if name.isupper()}
    found = []
    names = dict(constants)
    samples: set[str] = set()
    for place, source, tree in _parsed(code):
        names |= _named_numbers(tree)  # which later cells know too
        here = [*_counts(tree, names, sets), *_ids(tree, sets)]
        if not sets.in_order:
            here += _by_position(tree, samples)
        found += _shown(here, place, source)
    for place, source, tree in in_modules:
        own = constants | _named_numbers(tree)
        here = [*_counts(tree, own, sets, in_module=True), *_ids(tree, sets, SMALLEST_ID)]
        if not sets.in_order:
            here += _by_position(tree, set())
        found += _shown(here, place, source)
    return list(dict.fromkeys(found))


def _parsed(sources: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, ast.Module]]:
    """Each place and text with its tree, where it is Python without magics."""
    for place, source in sources:
        try:
            yield place, source, syntax.parse(source)
        except (SyntaxError, ValueError):
            continue


def _named_numbers(tree: ast.AST) -> dict[str, int]:
    """The whole numbers that a source gives a name."""
    numbers = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() as value)):
                numbers[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=int() as value)):
                numbers[name] = value
    return numbers


def _shown(found: Iterable[tuple[int, str]], place: str, source: str) -> list[str]:
    """What was found at some lines of a source, with its place, number and text."""
    lines = source.splitlines()
    words = []
    for number, what in found:
        words.append(f"{place}, line {number}: {what}: {lines[number - 1].strip()[:SHOWN]}")
    return words


def cells_of(notebook: str) -> Iterator[tuple[str, str]]:
    """The name and text of each code cell that a notebook's JSON itself has; none of others."""
    try:
        cells = files.parse_json(notebook)["cells"]
    except (ValueError, KeyError, TypeError):
        return
    number = 0
    for cell in cells:
        if cell.get("cell_type") != "code" or str(cell.get("id")).startswith("bundle-"):
            continue
        number += 1
        yield f"code cell {number}", "".join(cell.get("source", ()))


def _counts(
    tree: ast.AST, names: Mapping[str, int], sets: PublicAndHidden, *, in_module: bool = False
) -> Iterator[tuple[int, str]]:
    """The lines where the number of public rows is asserted, or made a length.

    `names`: the numbers with a name. In a module a small number is not looked for, and neither is
    a round one that cuts something, which is mostly a message.
    """
    rows = len(sets.public_ids)
    fewest = FEWEST_IN_MODULES if in_module else FEWEST_ROWS
    if rows < fewest or rows == len(sets.hidden_ids):
        return

    def is_rows(node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return names.get(node.id) == rows
        if isinstance(node, ast.Attribute) and node.attr.isupper():  # of a module
            return names.get(node.attr) == rows
        if isinstance(node, ast.Tuple):
            return any(map(is_rows, node.elts))
        return isinstance(node, ast.Constant) and type(node.value) is int and node.value == rows

    hidden = len(sets.hidden_ids)
    fixed = f"{rows:,} rows are hard-coded, and the hidden set has {hidden:,}"
    compared = f"{rows:,} rows are asserted, and the hidden set has {hidden:,}"
    for node in ast.walk(tree):
        match node:
            case ast.Assert(test=test):
                if _compares(test, is_rows):
                    yield node.lineno, compared
            case ast.If(test=test, body=[ast.Raise(), *_]):
                if _compares(test, is_rows):
                    yield node.lineno, compared
            case ast.Call():
                called = node.func
                name = getattr(called, "attr", "") or getattr(called, "id", "")
                given = [one.value for one in node.keywords if one.arg in ("nrows", "n", "shape")]
                if name in RANGES:
                    given += node.args[:ENDS]
                elif name in FILLERS:
                    given += node.args
                if any(map(is_rows, given)):
                    yield node.lineno, fixed
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                lists = isinstance(left, ast.List) or isinstance(right, ast.List)
                if lists and (is_rows(left) or is_rows(right)):
                    yield node.lineno, fixed
            case ast.Slice(upper=upper):
                cuts_text = in_module and rows % ROUND == 0
                if upper is not None and is_rows(upper) and not cuts_text:
                    yield upper.lineno, fixed


def _compares(test: ast.AST, is_rows: Callable[[ast.AST], bool]) -> bool:
    """Whether a condition compares a number of rows with one that `is_rows` takes."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_count, sides)) and any(map(is_rows, sides)):
                return True
    return False


def _is_count(node: ast.AST) -> bool:
    """Whether an expression is a number of rows: len(…), ….shape, ….shape[0]."""
    match node:
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Attribute(attr=name):
            return name in COUNTS
        case ast.Subscript(value=value):
            return _is_count(value)
    return False


def _ids(tree: ast.AST, sets: PublicAndHidden, smallest: int = 0) -> Iterator[tuple[int, str]]:
    """The lines that name ids of the public test set; numbers, only if none is below `smallest`."""
    public = set(sets.public_ids) - set(sets.hidden_ids)
    texts = {one for one in public if not one.isdecimal()} | set(sets.public_names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in texts:
            yield node.lineno, f"{node.value!r} of the public test set is hard-coded"
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            values = [one.value for one in node.elts if isinstance(one, ast.Constant)]
            same = [value for value in values if type(value) is int and str(value) in public]
            if len(same) < FEWEST_IDS or min(same) < smallest:
                continue
            if len(same) == len(node.elts):
                yield node.lineno, f"{len(same)} ids of the public test set are hard-coded"


def _by_position(tree: ast.AST, samples: set[str]) -> Iterator[tuple[int, str]]:
    """The lines that put predictions into the sample submission row by row.

    `samples`: names of frames read from it in earlier cells, to which those of this one are added.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                texts = [one.value for one in ast.walk(call) if isinstance(one, ast.Constant)]
                if any(isinstance(text, str) and SAMPLE in text for text in texts):
                    samples.add(name)
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))], value=value):
                called = {getattr(one, "attr", "") for one in ast.walk(value)}
                if name in samples and not called & {*MATCHED}:
                    yield node.lineno, NOT_IN_ORDER


def in_failure(failure: RunFailure | None, sets: PublicAndHidden) -> list[str]:
    """What a failure of the run on hidden data comes of, where its kind is a known one."""
    if failure is None:
        return []
    text = failure.traceback
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    place, shown = _place(failure)
    missing = _MISSING.search(last)
    if missing:
        path = missing[1] or missing[2]
        return [f"{place}: {_about_file(path, sets)}{shown}"]
    name, _, message = last.partition(":")
    rows = len(sets.public_ids)
    counted = rows >= FEWEST_ROWS and re.search(rf"(?<![\d.]){rows}(?![\d.])", message)
    if name.endswith("AssertionError") and re.search(r"\blen\(|\.shape|\.size", shown):
        return [f"{place}: a row count is asserted{shown}"]
    if name.endswith("Error") and counted:
        what = f"something has {rows:,} rows, as many as the public test set"
        return [f"{place}: {what} ({message.strip()[:200]}){shown}"]
    quoted = set(re.findall(r"['\"\[\s(]([^'\"\[\]\s(),]+)(?=['\"\],\s)]|$)", f" {message} "))
    named = quoted & (set(sets.public_ids) - set(sets.hidden_ids))
    if name.endswith(("KeyError", "IndexError", "ValueError")) and named:
        what = f"the id {min(named)!r} of the public test set is asked for"
        return [f"{place}: {what}, which the hidden set lacks{shown}"]
    key = message.strip().strip("'\"")
    if name.endswith("KeyError") and key in {*sets.hidden_ids, *sets.hidden_names}:
        return [f"{place}: {key!r} of the hidden set is looked up where only others are{shown}"]
    return []


def _place(failure: RunFailure) -> tuple[str, str]:
    """Where a run failed, in words, and the line there after a colon; "" if that is not known."""
    cell = failure.cell.removesuffix(" failed:")
    arrows = _ARROW.findall(failure.traceback)
    if arrows:
        number, line = arrows[0]
        where = cell or "the script"
        return f"{where}, line {number}", f": {line.strip()[:SHOWN]}"
    frames = [frame for frame in _FRAME.findall(failure.traceback) if INSTALLED not in frame[0]]
    if not frames:
        return cell or "the run", ""
    _, number, function, line = frames[-1]
    within = "" if function == "<module>" else f" of {function}()"
    shown = line.strip()[:SHOWN]
    return f"line {number}{within}", f": {shown}" if shown else ""


def _about_file(path: str, sets: PublicAndHidden) -> str:
    """What is known of a file that a run found missing."""
    parts = Path(path).parts
    for begin in range(len(parts)):
        inner = Path(*parts[begin:])
        if inner.is_absolute():
            continue
        if (sets.public / inner).exists() and not (sets.hidden / inner).exists():
            return f"{inner} is missing, which is among the public files only"
    return f"the file {path} is missing, in the second run at least"


def in_submission(file: Path, sets: PublicAndHidden) -> list[str]:
    """What is wrong with the rows of a submission, and what usually does that."""
    if not tables.is_table(file):
        return []
    try:
        table = tables.read(file)
    except ParameterError:
        return []
    if not table.columns or not sets.hidden_ids:
        return []
    name = table.columns[0]
    ids = ["" if row[name] is None else str(row[name]) for row in table.rows]
    found = list(_of_ids(ids, sets))
    others = table.columns[1:]
    empty = [one for one, row in zip(ids, table.rows, strict=True) if _lacks(row, others)]
    if empty:
        found.append(
            f"{len(empty):,} predictions are empty, such as that of {empty[0]!r}: a merge found no "
            "match for them"
        )
    return [f"{file.name}: {each}" for each in found]


def _of_ids(ids: Sequence[str], sets: PublicAndHidden) -> Iterator[str]:
    expected = set(sets.hidden_ids)
    public = set(sets.public_ids)
    there = set(ids)
    if len(ids) > len(there):
        twice, _ = Counter(ids).most_common(1)[0]
        yield (
            f"{len(ids) - len(there):,} rows more than ids, such as those of {twice!r}: a merge "
            "multiplied them"
        )
    lacking = expected - there
    foreign = there - expected
    if not lacking and not foreign:
        return
    if there <= public and there:
        yield (
            f"its {len(ids):,} ids are those of the public test set: they are hard-coded, or read "
            "from elsewhere than the competition's folder"
        )
    elif {_decimal(one) for one in there} == expected:
        yield "its ids are decimals, such as 7.0: a merge turned their column into floats"
    elif lacking and not foreign and len(ids) == len(public):
        yield (
            f"it has {len(ids):,} rows, as many as the public test set, and should have "
            f"{len(expected):,}: their number is fixed somewhere"
        )
    elif lacking and not foreign:
        yield (
            f"it lacks {len(lacking):,} of {len(expected):,} ids, such as {min(lacking)!r}: a "
            "merge, a filter or a last batch lost them"
        )
    else:
        yield (
            f"{len(foreign):,} of its ids are not in the hidden test set, such as {min(foreign)!r}"
        )


def _decimal(one: str) -> str:
    return one.removesuffix(".0")


def _lacks(row: Mapping[str, Any], columns: Collection[str]) -> bool:
    """Whether a row has no value in one of these columns."""
    for column in columns:
        value = row[column]
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            return True
    return False

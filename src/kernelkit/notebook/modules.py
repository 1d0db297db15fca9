"""The modules that a notebook's code imports, and the files of a package as text.

Code is never run here: imports are read from its syntax tree, also in cells with magics and shell
lines. A name may end in `.*`, for all that a module's `__all__` names, or in `.**`, for everything
below a package, where code makes up the name while it runs.
"""

import ast
import contextlib
import fnmatch
import functools
import hashlib
import importlib.util
import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kernelkit.errors import PreflightError
from kernelkit.files import files_below
from kernelkit.notebook import document, magics, newer_syntax, syntax

_IMPORTS = (ast.Import, ast.ImportFrom)
_STARTING = (ast.Call, ast.List, ast.Tuple)  # what may start a command
_SKIPPED = {"__pycache__", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache", ".DS_Store"}
_SKIPPED |= {".pyc", ".pyo", ".part", ".swp"}
# What guards code that may lack a module.
_MISSING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "find_spec"}
_LOADERS = {"import_module", "__import__", "run_module"}
_FILES = {"spec_from_file_location", "SourceFileLoader"}  # which load a module from a file
_RUNNERS = ("run_path", "exec", *_FILES)
_SEARCHES = {"iter_modules", "walk_packages"}  # of pkgutil
_SHELLS = {"system", "popen", "run", "Popen", "check_call", "check_output", "call", "getoutput"}
# A source without any of these starts no process; looking for words takes far less time than for a
# pattern.
_STARTS = (
    "executable",
    "python",
    *(f"{name}(" for name in _SHELLS),
    *(f"{name} (" for name in _SHELLS),
)
KEPT = 512  # trees and the like of sources that many checks read


class File(NamedTuple):
    """One file of a package: its path from the package's parent, with `/`, and its text."""

    path: str
    text: str

    @property
    def sha256(self) -> str:
        """The hash of its bytes, in hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def module(self) -> str:
        """The dotted name under which it is imported, if it is Python."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def home(self) -> str:
        """The dotted name of its folder, from which its relative imports start."""
        return self.path.rpartition("/")[0].replace("/", ".")


def package_files(folder: Path, leave_out: Sequence[str] = ()) -> list[File]:
    """Every file of the package at `folder`, sorted by path, without caches.

    Paths (relative to the package's parent) that match one of the `leave_out` patterns are left
    out, too. Links are followed. Raises `PreflightError` for a file that is not UTF-8 text, and
    for broken or circular links.
    """

    def skip(path: Path) -> bool:
        name = path.relative_to(folder.parent).as_posix()
        return not _SKIPPED.isdisjoint((path.name, path.suffix)) or left_out(name, leave_out)

    return [
        File(path.relative_to(folder.parent).as_posix(), text_of(path))
        for path in files_below(folder, skip)
    ]


def left_out(name: str, leave_out: Sequence[str]) -> bool:
    """Whether a bundled path matches one of the `leave_out` patterns, as a file or a folder."""
    names = (name, f"{name}/")  # of a folder, or in a pattern for all its contents
    return any(fnmatch.fnmatchcase(each, pattern) for each in names for pattern in leave_out)


def text_of(path: Path) -> str:
    """The text of a file that is to travel; raises `PreflightError` unless it is UTF-8."""
    try:
        # A byte order mark is no Python to a reader of the text.
        text = path.read_bytes().decode("utf-8-sig" if path.suffix == ".py" else "utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise PreflightError(
            f"{path} is not UTF-8 text, and a bundle contains nothing else: name it in leave_out "
            "of [tool.kernelkit] if a run does not need it; otherwise save it as UTF-8, or move it "
            "out of the package, to a Kaggle dataset (kernelkit upload FOLDER)"
        )
    return text


@functools.lru_cache(maxsize=KEPT)
def imported(source: str, home: str = "") -> tuple[str, ...]:
    """The dotted names of the modules that a source loads: by imports, by `import_module`, by
    `python -m` in a shell line or a child process.

    Relative imports start from the package `home`.
    """
    tree = parsed(source)
    names: list[str] = []
    for node in syntax.nodes(tree, *_IMPORTS):
        names += _names(node, home)
    if any(word in source for word in _LOADERS | _SEARCHES):
        texts = _texts(tree)
        for node in syntax.nodes(tree, ast.Call):
            names += _loaded(node, home, texts)
    for words in _commands(source):
        names += _started(words)
    return tuple(dict.fromkeys(names))


def stated(source: str) -> Iterator[str]:
    """The dotted names in a source's import statements, also in those that may fail."""
    for node in syntax.nodes(parsed(source), *_IMPORTS):
        yield from _names(node, "")


@functools.lru_cache(maxsize=KEPT)
def files_started(source: str) -> tuple[str, ...]:
    """The files that a source names in shell lines, in `%run` and in commands that it starts.

    Any word of such a line may be one: the caller looks which of them exist.
    """
    return tuple(_files_started(source))


def _files_started(source: str) -> Iterator[str]:
    commands = _commands(source)
    entered = [words[1] for words in commands if words[0] == "cd" and len(words) == 2]
    for words in commands:
        for each in magics.started(words):
            if each.file:
                yield each.file
                yield from (f"{folder}/{each.file}" for folder in entered)
    if not any(word in source for word in _RUNNERS):
        return
    for node in syntax.nodes(parsed(source), ast.Call):
        match node:
            case ast.Call(ast.Attribute(_, "run_path") | ast.Name("run_path"), [argument, *_]):
                yield from _literal(argument)
            case ast.Call(ast.Name(name) | ast.Attribute(_, name), arguments) if name in _FILES:
                places = [*arguments[1:2], *(keyword.value for keyword in node.keywords)]
                yield from (text for place in places for text in _literal(place))
            case ast.Call(ast.Name("exec"), [ast.Call(ast.Attribute(opened, "read"))]):
                yield from (text for part in ast.walk(opened) for text in _literal(part))


@functools.lru_cache(maxsize=KEPT)
def files_written(source: str) -> tuple[str, ...]:
    """The Python files that a cell writes with Python or in a shell, as far as it names them."""
    if ".py" not in source:
        return ()
    names: list[str] = []
    for node in syntax.nodes(parsed(source), ast.Call):
        match node:
            case ast.Call(ast.Name("open"), [file, mode, *_]):
                writes = any(text[:1] in ("w", "x", "a") for text in _literal(mode))
                names += _literal(file) if writes else []
            case ast.Call(
                ast.Attribute(ast.Call(ast.Name("Path"), [file]), "write_text" | "write_bytes")
            ):
                names += _literal(file)
    for words in magics.commands(source):
        names += [after for mark, after in itertools.pairwise(words) if mark in (">", ">>")]
    return tuple(name for name in names if name.endswith(".py"))


def needed(sources: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The modules that these (name, source) pairs need, and where each is first imported.

    Top-level names, such as "numpy": "train.ipynb[cell 2], line 1". Optional modules
    (`try: … except ImportError`) are left out.
    """
    modules: dict[str, str] = {}
    for name, source in sources:
        for module, line in _needed_by(source):
            modules.setdefault(module, f"{name}, line {line}")
    return modules


@functools.lru_cache(maxsize=KEPT)
def _needed_by(source: str) -> list[tuple[str, int]]:
    """The top-level modules that a source needs, each with the line that names it."""
    loads = any(loader in source for loader in _LOADERS)
    if not loads and "import" not in source:
        return []
    kinds = (*_IMPORTS, ast.Call) if loads else _IMPORTS
    needed: list[tuple[str, int]] = []
    for node, above in syntax.placed(parsed(source), _loads, *kinds):
        if not _is_optional(node, above):
            needed += [(name.partition(".")[0], node.lineno) for name in _loads(node)]
    return sorted(needed, key=lambda each: each[1])


def _loads(node: ast.AST) -> list[str]:
    """The modules that an import or a call loads, also in a child process."""
    names = [*_names(node, ""), *_loaded(node, "", {})]
    for words in _commands_by(node):
        names += _started(words)
    return names


@functools.lru_cache(maxsize=KEPT)
def parsed(source: str) -> ast.Module:
    """The source's syntax tree; for a cell that is not Python, the tree of its import lines.

    It is kept for the next who asks, so nobody may change it. The tree of a cell that another
    program reads (`%%bash`, `%%writefile`) is empty.
    """
    if not magics.is_python(source):
        return ast.Module([], [])
    tree = _tree(source) or _tree(magics.as_python(source))
    for text in (source, magics.as_python(source)):
        tree = tree or _tree(newer_syntax.rewritten(text))
    if tree:
        return tree
    lines = []  # as many as the source has, so that their numbers are right
    for line in map(str.strip, source.splitlines()):
        # Each line alone, because prose may begin with "from", too.
        is_import = re.match(r"(?:import|from)\s", line) and _tree(line)
        lines.append(line if is_import else "")
    return syntax.parse("\n".join(lines))


def _tree(source: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return syntax.kept(source)
        except document.UNREADABLE:
            return None


def _names(node: ast.AST, home: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and (home or not node.level):
        dots = "." * node.level
        try:
            base = importlib.util.resolve_name(dots + (node.module or ""), home)
        except ImportError:  # more dots than folders
            return
        yield from (f"{base}.{alias.name}" for alias in node.names)


def _loaded(node: ast.AST, home: str, texts: Mapping[str, list[str]]) -> Iterator[str]:
    """The modules that a call loads by their names; `texts` are those that variables may have."""
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(_, name), arguments) if name in _LOADERS:
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            given |= dict(zip(("name", "package"), arguments, strict=False))
            module = given.get("name") or given.get("mod_name")  # as run_module calls it
            named = [_named_module(module)] if module else []
            if isinstance(module, ast.Name):
                named = texts.get(module.id, [])
            for each in named:
                yield from _absolute(each, given.get("package"), home)
        case ast.Call(ast.Name(name) | ast.Attribute(_, name)) if name in _SEARCHES and home:
            yield f"{home}.**"


def _texts(tree: ast.AST) -> dict[str, list[str]]:
    """The literal texts that code gives to each variable, also one by one in a loop."""
    texts: dict[str, list[str]] = {}
    for node in syntax.nodes(tree, ast.Assign, ast.For, ast.comprehension):
        match node:
            case ast.Assign([ast.Name(name)], ast.Constant(str(text))):
                texts.setdefault(name, []).append(text)
            case ast.For(ast.Name(name), ast.List(parts) | ast.Tuple(parts)) | ast.comprehension(
                ast.Name(name), ast.List(parts) | ast.Tuple(parts)
            ):
                texts.setdefault(name, []).extend(text for part in parts for text in _literal(part))
    return texts


def _named_module(argument: ast.expr) -> str:
    """The module that a literal names; for one with a part that is made up, all below its start."""
    match argument:
        case ast.Constant(str(name)):
            return name
        case ast.JoinedStr([ast.Constant(str(start)), _, *_]) | ast.BinOp(
            ast.Constant(str(start)), ast.Add() | ast.Mod(), _
        ):
            return _below(start.partition("%")[0])
        case ast.Call(ast.Attribute(ast.Constant(str(start)), "format")):
            return _below(start.partition("{")[0])
        case ast.Call(ast.Attribute(ast.Constant("."), "join"), [ast.List([first, _, *_])]):
            return "".join(f"{package}.**" for package in _literal(first))
        case ast.JoinedStr([ast.FormattedValue(ast.Name("__name__" | "__package__")), *_]):
            return ".**"
    return ""


def _below(start: str) -> str:
    """Everything below the last package that a beginning such as "pk.sub.model_" names."""
    package, dot, _ = start.rpartition(".")
    return f"{package}.**" if dot else ""


def _absolute(name: str, package: ast.expr | None, home: str) -> Iterator[str]:
    if not name.startswith("."):
        if re.fullmatch(r"\w+(?:\.\w+)*(?:\.\*\*)?", name):
            yield name
        return
    base = home
    if isinstance(package, ast.Constant) and isinstance(package.value, str):
        base = package.value
    dots = len(name) - len(name.lstrip("."))
    if base and name == ".**":
        yield f"{base}.**"
    elif base:
        with contextlib.suppress(ImportError):
            yield importlib.util.resolve_name(name, base) if dots else name


@functools.lru_cache(maxsize=KEPT)
def _commands(source: str) -> list[list[str]]:
    """The words of each command in a source: of shell lines, `%run` and child processes."""
    commands = magics.commands(source)
    if any(word in source for word in _STARTS):
        for node in syntax.nodes(parsed(source), *_STARTING):
            commands += _commands_by(node)
    return commands


def _commands_by(node: ast.AST) -> Iterator[list[str]]:
    """The words of commands that a node starts: a list with an interpreter, a text for a shell."""
    match node:
        case ast.List(elements) | ast.Tuple(elements) if elements:
            if _is_interpreter(elements[0]):
                words = ["python"]
                for element in elements[1:]:
                    words += _literal(element) or ["-"]
                yield words
        case ast.Call(ast.Name(name) | ast.Attribute(_, name), [ast.Constant(str(line)), *_]) if (
            name in _SHELLS
        ):
            yield from magics.split(line)


def _is_interpreter(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "executable"
    return any(re.fullmatch(r"(?:\S*/)?python[\d.]*", text) for text in _literal(node))


def _literal(node: ast.AST) -> list[str]:
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _started(words: list[str]) -> Iterator[str]:
    for each in magics.started(words):
        if re.fullmatch(r"\w+(?:\.\w+)*", each.module):
            yield each.module
            yield f"{each.module}.__main__"


def _is_optional(node: ast.AST, above: Iterable[ast.AST]) -> bool:
    """Whether code can continue without what a node loads; `above` are the nodes above it."""
    for holder in above:
        guards: list[str] = []
        guarded: list[ast.stmt] = []
        match holder:
            case ast.Try(body, handlers) | ast.TryStar(body, handlers):
                # A bare `except:` catches every exception.
                types = [each.type or ast.Name("Exception") for each in handlers]
                guards = list(map(ast.unparse, types))
                guarded = body
            case ast.With(items, body):
                guards = [text for text in map(ast.unparse, items) if "suppress" in text]
                guarded = body
            case ast.If(test, body, others):
                if _is_for_types(test) and node in body:
                    return True
                guards = re.findall(r"\bfind_spec\b", ast.unparse(test))
                guarded = [*body, *others]
        words = re.findall(r"\w+", " ".join(guards))
        if node in guarded and not _MISSING.isdisjoint(words):
            return True
        node = holder
    return False


def _is_for_types(test: ast.expr) -> bool:
    """Whether a condition asks for `TYPE_CHECKING`."""
    for node in ast.walk(test):
        match node:
            case ast.Name("TYPE_CHECKING") | ast.Attribute(_, "TYPE_CHECKING"):
                return True
    return False

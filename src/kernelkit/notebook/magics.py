"""What a code cell holds besides Python: cell magics, line magics and shell lines.

Cells are read as IPython reads them, but nothing is run.
"""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FACTS = tomllib.loads(Path(__file__).parents[1].joinpath("jupyter.toml").read_text("utf-8"))
LOADED = frozenset(_FACTS["loaded"])  # modules that a kernel has before the first cell
BUILT_IN = frozenset(_FACTS["magics"])  # magics that need no extension
# Cell magics whose body is Python of this notebook; those of any other cell are another language,
# another process or a file.
PYTHON_BODIES = frozenset({"capture", "memit", "prun", "time", "timeit"})
# The line magics and shell aliases that IPython accepts without % in a one-line cell.
AUTOMAGIC = re.compile(
    r"\s*(?:autoreload|cat|cd|conda|cp|env|ldir|ll|load_ext|ls|mamba|man|matplotlib|mkdir|more|mv|"
    r"pip|pwd|reload_ext|reset|rm|rmdir|run|time|timeit|uv|who|whos)\b(?!\s*=)[^\n]*\n?"
)
# What runs in a shell whenever its cell does: lines that are not indented, and whole cells.
_ASSIGNS = r"(?:[\w.,\[\]()*'\" \t]+=[ \t]*(?=!))?"  # as in files = !ls
_SHELL = re.compile(rf"^{_ASSIGNS}[%!]{{1,2}}\s*((?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
_SHELL_CELL = re.compile(r"\s*(?:%%(?:bash|sh|script|shell)\b|!!)")
_CELL_MAGIC = re.compile(r"\s*%%(\w+)[ \t]*([^\n]*)(?:\n|$)")
_LINE_MAGIC = re.compile(r"^[ \t]*(?:[\w.,\[\]() ]+=[ \t]*)?%(\w+)", re.MULTILINE)
_INDENTED = re.compile(rf"^[ \t]*{_ASSIGNS}[%!]{{1,2}}[ \t]*((?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
# Whole lines that IPython reads, also as help (`numpy.ndarray?`), and what it assigns (`x = !ls`).
_WHOLE = re.compile(
    r"^([ \t]*)(?:[%!?](?:[^\n]*\\\n)*[^\n]*|[%\w.]+\?{1,2}[ \t]*(?:#[^\n]*)?)$", re.MULTILINE
)
_ASSIGNED = re.compile(
    r"^([ \t]*[\w.,\[\]()*'\" \t]+=[ \t]*)(?:!|%\w)(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE
)
_BETWEEN = re.compile(r"\s*(?:&&|\|\||[;|&\n])\s*")
_PYTHON = re.compile(r"(?:\S*/)?python[\d.]*|\{sys\.executable\}|\$\(which python[\d.]*\)")
_WITH_VALUE = ("-W", "-X")  # the interpreter's options that a word follows


class Written(NamedTuple):
    """A file that a cell writes with `%%writefile`: its path, its text, whether it is appended."""

    path: str
    text: str
    appended: bool


class Started(NamedTuple):
    """What a shell line or a magic starts: a module (`python -m`), or a file."""

    module: str = ""
    file: str = ""


def cell_magic(source: str) -> tuple[str, str]:
    """The name and the arguments of the magic that a cell begins with; empty without one."""
    match = _CELL_MAGIC.match(source)
    return (match[1], match[2].strip()) if match else ("", "")


def is_python(source: str) -> bool:
    """Whether the body of a cell is Python that runs in the notebook's own process."""
    name, _ = cell_magic(source)
    return not name or name in PYTHON_BODIES


def python_body(source: str) -> str:
    """A cell's Python without the cell magics above it, with the same numbers of lines.

    Empty for a cell whose body is not Python of this notebook.
    """
    above = ""
    while (match := _CELL_MAGIC.match(source)) is not None:
        if match[1] not in PYTHON_BODIES:
            return ""
        above += "\n" * match[0].count("\n")
        source = source[match.end() :]
    return above + source


def as_python(source: str) -> str:
    """A cell's source with `pass` or `None` for what IPython reads, with the same lines.

    Python that spreads over lines which begin with % is destroyed: what this returns is worth
    something only if it compiles, and the source itself does not.
    """
    source = _WHOLE.sub(lambda match: match[1] + "pass" + "\n" * match[0].count("\n"), source)
    return _ASSIGNED.sub(lambda match: match[1] + "None" + "\n" * match[0].count("\n"), source)


def written(source: str) -> Written | None:
    """The file that a cell writes, if it begins with `%%writefile` or `%%file`."""
    name, arguments = cell_magic(source)
    if name not in ("writefile", "file"):
        return None
    words = _words(arguments)
    paths = [word for word in words if not word.startswith("-")]
    if not paths:
        return None
    appended = "-a" in words or "--append" in words
    return Written(paths[-1], source.lstrip().partition("\n")[2], appended)


def called(source: str) -> Iterator[tuple[str, bool]]:
    """The names of the magics that a cell calls, and whether each is a cell magic."""
    name, _ = cell_magic(source)
    if name:
        yield name, True
    if not name or name in PYTHON_BODIES:
        body = source.lstrip().partition("\n")[2] if name else source
        for match in _LINE_MAGIC.finditer(body):
            yield match[1], False


def shell_lines(source: str) -> list[str]:
    """The lines of a cell that run in a shell, or as a magic, whenever the cell does."""
    if _SHELL_CELL.match(source):
        return source.splitlines()[1:]
    if not is_python(source):
        return []
    if AUTOMAGIC.fullmatch(source):
        return [source.strip()]
    return [line.replace("\\\n", " ") for line in _SHELL.findall(source)]


def commands(source: str) -> list[list[str]]:
    """The words of each command that a cell may run in a shell or as a magic, also conditionally.

    Lines of a shell are divided at `;`, `&&`, `|` and the like.
    """
    if _SHELL_CELL.match(source):
        lines = source.splitlines()[1:]
    elif not is_python(source):
        return []
    elif AUTOMAGIC.fullmatch(source):
        lines = [source.strip()]
    else:
        lines = [line.replace("\\\n", " ") for line in _INDENTED.findall(source)]
    return [words for line in lines for words in split(line)]


def split(line: str) -> Iterator[list[str]]:
    """The words of each command in a line of a shell."""
    for part in _BETWEEN.split(line):
        if words := _words(part):
            yield words


def started(words: list[str]) -> Iterator[Started]:
    """The modules that a command starts with `python -m`, and the files that it names."""
    if words[0] == "run":  # IPython's %run
        yield from _by_run(words[1:])
        return
    if words[0] in ("load_ext", "reload_ext"):
        yield from (Started(module=name) for name in words[1:2])
        return
    for number, word in enumerate(words):
        if _PYTHON.fullmatch(word):
            yield from _by_python(words[number + 1 :])
            return
    yield from (Started(file=word) for word in words if not word.startswith("-"))


def _by_run(words: list[str]) -> Iterator[Started]:
    for number, word in enumerate(words):
        if word == "-m":
            yield from (Started(module=name) for name in words[number + 1 : number + 2])
            return
        if not word.startswith("-"):
            yield Started(file=word if word.endswith((".py", ".ipynb", ".ipy")) else f"{word}.py")
            return


def _by_python(words: list[str]) -> Iterator[Started]:
    waiting = iter(words)
    for word in waiting:
        if word == "-m":
            module = next(waiting, "")
            if module:
                yield Started(module=module)
            break
        if word == "-c":
            return
        if word in _WITH_VALUE:
            next(waiting, "")
        elif not word.startswith("-"):
            yield Started(file=word)
            break
    yield from (Started(file=word) for word in waiting if not word.startswith("-"))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # a quotation mark that is not closed
        return line.split()

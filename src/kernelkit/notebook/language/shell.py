"""The words of shell lines and of magics' arguments, and what such a command starts."""

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

STARTED = (".py", ".ipynb", ".sh")  # files that a command may start
SHELL_MAGICS = ("bash", "sh", "script", "system", "sx", "!")  # magics whose cell is a shell's
_BETWEEN = ";&|"  # the characters of what stands between commands
_PYTHON = re.compile(r"(?:\S*/)?python[\d.]*|\{sys\.executable\}")
_PIP = re.compile(r"pip[\d.]*")
_HASH_IN_WORD = re.compile(rf"(?<=[^\s{_BETWEEN}])#")
_NO_COMMENT = "\0"  # which no line has, for a "#" that shlex would take for a comment
_REDIRECTED = re.compile(r"[\d&]?>.*")


class Start(NamedTuple):
    """A module or a file that code starts: in a process, by `%run` or by `%load_ext`."""

    module: str = ""
    file: str = ""


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command in lines of a shell; comments are left out."""
    for line in text.replace("\\\n", " ").split("\n"):
        command: list[str] = []
        for word in _words(line, _BETWEEN):
            if word and not word.strip(_BETWEEN):
                if command:
                    yield command
                command = []
            else:
                command.append(word)
        if command:
            yield command


def words(line: str) -> list[str]:
    """The words of a line, without quotation marks and comments."""
    return _words(line, "")


def _words(line: str, between: str) -> list[str]:
    """The words of a line, and those of the characters `between`; quotation marks hold together.

    A comment begins at the beginning of a word.
    """
    text = _HASH_IN_WORD.sub(_NO_COMMENT, line)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=between)
    lexer.whitespace_split = True
    try:
        return [word.replace(_NO_COMMENT, "#") for word in lexer]
    except ValueError:  # a quotation mark that is not closed
        return line.split()


def plain(words: Sequence[str]) -> list[str]:
    """The words of a command without redirections and what may stand before it: `sudo`,
    `python -m`, and `uv` before `pip`."""
    rest = list(itertools.takewhile(lambda word: not _REDIRECTED.fullmatch(word), words))
    if rest[:1] == ["sudo"]:
        rest = rest[1:]
    if rest[:2] == ["uv", "pip"]:
        rest = rest[1:]
    if len(rest) > 2 and rest[1] == "-m":
        rest = rest[2:]
    if rest and _PIP.fullmatch(rest[0]):
        rest[0] = "pip"
    return rest


def is_python(word: str) -> bool:
    """Whether a word of a command is the interpreter."""
    return _PYTHON.fullmatch(word) is not None


def started_by_magic(words: Sequence[str]) -> Iterator[Start]:
    """What a line magic starts: the one of `%run` or `%load_ext`, or else what a shell would."""
    match words:
        case ["run", *arguments]:
            yield from _by_run(arguments)
        case ["load_ext" | "reload_ext", *names]:
            for name in names[:1]:
                yield Start(module=name)
        case _:
            yield from started_by_shell(words)


def started_by_shell(words: Sequence[str]) -> Iterator[Start]:
    """The modules that a command starts, and the files that it may start: any that it names."""
    for number, word in enumerate(words):
        if is_python(word):
            yield from _by_python(words[number + 1 :])
            return
    yield from _files(words)


def _by_run(words: Sequence[str]) -> Iterator[Start]:
    """What `%run [OPTIONS] FILE` or `%run -m MODULE` starts."""
    for number, word in enumerate(words):
        if word == "-m":
            for name in words[number + 1 : number + 2]:
                yield Start(module=name)
            return
        if not word.startswith("-"):
            is_whole = word.endswith((".py", ".ipynb", ".ipy"))
            yield Start(file=word if is_whole else f"{word}.py")
            return


def _by_python(words: Sequence[str]) -> Iterator[Start]:
    """What `python [OPTIONS] FILE` or `python -m MODULE` starts, and the files that it names."""
    for number, word in enumerate(words):
        if word == "-c":
            return
        if word == "-m":
            following = words[number + 1 :]
            yield Start(module=following[0] if following else "")
            yield from _files(following[1:])
            return
        if not word.startswith("-"):
            yield Start(file=word)
            yield from _files(words[number + 1 :])
            return


def _files(words: Sequence[str]) -> Iterator[Start]:
    for word in words:
        if word.endswith(STARTED) and not word.startswith("-"):
            yield Start(file=word)

"""Read code without running it: its imports, what it installs and downloads, what is not Python.

Cells with magics and shell lines count as code.
"""

from __future__ import annotations

import ast
import contextlib
import platform
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # a NUL is a ValueError
MISSING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)
# Python 3.12 accepts any expression inside the braces of f-strings, and type parameters.
_F_STRING = re.compile(r"""\b(?:[rR]?[fF]|[fF][rR])["']""")
_SINCE_3_12 = re.compile(r"^\s*type\s+\w+\s*[\[=]|^\s*(?:(?:async )?def|class)\s+\w+\[")
_CUT_STRING = ("unterminated string", "unexpected character after line continuation")
NEWER = "which Kaggle's newer Python may accept"
Sources = Iterable[tuple[str, str]]  # the name and the source of cells or modules
# The line magics and shell aliases that IPython accepts without % in a one-line cell.
AUTOMAGIC = re.compile(
    r"\s*(?:autoreload|cat|cd|conda|cp|env|ldir|ll|load_ext|ls|mamba|man|matplotlib|mkdir|more|mv|"
    r"pip|pwd|reload_ext|reset|rm|rmdir|run|time|timeit|uv|who|whos)\b(?!\s*=)[^\n]*\n?"
)
_SHELL = re.compile(r"^(\s*)[%!]{1,2}\s*((?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
_CALL = re.compile(r"(?:os\.(?:system|popen)|subprocess\.\w+|\.system)\(([^)]*)")
_SHELL_CELL = re.compile(r"\s*(?:%%(?:bash|sh|script)|!!)")
_INSTALL = re.compile(r"\b(?:pip[\d.]*|conda|mamba)\s+install\s+(.*)")
_ENDS = re.compile(r"\s\d?>+\s*[/&\w]|[;&|]|\s#")  # what ends a shell command
_FETCH = re.compile(
    r"(?:^|[;&|]\s*)(?:sudo\s+)?(?:wget|curl|gdown|aria2c|huggingface-cli|hf|git\s+(?:lfs\s+)?"
    r"(?:clone|pull)|apt(?:-get)?(?:\s+-\S+)*\s+(?:install|update)|kaggle\s+\w+\s+download)\b"
)
_TAKES_VALUE = re.compile(
    r"-[cfirt]|--(?:constraint|(?:extra-)?index-url|find-links|requirement|target|progress-bar"
    r"|root-user-action|channel)"
)
_REACHES = re.compile(
    r"^\s*(?:import|from)\s+(?:aiohttp|boto3|bs4|datasets|gdown|google\.cloud|httpx|huggingface_hub"
    r"|kaggle_datasets|kaggle_secrets|kagglehub|openai|requests|socket|urllib3?|wandb|yfinance)\b"
    r"|\b(?:from_preset|from_pretrained|get_file|hf_hub_download|load_data|load_dataset"
    r"|SentenceTransformer|snapshot_download|urlopen|urlretrieve|fetch_\w+)\("
    r"|\b(?:hub\.(?:load|KerasLayer)|nltk\.download|tfds\.load|applications)\b"
    r"|\b(?:download|pretrained)\s*=\s*True|\bweights\s*=\s*(?!None)"
    r"|[\"']pip[\"'],\s*[\"']install|\(\s*f?[\"'][^\"'\n]*pip[\d.]*\s+install"
    r"|[\"'](?:ftp|git|gs|hf|https?|s3)(?:\+\w+)?://",
    re.MULTILINE,
)
_BRINGS = re.compile(
    r"[\"']pip[\"'],\s*[\"']install|\(\s*f?[\"'][^\"'\n]*pip[\d.]*\s+install"
    r"|\bsys\.path\b|\baddsitedir\(|PYTHONPATH|\b(?:unzip|tar|git\s+clone|cp\s+-\w*r\w*)\s"
    r"|\bextractall\(|\bunpack_archive\(|\bcopytree\("
)


def imported(source: str, home: str = "") -> Iterator[str]:
    """The dotted names that a source imports; relative imports start from the package `home`."""
    for node in ast.walk(parsed(source)):
        yield from _names(node, home)


def needed(sources: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The modules that these (name, source) pairs need, and where each is first imported.

    Top-level names, such as "numpy": "train.ipynb[cell 2], line 1". Optional modules
    (`try: … except ImportError`) are left out.
    """
    modules: dict[str, str] = {}
    for name, source in sources:
        for node in _unguarded(parsed(source)):
            for module in _names(node, ""):
                modules.setdefault(module.partition(".")[0], f"{name}, line {node.lineno}")
    return modules


def parsed(source: str) -> ast.Module:
    """The source's syntax tree; for a cell that is not Python, the tree of its import lines."""
    for text in (source, _MAGIC.sub(r"\1pass", source)):
        with contextlib.suppress(*UNREADABLE), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    return ast.Module(list(_import_lines(source)), [])


def _import_lines(source: str) -> Iterator[ast.stmt]:
    for number, line in enumerate(source.splitlines(), start=1):
        if line.strip().startswith(("import ", "from ")) and "(" not in line:
            try:
                tree = ast.parse(line.strip())
            except UNREADABLE:
                continue
            yield from (ast.increment_lineno(statement, number - 1) for statement in tree.body)


def _names(node: ast.AST, home: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and (home or not node.level):
        up = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*up, *([node.module] if node.module else [])])
        yield from (f"{base}.{alias.name}" for alias in node.names)


def _unguarded(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
        return
    skipped = node.body if _optional(node) else []  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node):
        if child not in skipped:
            yield from _unguarded(child)


def _optional(node: ast.AST) -> bool:
    """Whether the code continues without the imports in the node's body."""
    if isinstance(node, ast.Try):
        caught = [handler.type for handler in node.handlers]
        return any(kind is None or MISSING & _mentioned(kind) for kind in caught)
    if isinstance(node, ast.With):
        names = [_mentioned(item.context_expr) for item in node.items]
        return any("suppress" in mentioned and MISSING & mentioned for mentioned in names)
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _mentioned(expression: ast.expr) -> set[str]:
    names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    return names | {n.attr for n in ast.walk(expression) if isinstance(n, ast.Attribute)}


def broken_cell(name: str, source: str) -> str:
    """Like `broken`, for a notebook's cell, which may await, call magics and run shell lines."""
    message = broken(name, source, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if not message or AUTOMAGIC.fullmatch(source):
        return ""
    # Importing IPython takes a third of a second, and most cells are plain Python.
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        transformed = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
    except SyntaxError:
        return message
    # IPython removes leading empty lines and keeps all others: this corrects the line numbers.
    taken = len(source) - len(source.lstrip("\n"))
    return broken(name, "\n" * taken + transformed, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def broken(name: str, source: str, flags: int = 0) -> str:
    """What is wrong with a module's source, with `name` and the line; empty if it is Python.

    `flags` are those of `compile`. The message ends with `NEWER` if this Python is too old to know.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is no error
            compile(source, name, "exec", flags=flags, dont_inherit=True)
    except SyntaxError as error:
        line = (error.text or "").strip().partition("\n")[0]
        message = f"{name}, line {error.lineno}: {error.msg}" + (f": {line[:80]}" if line else "")
        written = source.splitlines()[(error.lineno or 1) - 1 :][:1]
        newer = error.msg.startswith("f-string") or any(map(_SINCE_3_12.search, written))
        newer |= error.msg.startswith(_CUT_STRING) and any(map(_F_STRING.search, written))
        if newer and sys.version_info < (3, 12):
            return f"{message} (read by Python {platform.python_version()}), {NEWER}"
    except (ValueError, RecursionError, MemoryError) as error:
        message = f"{name}: {error}"
    else:
        return ""
    return message


@dataclass(frozen=True)
class Command:
    """A shell line of a cell; `certain` if it runs unconditionally."""

    place: str
    text: str
    certain: bool

    @property
    def packages(self) -> list[str] | None:
        """What pip or conda installs, as written; None for any other command."""
        match = _INSTALL.search(self.text)
        if match is None:
            return None
        words = iter(_ENDS.split(match[1])[0].split())
        named = []
        for word in words:
            if _TAKES_VALUE.fullmatch(word):
                value = next(words, "")
                named += [f"-r {value}"] if word in ("-r", "--requirement") else []
            elif not word.startswith("-"):
                named.append(word.strip("'\""))
        return named

    @property
    def downloads(self) -> bool:
        """Whether it needs a network; existing files and a folder of wheels need none."""
        packages = self.packages
        if packages is None:
            return bool(_FETCH.search(self.text))
        local = re.search(r"--no-index|--find-links|(?:^|\s)-f\s|\s-r\s|requirements", self.text)
        paths = (".", "/", "$", "{", "file:", "-r ")
        return not local and not all(p.startswith(paths) or p.endswith(".whl") for p in packages)


def commands(sources: Sources) -> Iterator[Command]:
    """Every shell line of these cells: after `!` or `%`, in a shell cell or called from Python."""
    for place, source in sources:
        if _SHELL_CELL.match(source):
            lines = source.splitlines()[1:]
            yield from (Command(place, line.strip(), True) for line in lines)
            continue
        if AUTOMAGIC.fullmatch(source):
            yield Command(place, source.strip(), True)
        for indent, text in _SHELL.findall(source):
            yield Command(place, re.sub(r"\\\n", " ", text), not indent.strip("\n"))
        for arguments in _CALL.findall(source):
            yield Command(place, re.sub(r"[\"',\[\]\s]+", " ", arguments).strip(), False)


def reaching(sources: Sources) -> str:
    """The first place that seems to need the internet; empty if there is none."""
    for place, source in sources:
        code = re.sub(r"^\s*#.*$", "", source, flags=re.MULTILINE)
        if _REACHES.search(code) or any(c.downloads for c in commands([(place, code)])):
            return place
    return ""


def brought(sources: Sources, modules: Iterable[str]) -> set[str]:
    """The `modules` that the code installs or writes itself, or may install.

    A package whose name differs from its module, a requirements file and a folder on `sys.path`
    may provide any of them.
    """
    sources, modules = list(sources), set(modules)
    written = {name for _, text in sources for name in re.findall(r"%%writefile\s+(\w+)\.py", text)}
    installed: set[str] = set()
    for command in commands(sources):
        for package in command.packages or ():
            name = re.split(r"[\[=<>~!;]", package)[0].rpartition("/")[2].removesuffix(".git")
            installed.add(re.sub(r"-\d.*|\.(?:whl|zip|tar|gz)", "", name).replace("-", "_").lower())
    by_name = {module for module in modules if module.lower() in installed}
    others = installed - {module.lower() for module in modules} - {"pip", "setuptools", "wheel"}
    if others or any(_BRINGS.search(text) for _, text in sources):
        return modules
    return by_name | (written & modules)

"""What code installs and downloads in its session, found by reading it, not by running it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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
        return not local and not all(map(_is_path, packages))


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


def _is_path(package: str) -> bool:
    return package.startswith((".", "/", "$", "{", "file:", "-r ")) or package.endswith(".whl")

"""The checks of code: its syntax, magics, downloads, and calls that Kaggle does not answer."""

import ast
import re
from collections.abc import Iterable, Iterator

from packaging.utils import canonicalize_name

from kernelkit import image
from kernelkit.kaggle.client import SOURCES
from kernelkit.notebook import document, magics
from kernelkit.notebook.modules import parsed
from kernelkit.push.checks.findings import Finding, error, warning
from kernelkit.push.checks.places import several
from kernelkit.push.checks.session_modules import brings_modules, held
from kernelkit.push.plan import Plan

READS_SECRETS = re.compile(r"(?m)^\s*(?:from|import)\s+kaggle_secrets\b")
# Its arguments, up to a redirection such as `> /dev/null`, or another command.
INSTALLS = re.compile(r"\b(?:pip[\d.]*|conda|mamba)\s+install\s+((?:(?!\s\d?>)[^;&|])*)")
NEWEST = re.compile(r"(?:^|\s)(?:-U|-I|--upgrade|--force-reinstall|--ignore-installed)\b")
FROM_FILES = re.compile(
    r"--no-index|--find-links|requirements|(?:^|\s)(?:-[fr]\s|[\"']?(?:[./${]|file:))|\.whl\b"
)
FETCHES = re.compile(
    r"(?:^|[;&|]\s*)(?:sudo\s+)?(?:wget|curl|gdown|aria2c|huggingface-cli|hf|git\s+(?:lfs\s+)?"
    r"(?:clone|pull)|apt(?:-get)?(?:\s+-\S+)*\s+(?:install|update)|kaggle\s+\w+\s+download)\b"
)
COLAB = {
    "drive": "there is no Google Drive: attach the data as a dataset, and read it from "
    "/kaggle/input",
    "files": "there is no browser to ask: attach the data as a dataset, and leave results in "
    "/kaggle/working",
    "auth": "nobody can sign in: attach the data as a dataset",
    "output": "there is no Colab page to show it in",
}
DEFINES_MAGICS = re.compile(
    r"\bregister_\w*magic|\bload_ipython_extension\b|\bmagics_class\b"
    r"|^\s*%?(?:re)?load_ext\b|\brun_line_magic\([\"']load_ext",
    re.MULTILINE,
)
_COLAB_CALLS = re.compile(
    r"\b(?:drive\.(?:mount|flush_and_unmount)|files\.(?:upload|download)|auth\.authenticate_user)\b"
)
INSTEAD = {
    "shell": "use %%bash",
    "tensorflow_version": "delete the line",
    "md": "make it a Markdown cell",
    "sql": "load an extension that has it (%load_ext), or use Python",
    "bigquery": "%load_ext google.cloud.bigquery first",
    "autoreload": "%load_ext autoreload first",
    "tensorboard": "%load_ext tensorboard first",
    "memit": "%load_ext memory_profiler first",
    "mprun": "%load_ext memory_profiler first",
    "lprun": "%load_ext line_profiler first",
}


def downloads(plan: Plan) -> Iterator[Finding]:
    """Shell lines that use the network, in a session without internet."""
    for place, source in plan.bundle.code:
        if plan.metadata.is_script:  # in a file, no line is the shell's
            return
        for line in magics.shell_lines(source):
            if install := INSTALLS.search(line):
                online = not (FROM_FILES.search(install[1]) or _is_installed(install[1], plan))
                instead = 'add "PACKAGE==VERSION" to wheels in [tool.kernelkit]'
            else:
                online = bool(FETCHES.search(line))
                instead = "attach what it downloads as a dataset"
            if online:
                yield warning(
                    f"{place} runs `{line[:80]}` and the internet is off: {instead}, or set "
                    "enable_internet to true"
                )


def _is_installed(arguments: str, plan: Plan) -> bool:
    """Whether the image has all these packages, whose versions are left open."""
    names = [canonicalize_name(word.strip("\"'")) for word in arguments.split() if word[0] != "-"]
    seen = held(plan.project.runs, plan.kind)
    packages: set[str] = set()
    for module in seen or ():
        packages.add(canonicalize_name(image.distribution(module) or module))
    if seen is None:
        packages.update(image.distributions(plan.kind))
    return not NEWEST.search(arguments) and packages.issuperset(names)


def bundle(plan: Plan) -> Iterator[Finding]:
    """Code that is not Python, own modules that are not sent, and magics that nothing has."""
    yield from not_python(plan.bundle.code, cells=not plan.metadata.is_script)
    yield from not_python(plan.bundle.modules)
    brought = brings_modules(plan) and any(map(plan.metadata.sources, SOURCES))
    for module, reason in plan.bundle.stays.items():
        # An import that may fail (`try: … except ImportError`) is not needed.
        needed = module in plan.bundle.imports or "." in module
        level = error if needed and not brought else warning
        yield level(f"{module} is not pushed: {reason}")
    yield from map(warning, (*plan.bundle.notes, *plan.bundle.writes))
    if not plan.metadata.is_script:
        yield from _unknown_magics(plan)
    yield from _of_colab(plan)


def _unknown_magics(plan: Plan) -> Iterator[Finding]:
    """Magics that IPython does not have, unless something may define them."""
    places: dict[str, list[str]] = {}
    for place, source in plan.bundle.code:
        if "%" not in source:
            continue
        unknown = [each for each in magics.called(source) if each[0] not in magics.BUILT_IN]
        if not unknown or not document.syntax_error(place, source)[0]:
            continue  # in plain Python, % is an operator
        for name, of_cell in unknown:
            called = f"%%{name}" if of_cell else f"%{name}"
            places.setdefault(called, []).append(place)
    if not places or any(DEFINES_MAGICS.search(source) for _, source in plan.bundle.sources):
        return
    for name, where in places.items():
        remedy = INSTEAD.get(name.lstrip("%"), "load the extension that has it (%load_ext)")
        yield warning(
            f"{several(where)} calls {name}, which IPython does not have: the run stops there. "
            f"{remedy[0].upper()}{remedy[1:]}"
        )


def _of_colab(plan: Plan) -> Iterator[Finding]:
    """Calls that only Colab answers, unless a condition guards them."""
    if not any("colab" in source for _, source in plan.bundle.sources):
        return  # drive and files are something else
    for place, source in plan.bundle.code:
        if not _COLAB_CALLS.search(source):
            continue
        for owner in dict.fromkeys(_colab_calls(parsed(source))):
            yield warning(f"{place} calls google.colab's {owner}, and on Kaggle {COLAB[owner]}")


def _colab_calls(tree: ast.AST) -> Iterator[str]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.If | ast.Try | ast.FunctionDef):
            continue
        match node:
            case ast.Call(ast.Attribute(ast.Name("drive"), "mount" | "flush_and_unmount")):
                yield "drive"
            case ast.Call(ast.Attribute(ast.Name("files"), "upload" | "download")):
                yield "files"
            case ast.Call(ast.Attribute(ast.Name("auth"), "authenticate_user")):
                yield "auth"
        waiting += ast.iter_child_nodes(node)


def not_python(sources: Iterable[tuple[str, str]], *, cells: bool = False) -> Iterator[Finding]:
    """A finding for each of these (name, source) pairs that is not Python, with its line.

    A notebook's `cells` may also call magics and run shell lines. It is a warning where Kaggle's
    newer Python may know the syntax.
    """
    for place, source in sources:
        message, newer = document.syntax_error(place, source, cell=cells)
        if message:
            yield (warning if newer else error)(message)


def account_secrets(plan: Plan) -> Iterator[Finding]:
    """Code that reads the account's Secrets, which a pushed run does not get."""
    texts = [each for each in plan.bundle.texts if "kaggle_secrets" in each[1]]
    places = [place for place, text in texts if READS_SECRETS.search(text)]
    if places:
        yield warning(
            f"{several(places)} reads kaggle_secrets, but a push detaches the kernel's Secrets: "
            "the run will not find them. Let the code work without them, attach a private "
            "dataset with what it needs, or attach them again on the kernel's page (Add-ons, "
            "Secrets) and run it from there"
        )

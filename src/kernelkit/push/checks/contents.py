"""The checks of a push's contents: parameters, code, size, modules and credentials."""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from kernelkit import files, machines
from kernelkit.credentials import find_secrets
from kernelkit.errors import NotebookError
from kernelkit.kaggle.client import SOURCES
from kernelkit.machines import Kind
from kernelkit.notebook import document, rules
from kernelkit.project import DOCTOR
from kernelkit.push.bundle.build import MAX_BYTES
from kernelkit.push.checks.findings import Finding, error, warning
from kernelkit.push.ledger import Ledger
from kernelkit.push.plan import Plan
from kernelkit.runs import kit_folder

OUTPUT = "output"  # the parameter with the folder that a run writes to
WARN_SHARE = 0.8  # of the largest size
# Matches comments too, without a name; a name that goes on in braces is none.
OLD_MOUNT = re.compile(r"(?m)^\s*#.*|(?:/kaggle|\.\.)/input/([\w.-]*+(?<=\w))(?![{%])")
# A call such as pd.read_csv("data/train.csv"), but not open("log.txt", "w").
READS = re.compile(r"(?:read|load|open)\w*\(\s*[\"']([^\"'\n]+)[\"'](?!\s*,\s*[\"'][wax])")
MOUNTS = ("competitions", "datasets", "models", "notebooks")  # the folders below /kaggle/input
READS_SECRETS = re.compile(r"(?m)^\s*(?:from|import)\s+kaggle_secrets\b")
# What runs in a shell whenever its cell does: lines that are not indented, and whole cells.
SHELL = re.compile(r"^[%!]{1,2}\s*((?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
SHELL_CELL = re.compile(r"\s*(?:%%(?:bash|sh|script)|!!)")
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
OWN_MODULE = (
    "it is not pushed: make it a package under src/, and name it in packages of [tool.kernelkit]"
)
OTHER_MODULE = (
    'add "PACKAGE==VERSION" to wheels in [tool.kernelkit], which is attached and installed, or put '
    "its source under src/ and add its name to packages"
)
# Code after which more modules may be there than the image has.
BRINGS = re.compile(
    r"\b(?:pip[\d.]*|conda|mamba)[\"',\s]+install\b|%%writefile\s+\S+\.py\b"
    r"|\bsys\.path\b|\baddsitedir\(|PYTHONPATH|\b(?:unzip|tar|git\s+clone|cp\s+-\w*r\w*)\s"
    r"|\bextractall\(|\bunpack_archive\(|\bcopytree\("
)


def parameters(plan: Plan) -> Iterator[Finding]:
    """Violations of the project's own rules by the parameters of each run."""
    if not plan.project.check:
        return
    attached = {kind: plan.metadata.sources(kind) for kind in SOURCES}
    notebook = plan.project.beside or plan.metadata.code_file
    runs = plan.starts or (plan.parameters,)
    try:
        answers = rules.problems(plan.project, notebook, runs, attached)
    except NotebookError as raised:
        answers = [[str(raised)]]
    yield from map(error, dict.fromkeys(text for lines in answers for text in lines))


def needs(plan: Plan) -> Iterator[Finding]:
    """Check that the metadata enables the internet, files and data that the parameters need."""
    metadata = plan.metadata
    has = {f"{name}={value}" for name, value in plan.values}
    pairs = plan.project.needs.items()
    needed = {need: pair for need, own in pairs for pair in own if pair in has}
    attached = any(map(metadata.sources, ("dataset", "model", "kernel")))
    internet, download = needed.get("internet"), not attached and needed.get("download")
    if metadata.online and (internet or download):
        yield warning("Kaggle ignores enable_internet for accounts without a verified phone")
    elif internet:
        yield error(f"{internet} needs the internet, which is off: set enable_internet to true")
    elif download:
        yield error(
            f"{download} downloads data that is not attached, and the internet is off: set "
            "enable_internet to true, or attach a dataset or model with the data"
        )
    if "competition" in needed and not metadata.sources("competition"):
        yield error(
            f"{needed['competition']} reads the competition's files: add it to competition_sources"
        )
    if "desk" in needed:
        yield error(f"{needed['desk']} works only locally: what it needs is not part of a push")
    if not metadata.online:
        yield from downloads(plan)


def downloads(plan: Plan) -> Iterator[Finding]:
    """Shell lines that use the network, in a session without internet."""
    for place, source in plan.bundle.code:
        for line in _shell_lines(source):
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
    modules = held(plan.project.runs, plan.kind)
    packages = {canonicalize_name(machines.distribution(module)) for module in modules}
    return not NEWEST.search(arguments) and packages.issuperset(names)


def _shell_lines(source: str) -> list[str]:
    if SHELL_CELL.match(source):
        return source.splitlines()[1:]
    if document.AUTOMAGIC.fullmatch(source):
        return [source.strip()]
    return [line.replace("\\\n", " ") for line in SHELL.findall(source)]


def pair(plan: Plan) -> Iterator[Finding]:
    """A notebook that differs from its paired `.py`."""
    if difference := document.difference(plan.metadata.code_file):
        yield error(difference)


def paths(plan: Plan) -> Iterator[Finding]:
    """Parameters and reads of code that name what exists only on this machine."""
    values = {(name, value) for name, value in plan.values if isinstance(value, str)}
    for name, value in sorted(values):
        if "/" in value and name != OUTPUT and _is_here(value):
            yield error(
                f"{name}={value} is on this machine only: attach its contents (kernelkit upload "
                "FOLDER) and give the path at which the session has them"
            )
    yield from _local_reads(plan)


def _local_reads(plan: Plan) -> Iterator[Finding]:
    """Files beside the notebook that cells read, unless the code writes them or knows Kaggle."""
    text = "\n".join(source for _, source in plan.bundle.code)
    reads = READS.findall(text)
    for place, source in () if "kaggle" in text.lower() else plan.bundle.code:
        for name in dict.fromkeys(READS.findall(source)):
            here = _is_here(str(plan.metadata.code_file.parent / name))
            if here and reads.count(name) == text.count(name):
                yield warning(
                    f"{place} reads {name}, which is not pushed: attach it, or the competition "
                    "that has it, and read it from /kaggle/input"
                )


def _is_here(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # too long, of an unknown user, or not a path
        return False


def mounts(plan: Plan) -> Iterator[Finding]:
    """Inputs that code looks for at Kaggle's former mount points, or that are not attached."""
    code = plan.bundle.sources
    attached = set(MOUNTS)
    for kind in SOURCES:
        for source in plan.metadata.sources(kind):
            parts = source.split("/")[:2]
            attached.add(parts[-1])
            place = next((p for p, text in code if parts[-1] in OLD_MOUNT.findall(text)), None)
            knows = re.compile(rf"\b{kind}s[/'\"]").search
            if place and kind != "kernel" and not any(knows(text) for _, text in code):
                today = "/".join(["/kaggle/input", f"{kind}s", *parts])
                yield warning(
                    f"{place} reads /kaggle/input/{parts[-1]}, an older mount that some machines "
                    f"no longer have: Kaggle mounts it at {today}"
                )
    for place, text in plan.bundle.code:
        for name in sorted({*filter(None, OLD_MOUNT.findall(text))} - attached):
            yield warning(
                f"{place} reads /kaggle/input/{name}, but no source of that name is attached: add "
                "it to the sources in kernel-metadata.json"
            )


def size(plan: Plan) -> Iterator[Finding]:
    """A bundle that exceeds Kaggle's size limit, or comes near it."""
    if plan.bundle.size >= WARN_SHARE * MAX_BYTES:
        yield (error if plan.bundle.size >= MAX_BYTES else warning)(
            f"the bundle has {plan.bundle.size / 1000:.0f} kB, and Kaggle accepts "
            f"{MAX_BYTES / 1000:.0f} kB: move data out of the packages or cells"
        )


def bundle(plan: Plan) -> Iterator[Finding]:
    """Code that is not Python, and neighbouring modules that are not sent."""
    yield from not_python(plan.bundle.code, cells=not plan.metadata.is_script)
    yield from not_python(plan.bundle.modules)
    unneeded = _brings_modules(plan) and any(map(plan.metadata.sources, SOURCES))
    for module, reason in plan.bundle.stays.items():
        yield (warning if unneeded else error)(f"{module} is not pushed: {reason}")


def not_python(sources: Iterable[tuple[str, str]], *, cells: bool = False) -> Iterator[Finding]:
    """A finding for each of these (name, source) pairs that is not Python, with its line.

    A notebook's `cells` may also call magics and run shell lines. It is a warning where Kaggle's
    newer Python may know the syntax.
    """
    for place, source in sources:
        message, newer = document.syntax_error(place, source, cell=cells)
        if message:
            yield (warning if newer else error)(message)


def _brings_modules(plan: Plan) -> bool:
    return any(BRINGS.search(text) for _, text in plan.bundle.sources)


def modules(plan: Plan) -> Iterator[Finding]:
    """Missing modules; those from wheels are known only once the wheels are chosen."""
    if not plan.project.wheels:
        yield from lacking(plan)


def lacking(plan: Plan, brought: Collection[str] = ()) -> Iterator[Finding]:
    """Modules that the code needs, but neither the machine's image nor the wheels provide."""
    there = {*plan.bundle.packages, *brought, *(name.partition(".")[0] for name in brought)}
    there.update(sys.stdlib_module_names, held(plan.project.runs, plan.kind))
    if plan.metadata.sources("competition"):  # its files may provide this module
        there.add("kaggle_evaluation")
    attached = plan.metadata.online or any(map(plan.metadata.sources, SOURCES))
    brings = _brings_modules(plan)
    for module, place in plan.bundle.imports.items():
        own = _is_own(module, plan)
        if module not in there and (not brings or (own and not attached)):
            yield warning(
                f"the image of {plan.kind.upper()} sessions does not have {module} ({place}): "
                f"{OWN_MODULE if own else OTHER_MODULE}"
            )


def _is_own(module: str, plan: Plan) -> bool:
    """Whether the project has the module, though it is not bundled."""
    root = plan.project.root
    folders = (root / "src", root, plan.metadata.code_file.parent)
    names = (f"{module}/__init__.py", f"{module}.py")
    return any((folder / name).is_file() for folder in folders for name in names)


def account_secrets(plan: Plan) -> Iterator[Finding]:
    """Code that reads the account's Secrets, which a pushed run does not get."""
    places = [place for place, text in plan.bundle.texts if READS_SECRETS.search(text)]
    if places:
        yield warning(
            f"{', '.join(places)} reads kaggle_secrets, but a push detaches the kernel's Secrets: "
            "the run will not find them. Let the code work without them, attach a private "
            "dataset with what it needs, or attach them again on the kernel's page (Add-ons, "
            "Secrets) and run it from there"
        )


def secrets(plan: Plan, own: Sequence[str] = ()) -> list[Finding]:
    """A finding for each line that contains a credential, or one of the client's `own`."""
    path = plan.metadata.path
    metadata = [(path.name, path.read_text("utf-8", "replace"))] if path.is_file() else []
    leaks = find_secrets([*plan.bundle.texts, *metadata], own)
    return [error(f"{leak}: remove it before you push") for leak in leaks]


def held(runs: Path, kind: Kind) -> Collection[str]:
    """The modules of the image, as the latest session reported them or as this kit lists them."""
    lists = (session.get("modules") for session in reported(runs, kind))
    seen = (modules for modules in lists if modules and isinstance(modules, list))
    return next(seen, machines.MODULES[kind])


def reported(runs: Path, kind: Kind) -> Iterator[dict[str, Any]]:
    """What each session on such a machine reported, latest first: its `python` and `modules`."""
    for push in reversed(Ledger(runs).of()):
        if push.accelerator == kind:
            folder = Path(push.folder or runs / f"{push.kernel.rpartition('/')[2]}-v{push.version}")
            yield kit_folder.read_json(folder, kit_folder.MANIFEST)
    facts = files.read_object(runs / DOCTOR).get("facts") or {}
    modules = str(facts.get(f"{kind}.modules") or "").split()
    yield {"python": facts.get(f"{kind}.python"), "modules": modules}

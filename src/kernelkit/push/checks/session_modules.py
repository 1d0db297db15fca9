"""The check of modules: what code imports, and what a session on Kaggle has."""

import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit import image
from kernelkit.machines import Kind
from kernelkit.notebook.records import Call
from kernelkit.project import repository
from kernelkit.push.checks.findings import POSSIBLE, PROBABLE, Finding, guess
from kernelkit.push.ledger import Ledger
from kernelkit.push.plan import Plan
from kernelkit.runs import kit_folder

# Commands and calls after which more modules may be there than the image has.
COMMANDS = {"install", "add", "sync", "unzip", "tar", "clone", "cp"}
CALLS = {"extractall", "unpack_archive", "copytree", "snapshot_download"}


def brings_modules(plan: Plan) -> bool:
    """Whether code may bring modules that are not here."""
    folders = [
        folder
        for program in plan.bundle.programs
        for _, reading in program.sources
        for folder in reading.folders
    ]
    return _fetches(plan) or any(folder.path is None for folder in folders)


def _fetches(plan: Plan) -> bool:
    """Whether code installs, copies or unpacks something, or names a folder of the session in which
    modules are looked for."""
    for program in plan.bundle.programs:
        for _, reading in program.sources:
            if any(not COMMANDS.isdisjoint(each.words) for each in reading.commands):
                return True
            if any(map(_brings, reading.calls)):
                return True
            if any(each.name == "PYTHONPATH" for each in reading.environment):
                return True
            paths = [folder.path for folder in reading.folders if folder.path]
            if any(path.startswith(("/", "../input")) for path in paths):
                return True
    return False


def _brings(call: Call) -> bool:
    """Whether a call unpacks something, or is given a command: `shell("pip install x")`."""
    if call.name.rpartition(".")[2] in CALLS:
        return True
    texts = [first for first in call.arguments[:1] if isinstance(first, str)]
    return any(text.split()[:2] == ["pip", "install"] for text in texts)


def modules(plan: Plan) -> Iterator[Finding]:
    """Missing modules; those from wheels are known only once the wheels are chosen."""
    if not plan.project.wheels:
        yield from lacking(plan)


def lacking(plan: Plan, brought: Collection[str] = ()) -> Iterator[Finding]:
    """Modules that the code needs, but neither the machine's image nor the wheels provide."""
    cells = plan.bundle.program
    there = {*plan.bundle.packages, *brought, *(name.partition(".")[0] for name in brought)}
    for _, reading in cells.sources:
        there.update(each.path.partition("/")[0].removesuffix(".py") for each in reading.writes)
    there.update(sys.stdlib_module_names, plan.bundle.stays)
    if _fetches(plan):  # it may bring any of them
        return
    brings = brings_modules(plan)
    has_competition = bool(plan.metadata.sources["competition"])
    has_others = any(plan.metadata.sources[kind] for kind in ("dataset", "kernel", "model"))
    seen = held(plan.project.runs, plan.kind)
    for module, place in plan.bundle.imports.items():
        has = _has(module, plan.kind, seen)
        if module in there or has:
            continue
        if module in plan.bundle.elsewhere:
            _, own = plan.bundle.elsewhere[module]
            where = own.relative_to(repository(plan.project.root.resolve()))
            yield guess(
                f"{place} imports {module}, your own in {where}, which does not travel: move it "
                "beside that code, or name its package in packages of [tool.kernelkit]",
                POSSIBLE if brings else PROBABLE,
            )
            continue
        if brings or (has_competition and not image.distribution(module)):  # of its own files
            continue
        text = _unknown(module, place, plan.kind) if has is None else _lacking(module, place, plan)
        certain = has is False and module in cells.needed and not has_others
        yield guess(text, PROBABLE if certain else POSSIBLE)


def _unknown(module: str, place: str, kind: Kind) -> str:
    """What to say of a module that is on no list."""
    return (
        f"it is not known whether {kind.upper()} sessions have {module} ({place}): `kernelkit "
        "doctor` reports what a session has"
    )


def _lacking(module: str, place: str, plan: Plan) -> str:
    """What to say of a module that the image does not have, and attached sources may bring."""
    text = f"the image of {plan.kind.upper()} sessions does not have {module} ({place})"
    if module not in plan.bundle.program.needed:
        text += ", if it is imported"
    distribution = image.distribution(module) or "PACKAGE"
    if distribution in image.NO_WHEEL:
        return f"{text}, and {image.NO_WHEEL[distribution]}"
    unless = ""
    if plan.metadata.sources["kernel"]:
        unless = "unless an attached utility script brings it, "
    return f'{text}: {unless}add "{distribution}==VERSION" to wheels in [tool.kernelkit]'


def _has(module: str, kind: Kind, seen: Collection[str] | None) -> bool | None:
    """Whether a session has a module; None if that is not known. What a session reported counts
    more than the lists."""
    if seen is not None and module not in image.KAGGLES_OWN:
        return module in seen
    return image.holds(module, kind)


@dataclass(frozen=True)
class ReportedImage:
    """What a session reported of its image: Python's version if it did, and its modules."""

    python: tuple[int, int] | None
    modules: Sequence[str]


def held(runs: Path, kind: Kind) -> Collection[str] | None:
    """The modules of the image, as the latest session reported them; None if none did."""
    lists = (session.modules for session in reported(runs, kind))
    return next(filter(None, lists), None)


def reported(runs: Path, kind: Kind) -> Iterator[ReportedImage]:
    """What each session on such a machine reported in its manifest, latest first."""
    for push in reversed(Ledger(runs).of()):
        if push.accelerator == kind:
            folder = Path(push.folder or runs / f"{push.kernel.rpartition('/')[2]}-v{push.version}")
            manifest = kit_folder.read_json(folder, kit_folder.MANIFEST)
            version = re.match(r"(\d+)\.(\d+)", str(manifest.get("python")))
            python = (int(version[1]), int(version[2])) if version else None
            modules = manifest.get("modules")
            yield ReportedImage(python, modules if isinstance(modules, list) else [])

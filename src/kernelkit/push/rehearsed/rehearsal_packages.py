"""The packages of Kaggle's image that a rehearsal's session imports and this machine lacks."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernelkit import files, image
from kernelkit.machines import Kind
from kernelkit.notebook.code.reading import Program
from kernelkit.project import DOCTOR, VERSIONS
from kernelkit.push.datasets import pip
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.terminal.events import WARNING, Event

INSTALLS = Event("installs")
INSTALLED = Event("installed")
PACKAGES = "packages"  # in the local Kaggle's folder: what it adds to its image
LARGEST = 1_000_000  # bytes of a Python file of an attached source that is read for its imports


def see_to_packages(context: PushContext, plan: Plan, mounted: Sequence[Path]) -> None:
    """Name the packages that Kaggle's image has and this machine lacks; install them if asked to.

    They are installed once, for all rehearsals, in the versions that the doctor saw on Kaggle.
    """
    wanted = _needed(plan, mounted)
    folder = _packages(context)
    missing = image.missing_here(wanted, plan.kind, folder)
    others = image.of_another_series(wanted, folder)
    if plan.request.packages is None:
        _tell_missing(context, missing, others)
    elif missing or others:
        _install(context, plan.kind, [*missing, *others], folder)
    guarded = sorted(plan.bundle.program.imported.difference(wanted))
    other = image.missing_here(guarded, plan.kind, folder)
    if other:
        context.events(
            WARNING,
            f"{image.how_to_get(other, tried=True)}. The code can do without: here it takes the "
            "other branch",
            modules=other,
        )


def _needed(plan: Plan, mounted: Sequence[Path]) -> list[str]:
    """The modules that a session imports and its bundle lacks, those of its sources among them."""
    needed = [name for name in plan.bundle.imports if name not in plan.bundle.packages]
    needed += _imports_of_attached(needed, mounted)
    if "pandas" in needed:
        calls = [call.name for program in plan.bundle.programs for _, call in program.calls]
        needed += image.engines(calls)
    return needed


def _tell_missing(context: PushContext, missing: Sequence[str], others: Mapping[str, str]) -> None:
    """Tell what could be installed: modules that are missing, and others by their versions here."""
    for module, version in others.items():
        theirs = image.requirements()[image.distribution(module)]
        context.events(
            WARNING,
            f"this Python has {module} {version}, and Kaggle's image {theirs}, with which code may "
            "end otherwise: kernelkit rehearse --packages kaggle installs it for rehearsals alone",
            module=module,
        )
    if missing:
        context.events(WARNING, image.how_to_get(missing), modules=missing)


def _install(context: PushContext, kind: Kind, modules: Sequence[str], folder: Path) -> None:
    """Install modules into the folder of packages, in the versions that the doctor saw."""
    names = ", ".join(modules)
    context.events(INSTALLS, f"{names}, for this and later rehearsals (once)")
    facts = files.read_object(context.runs / DOCTOR).get("facts") or {}
    seen = json.loads(facts.get(VERSIONS.format(kind)) or "{}")
    with files.locked(folder.with_suffix(".lock")), context.events.timed(f"installing {names}"):
        requirements = pip.install(modules, seen, folder)
    context.events(INSTALLED, ", ".join(requirements), folder=str(folder))


def _packages(context: PushContext) -> Path:
    """The folder of packages that rehearsals add to their image, kept once for all repositories.

    The local Kaggle has a link to it, unless it has a folder of its own.
    """
    version = ".".join(map(str, sys.version_info[:2]))
    kept = files.cache() / f"packages-{version}"
    kept.mkdir(parents=True, exist_ok=True)
    own = (context.serves or context.runs) / PACKAGES
    if not own.exists():
        own.unlink(missing_ok=True)  # a link to a cache that was removed
        own.symlink_to(kept)
    return own.resolve()


def _imports_of_attached(names: Sequence[str], mounted: Sequence[Path]) -> list[str]:
    """What the modules of attached sources import that these names, or each other, lead to."""
    held: dict[str, list[Path]] = {}
    for name, path in _modules_in(mounted):
        held.setdefault(name, []).append(path)
    waiting = [name for name in names if name in held]
    seen: dict[str, None] = {}
    while waiting:
        texts = []
        for path in held.pop(waiting.pop(), []):
            texts.append((path.name, path.read_text("utf-8-sig", "replace")))
        for name in Program.of(texts, cells=False).needed:
            seen[name] = None
            if name in held:
                waiting.append(name)
    return list(seen)


def _modules_in(folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The Python files below some folders, each with the module or package that it belongs to."""
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            if not path.is_file() or path.stat().st_size > LARGEST:
                continue
            package = path
            while (package.parent / "__init__.py").is_file():
                package = package.parent
            yield package.stem, path

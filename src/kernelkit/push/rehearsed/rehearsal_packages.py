"""The packages of Kaggle's image that a rehearsal's session imports and this machine lacks."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelkit import files, image
from kernelkit.notebook.code.reading import Program
from kernelkit.project import DOCTOR
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
    wanted = [name for name in plan.bundle.imports if name not in plan.bundle.packages]
    wanted += _imports_of_attached(wanted, mounted)
    if "pandas" in wanted:
        calls = [call.name for program in plan.bundle.programs for _, call in program.calls]
        wanted += image.engines(calls)
    folder = _packages(context)
    missing = image.missing_here(wanted, plan.kind, folder)
    asked = plan.request.packages is not None
    others = image.of_another_series(wanted, folder)
    if asked:
        missing += others
    for module, version in others.items() if not asked else ():
        theirs = image.requirements()[image.distribution(module)]
        context.events(
            WARNING,
            f"this Python has {module} {version}, and Kaggle's image {theirs}, with which code may "
            "end otherwise: kernelkit rehearse --packages kaggle installs it for rehearsals alone",
            module=module,
        )
    if missing and not asked:
        context.events(WARNING, image.how_to_get(missing), modules=missing)
    elif missing:
        names = ", ".join(missing)
        context.events(INSTALLS, f"{names}, for this and later rehearsals (once)")
        facts = files.read_object(context.runs / DOCTOR).get("facts") or {}
        seen = json.loads(facts.get(f"packages.{plan.kind}") or "{}")
        with files.locked(folder.with_suffix(".lock")), context.events.timed(f"installing {names}"):
            requirements = pip.install(missing, seen, folder)
        context.events(INSTALLED, ", ".join(requirements), folder=str(folder))
    guarded = sorted(plan.bundle.program.imported.difference(wanted))
    other = image.missing_here(guarded, plan.kind, folder)
    if other:
        context.events(
            WARNING,
            f"{image.how_to_get(other, tried=True)}. The code can do without: here it takes the "
            "other branch",
            modules=other,
        )


def _packages(context: PushContext) -> Path:
    """The folder of packages that rehearsals add to their image, kept once for all repositories.

    The local Kaggle has a link to it, unless it has a folder of its own.
    """
    version = ".".join(map(str, sys.version_info[:2]))
    kept = files.cache() / f"packages-{version}"
    kept.mkdir(parents=True, exist_ok=True)
    own = (context.stand_in or context.runs) / PACKAGES
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

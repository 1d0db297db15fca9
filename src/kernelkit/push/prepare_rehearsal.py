"""What a rehearsal needs before its session: the inputs, and the packages of Kaggle's image."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernelkit import files, image, project
from kernelkit.kaggle.client import SOURCES
from kernelkit.notebook.reading import Program
from kernelkit.project import DOCTOR
from kernelkit.push.bundle import own_datasets, pip
from kernelkit.push.plan import Plan
from kernelkit.push.push_context import PushContext
from kernelkit.rehearsal import inputs, stand_in
from kernelkit.terminal.events import WARNING, Event, from_here

INPUTS = Event("inputs")
INSTALLS = Event("installs")
INSTALLED = Event("installed")
PACKAGES = "packages"  # in the local Kaggle's folder: what it adds to its image
LARGEST = 1_000_000  # bytes of a Python file of an attached source that is read for its imports


def prepare(context: PushContext, plan: Plan, catalogue: Path) -> Mapping[str, Path]:
    """Find the inputs that a rehearsal mounts beside the catalogue's, and see to its packages.

    Returns their folders by their places in the catalogue; the context gets those of all that the
    plan attaches. A dry run installs no packages. Raises what `inputs.found` raises, and
    `PreflightError` or `NetworkError` for packages that cannot be installed.
    """
    username = stand_in.username()
    plan = plan.owned_by(plan.account or username)
    own = own_inputs(plan)
    for place, folder in own.items():
        context.events(INPUTS, f"{from_here(folder)} is mounted as {place}")
    places = {inputs.place_in_catalogue(*source) for source in _attached(plan)}
    folders = {place: own.get(place, catalogue / place) for place in sorted(places)}
    context.mounted = {place: folder for place, folder in folders.items() if folder.is_dir()}
    brought = {}
    for each in plan.datasets:
        place = inputs.place_in_catalogue("dataset", f"{username}/{each.slug}")
        brought[place] = own_datasets.staged(each, context.local or context.runs)
        context.events(INPUTS, f"{each.words} is mounted as {place}")
    if not plan.request.dry_run:
        _see_to_packages(context, plan, [*context.mounted.values(), *brought.values()])
    return own | brought


def own_inputs(plan: Plan) -> dict[str, Path]:
    """The folders of a plan's sources in its `input/` folders, by their places in the catalogue.

    Raises what `inputs.found` raises.
    """
    root = plan.project.root
    top = project.repository(root.resolve())
    folders = inputs.input_folders(plan.metadata.code_file, root, top)
    return inputs.found(folders, _attached(plan))


def with_contents(context: PushContext, plan: Plan) -> Plan:
    """The plan with the contents of the folders that its rehearsal mounts among its inputs.

    `prepare` found them. On Kaggle, versions say the same, and the plan stays as it is.
    """
    contents = {place: inputs.content_of(each) for place, each in context.mounted.items()}
    return replace(plan, inputs=contents)


def _attached(plan: Plan) -> list[tuple[str, str]]:
    return [(kind, source) for kind in SOURCES for source in plan.metadata.sources[kind]]


def _see_to_packages(context: PushContext, plan: Plan, mounted: Sequence[Path]) -> None:
    """Name the packages that Kaggle's image has and this machine lacks; install them if asked to.

    They are installed once, for all rehearsals, in the versions that the doctor saw on Kaggle.
    """
    wanted = [name for name in plan.bundle.imports if name not in plan.bundle.packages]
    wanted += _imports_of_attached(wanted, mounted)
    folder = _packages(context)
    missing = image.missing_here(wanted, plan.kind, folder)
    asked = bool(plan.request.packages)
    others = image.of_another_series(wanted, folder)
    if asked:
        missing += others
    for module, version in others.items() if not asked else ():
        theirs = image.requirement(image.distribution(module))
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
        context.events(
            INSTALLS, f"{names}, for this and later rehearsals (once; it can take minutes)"
        )
        facts = files.read_object(context.runs / DOCTOR).get("facts") or {}
        seen = json.loads(facts.get(f"packages.{plan.kind}") or "{}")
        with files.locked(folder.with_suffix(".lock")):
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
    own = (context.local or context.runs) / PACKAGES
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

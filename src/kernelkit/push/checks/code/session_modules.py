"""The check of modules: what code imports, and what a session on Kaggle has."""

import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from kernelkit import image
from kernelkit.machines import Kind
from kernelkit.notebook.code.records import Reading
from kernelkit.push.checks.code import installs
from kernelkit.push.checks.code.locations import several
from kernelkit.push.checks.findings import POSSIBLE, PROBABLE, Finding, guess
from kernelkit.push.known.session_images import modules_seen
from kernelkit.push.planned.plan import Plan

# Commands that copy or unpack what may hold modules.
COMMANDS = {"unzip", "tar", "clone", "cp"}


class Brought:
    """What code may bring of modules.

    packages  what it installs by name
    copies    whether it copies or unpacks something, which may hold modules that no list knows
    any       whether it may bring all, by an install of files
    mounted   whether it adds a folder of the session to `sys.path`
    computed  whether it adds one that is not known
    """

    def __init__(self, plan: Plan) -> None:
        self.packages: set[str] = set()
        self.copies = False
        self.any = False
        self.mounted = False
        self.computed = False
        for _, reading in plan.bundle.readings:
            self._of(reading)

    def _of(self, reading: Reading) -> None:
        for command in reading.commands:
            self.copies |= not COMMANDS.isdisjoint(command.words)
            install = installs.of_command(command)
            self.packages |= install.packages
            self.any |= install.may_be_any
        for folder in reading.folders:
            self.computed |= folder.path is None
            self.mounted |= (folder.path or "").startswith(("/", "../input"))


def modules(plan: Plan) -> Iterator[Finding]:
    """Modules that the code needs, but neither the machine's image nor the wheels provide.

    Nothing is said of a plan whose wheels were not chosen, since these ask the package index.
    """
    if plan.project.wheels and plan.wheels is None:
        return
    brought = plan.wheels.modules if plan.wheels else frozenset()
    cells = plan.bundle.program
    there = {*plan.bundle.packages, *brought, *(name.partition(".")[0] for name in brought)}
    for _, reading in cells.sources:
        there.update(each.path.partition("/")[0].removesuffix(".py") for each in reading.writes)
    there.update(sys.stdlib_module_names, plan.bundle.stays)
    own = Brought(plan)
    if own.any:
        return
    has_competition = bool(plan.metadata.sources["competition"])
    has_others = any(kind != "competition" for kind, _ in plan.sources)
    seen = modules_seen(plan.project.runs, plan.kind)
    unknown: list[str] = []  # modules that are on no list, each with its place
    missing: dict[str, str] = {}  # places of those that the image does not have
    yours: dict[Path, dict[str, str]] = {}  # the same of modules in a folder of the repository
    certain = False
    for module, place in plan.bundle.imports.items():
        has = _has(module, plan.kind, seen)
        if module in there or has:
            continue
        distribution = image.distribution(module)
        if distribution in own.packages or (own.copies and not distribution):
            continue
        if module in plan.bundle.elsewhere:
            path = plan.bundle.elsewhere[module]
            folder = path.parent.parent if path.stem == "__init__" else path.parent
            yours.setdefault(folder, {})[module] = place
            continue
        if own.mounted:
            continue
        may_be = own.packages or own.computed or has_competition  # which has modules of its own
        if may_be and not distribution:
            continue
        if has is None:
            unknown.append(f"{module} ({place})")
            continue
        missing[module] = place
        certain = certain or (module in cells.needed and not has_others)
    for folder, places in yours.items():
        top = plan.project.repository
        where = "at the root" if folder == top else f"in {folder.relative_to(top)}"
        unless = ", unless an attached source does" if own.mounted or own.computed else ""
        yield guess(
            f"{several(places.values())} imports {', '.join(places)}, your own {where}, which a "
            f"push does not bring{unless}: move it beside that code, or name its package in "
            "packages of [tool.kernelkit]",
            POSSIBLE if unless or own.packages else PROBABLE,
        )
    if missing:
        yield guess(_lacking(missing, plan.kind), PROBABLE if certain else POSSIBLE)
    if unknown:
        yield guess(
            f"it is not known whether {plan.kind.upper()} sessions have {', '.join(unknown)}: "
            "`kernelkit doctor` reports what a session has"
        )


def _lacking(places: Mapping[str, str], kind: Kind) -> str:
    """What to say of modules that the image does not have, and attached sources may bring."""
    named = ", ".join(f"{module} ({place})" for module, place in places.items())
    remedies = []
    wheels = []
    for module in places:
        distribution = image.distribution(module) or "PACKAGE"
        if distribution in image.NO_WHEEL:
            remedies.append(f"of {module}, {image.NO_WHEEL[distribution]}")
        else:
            wheels.append(f'"{distribution}==VERSION"')
    if wheels:
        remedies.append(f"add {', '.join(wheels)} to wheels in [tool.kernelkit]")
    return f"the image of {kind.upper()} sessions does not have {named}: {'; '.join(remedies)}"


def _has(module: str, kind: Kind, seen: Collection[str] | None) -> bool | None:
    """Whether a session has a module; None if that is not known. What a session reported counts
    more than the lists."""
    if seen is not None and module not in image.KAGGLES_OWN:
        return module in seen
    return image.holds(module, kind)

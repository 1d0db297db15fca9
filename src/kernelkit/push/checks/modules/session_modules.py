"""The check of modules: what code imports, and what a session on Kaggle has."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from kernelkit import image
from kernelkit.machines import Kind
from kernelkit.push.checks.findings import POSSIBLE, PROBABLE, Finding, guess
from kernelkit.push.checks.locations import several
from kernelkit.push.checks.modules.available import Available
from kernelkit.push.checks.modules.installs import BroughtByCode
from kernelkit.push.planned.plan import Plan

Verdict = Literal["yours", "missing", "unknown", "perhaps brought"]


def modules(plan: Plan) -> Iterator[Finding]:
    """Modules that the code needs, but neither the machine's image nor the wheels provide.

    Nothing is said of those that the code or the competition perhaps brings, and of a plan whose
    wheels were not chosen, since choosing them asks the package index.
    """
    by_code = BroughtByCode(plan)
    if by_code.may_be_any or (plan.project.wheels and plan.wheels is None):
        return
    session = Available.of(plan)
    judged: dict[Verdict, dict[str, str]] = {}  # modules, each with the place of its import
    for module, place in _absent(plan, by_code, session).items():
        verdict = _verdict(module, plan, by_code, session)
        judged.setdefault(verdict, {})[module] = place
    yield from _own_folders(plan, judged.get("yours", {}), by_code)
    missing = judged.get("missing", {})
    if missing:
        has_others = any(kind != "competition" for kind, _ in plan.sources)
        is_needed = not missing.keys().isdisjoint(plan.bundle.program.needed)
        rank = PROBABLE if is_needed and not has_others else POSSIBLE
        yield guess(_lacking(missing, plan.kind), rank)
    unknown = judged.get("unknown", {})
    if unknown:
        yield guess(
            f"it is not known whether {plan.kind.upper()} sessions have {_listed(unknown)}: attach "
            "the dataset, utility script or competition that has it, unless `kernelkit doctor` "
            "finds it there"
        )


def _verdict(module: str, plan: Plan, by_code: BroughtByCode, session: Available) -> Verdict:
    """What an absent module is: one of the repository's, one that the image does not have, one of
    which that is not known, or one that the code or the competition may bring."""
    is_listed = bool(image.distribution(module))
    if by_code.copies and not is_listed:
        return "perhaps brought"
    if module in plan.bundle.files.elsewhere:
        return "yours"
    has_competition = bool(plan.metadata.sources["competition"])  # with modules of its own
    may_be_brought = by_code.packages or by_code.computed or has_competition
    if may_be_brought and not is_listed:
        return "perhaps brought"
    return "unknown" if session.has(module) is None else "missing"


def _absent(plan: Plan, by_code: BroughtByCode, session: Available) -> dict[str, str]:
    """The imported modules that nothing is known to bring, each with the place of its import."""
    brought = plan.wheels.modules if plan.wheels else frozenset()
    there = {*plan.bundle.packages, *(name.partition(".")[0] for name in brought)}
    there.update(sys.stdlib_module_names, plan.bundle.files.stays)
    for _, reading in plan.bundle.program.sources:
        there.update(each.path.partition("/")[0].removesuffix(".py") for each in reading.writes)
    absent = {}
    for module, place in plan.bundle.imports.items():
        installed = by_code.installs(image.distribution(module))
        if module not in there and not installed and not session.has(module):
            absent[module] = place
    return absent


def _own_folders(
    plan: Plan, places: Mapping[str, str], by_code: BroughtByCode
) -> Iterator[Finding]:
    """A guess for each folder of the repository that has some of these modules."""
    folders: dict[Path, dict[str, str]] = {}
    for module, place in places.items():
        path = plan.bundle.files.elsewhere[module]
        folder = path.parent.parent if path.stem == "__init__" else path.parent
        folders.setdefault(folder, {})[module] = place
    top = plan.project.repository
    unless = ", unless an attached source does" if by_code.computed else ""
    for folder, modules in folders.items():
        where = "at the root" if folder == top else f"in {folder.relative_to(top)}"
        yield guess(
            f"{several(modules.values())} imports {', '.join(modules)}, your own {where}, which a "
            f"push does not bring{unless}: move it beside that code, or name its package in "
            "packages of [tool.kernelkit]",
            POSSIBLE if by_code.computed or by_code.packages else PROBABLE,
        )


def _lacking(places: Mapping[str, str], kind: Kind) -> str:
    """What to say of modules that the image does not have, and attached sources may bring."""
    remedies = []
    wheels = []
    for module in places:
        distribution = image.distribution(module) or "PACKAGE"
        if distribution in image.NO_WHEEL:
            remedies.append(f"for {module}, {image.NO_WHEEL[distribution]}")
        else:
            wheels.append(f'"{distribution}==VERSION"')
    if wheels:
        remedies.append(f"add {', '.join(wheels)} to wheels in [tool.kernelkit]")
    lacks = f"the image of {kind.upper()} sessions does not have {_listed(places)}"
    return f"{lacks}: {'; '.join(remedies)}"


def _listed(places: Mapping[str, str]) -> str:
    return ", ".join(f"{module} ({place})" for module, place in places.items())

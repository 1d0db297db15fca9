"""The check of modules: what code imports, and what a session on Kaggle has."""

import functools
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit import image
from kernelkit.kaggle.client import SOURCES
from kernelkit.machines import Kind
from kernelkit.notebook import search_path
from kernelkit.notebook.modules import KEPT, parsed
from kernelkit.project import repository
from kernelkit.push.checks.findings import Finding, error, warning
from kernelkit.push.checks.inputs import written
from kernelkit.push.ledger import Ledger
from kernelkit.push.plan import Plan
from kernelkit.runs import kit_folder

OWN_MODULE = (
    "{place} imports {module}, which is your own, in {where}, and nothing brings it into the "
    "session: move it beside the code that imports it, add its folder to sys.path there, or make "
    "it a package and name it in packages of [tool.kernelkit]"
)
# Code after which more modules may be there than the image has.
BRINGS = re.compile(
    r"\b(?:pip[\d.]*|conda|mamba)[\"',\s]+install\b"
    r"|\b(?:uv|poetry)\s+(?:pip\s+)?(?:install|add|sync)\b"
    r"|\b(?:unzip|tar|git\s+clone|cp\s+-\w*r\w*)\s|\bgit[\"',\s]+clone\b"
    r"|\bextractall\(|\bunpack_archive\(|\bcopytree\(|\bsnapshot_download\("
)
# Kernel sources that bring packages: Kaggle's package manager, and scripts of utilities.
PACKAGE_MANAGER = "packagemanager/"


def brings_modules(plan: Plan) -> bool:
    """Whether code brings modules that are not here: it installs, copies or unpacks something, or
    adds a folder of the session to `sys.path`."""
    code_file = plan.metadata.code_file.resolve()
    file = code_file if plan.metadata.is_script else None
    top = repository(plan.project.root)
    for _, text in plan.bundle.sources:
        if _brings(text):
            return True
        if any(word in text for word in search_path.NAMING):
            added = search_path.additions(parsed(text), code_file.parent, file, top)
            if added.elsewhere:
                return True
    return False


@functools.lru_cache(maxsize=KEPT)
def _brings(text: str) -> bool:
    return "PYTHONPATH" in text or bool(BRINGS.search(text))


def modules(plan: Plan) -> Iterator[Finding]:
    """Missing modules; those from wheels are known only once the wheels are chosen."""
    if not plan.project.wheels:
        yield from lacking(plan)


def lacking(plan: Plan, brought: Collection[str] = ()) -> Iterator[Finding]:
    """Modules that the code needs, but neither the machine's image nor the wheels provide."""
    there = {*plan.bundle.packages, *brought, *(name.partition(".")[0] for name in brought)}
    there.update(path.partition("/")[0].removesuffix(".py") for path in written(plan))
    there.update(sys.stdlib_module_names, plan.bundle.stays)
    if plan.metadata.sources("competition"):  # its files may provide this module
        there.add("kaggle_evaluation")
    attached = plan.metadata.online or any(map(plan.metadata.sources, SOURCES))
    brings = brings_modules(plan)
    seen = held(plan.project.runs, plan.kind)
    for module, place in plan.bundle.imports.items():
        has = True if module in there else _has(module, plan.kind, seen)
        own = None if has else _own_place(module, plan)
        if own:
            if not (brings and attached) and module not in plan.bundle.from_sources:
                where = plan.project.name(own)
                yield error(OWN_MODULE.format(place=place, module=module, where=where))
        elif has is False and not brings:
            lacks = f"the image of {plan.kind.upper()} sessions does not have {module} ({place})"
            distribution = image.distribution(module) or "PACKAGE"
            if distribution in image.NO_WHEEL:
                yield warning(f"{lacks}, and {image.NO_WHEEL[distribution]}")
                continue
            yield warning(
                f'{lacks}: add "{distribution}==VERSION" to wheels in [tool.kernelkit], which is '
                "attached and installed"
            )
        elif has is None and not brings and not _may_bring(module, plan):
            yield warning(
                f"it is not known whether {plan.kind.upper()} sessions have {module} ({place}): "
                "to be sure, look with `kernelkit doctor`, which reports what a session has"
            )


def _has(module: str, kind: Kind, seen: Collection[str] | None) -> bool | None:
    """Whether a session has a module; None if that is not known. What a session reported counts
    more than the lists."""
    if seen is not None and module not in image.KAGGLES_OWN:
        return module in seen
    return image.holds(module, kind)


def _may_bring(module: str, plan: Plan) -> bool:
    """Whether an attached source may have a module that is on no list: a competition's own, or one
    of Kaggle's package manager."""
    kernels = plan.metadata.sources("kernel")
    managed = any(source.startswith(PACKAGE_MANAGER) for source in kernels)
    competition = plan.metadata.sources("competition") and not image.distribution(module)
    return managed or bool(competition)


def _own_place(module: str, plan: Plan) -> Path | None:
    """Where the repository has the module, though it is not bundled."""
    root = plan.project.root
    here = plan.metadata.code_file.parent
    top = repository(root.resolve())
    for folder in dict.fromkeys((root / "src", root, here, top / "src", top)):
        for name in (f"{module}/__init__.py", f"{module}.py"):
            if (folder / name).is_file():
                return folder / name
        if any((folder / module).glob("*.py")):
            return folder / module
    return None


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

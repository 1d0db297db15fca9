"""The check of own modules against what a run here really loaded."""

from collections.abc import Iterator
from pathlib import Path

from kernelkit import image
from kernelkit.notebook import document
from kernelkit.notebook.files.modules import left_out
from kernelkit.notebook.files.own_files import fingerprint
from kernelkit.notebook.parameters import for_json
from kernelkit.push.checks.findings import PROBABLE, Finding, error, guess
from kernelkit.push.planned.plan import ACCELERATOR, Plan
from kernelkit.runs.loaded import Loaded, last_loaded
from kernelkit.terminal.events import from_here

MOST = 3  # files to name
NOT_COMPARED = ("output", ACCELERATOR)  # parameters that a run and a push set by themselves


def own_modules(plan: Plan) -> Iterator[Finding]:
    """Files of the repository that the last run here had loaded, and that the bundle lacks.

    That is certain where the run had this code and these parameters, the notebook imports the
    module on no condition, and nothing else can bring it: no source, no wheel, no internet.
    """
    loaded = last_loaded(plan.project.runs, plan.metadata.code_file)
    if loaded is None:
        return
    lacking = _lacking(plan, loaded)
    if not lacking:
        return
    top = plan.project.repository
    names = [path.relative_to(top).as_posix() for path in lacking[:MOST]]
    more = f" and {len(lacking) - MOST} more" if len(lacking) > MOST else ""
    text = (
        f"the run in {from_here(loaded.folder)} loaded {', '.join(names)}{more}, which a push "
        "would not bring: name the package in packages of [tool.kernelkit], or move the file "
        "beside the notebook"
    )
    is_certain = any(_is_imported(plan, path) for path in lacking) and _is_same(plan, loaded)
    yield error(text) if is_certain else guess(text, PROBABLE)


def _lacking(plan: Plan, loaded: Loaded) -> list[Path]:
    top = plan.project.repository
    brought = {path.resolve() for path in plan.bundle.places.values()}
    brought.add(plan.metadata.code_file.resolve())
    lacking = []
    for path in loaded.files:
        own = path.is_relative_to(top) and path.is_file() and path.resolve() not in brought
        if own and not _is_left_out(plan, path, top):
            lacking.append(path)
    return lacking


def _is_left_out(plan: Plan, path: Path, top: Path) -> bool:
    """Whether `leave_out` names a file, from the repository's root or beside a package."""
    project = plan.project
    for root in (top, *(project.package_folder(name).parent for name in project.packages)):
        if path.is_relative_to(root):
            name = path.relative_to(root).as_posix()
            if left_out(name, project.leave_out):
                return True
    return False


def _is_imported(plan: Plan, path: Path) -> bool:
    """Whether the notebook imports a file's module whenever it runs, and no image has it."""
    module = path.parent.name if path.stem == "__init__" else path.stem
    if image.holds(module, plan.kind):
        return False
    for _, reading in plan.bundle.program.sources:
        for each in reading.imports:
            if each.top == module and not each.optional and not each.guarded:
                return True
    return False


def _is_same(plan: Plan, loaded: Loaded) -> bool:
    """Whether a run had this code and these parameters, and nothing else can bring a module."""
    if plan.metadata.online or plan.project.wheels or any(plan.metadata.sources.values()):
        return False
    ran = {name: loaded.parameters.get(name) for name in plan.parameters}
    planned = for_json(plan.parameters)
    for name in NOT_COMPARED:
        ran.pop(name, None)
        planned.pop(name, None)
    cells = document.code_cells(plan.source["cells"]).values()
    sources = map(document.cell_source, cells)
    code = fingerprint(plan.metadata.code_file, sources, plan.project)
    return ran == planned and code == loaded.code

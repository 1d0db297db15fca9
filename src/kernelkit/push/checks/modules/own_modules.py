"""The check of own modules against what a run here really loaded."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelkit.files import from_here
from kernelkit.notebook.files.modules import left_out
from kernelkit.push.checks.findings import PROBABLE, Finding, guess
from kernelkit.push.planned.plan import Plan
from kernelkit.runs.loaded import last_loaded

MOST = 3  # files to name


def own_modules(plan: Plan) -> Iterator[Finding]:
    """Files of the repository that the last run here had loaded, and that the bundle lacks.

    It is a guess: an attached source may bring them, or the code of today may not need them.
    """
    loaded = last_loaded(plan.project.runs, plan.metadata.code_file)
    if loaded is None:
        return
    lacking = _lacking(plan, loaded.files)
    if not lacking:
        return
    top = plan.project.repository
    names = [path.relative_to(top).as_posix() for path in lacking[:MOST]]
    more = f" and {len(lacking) - MOST} more" if len(lacking) > MOST else ""
    yield guess(
        f"the run in {from_here(loaded.folder)} loaded {', '.join(names)}{more}, which a push "
        "would not bring: name the package in packages of [tool.kernelkit], or move the file "
        "beside the notebook",
        PROBABLE,
    )


def _lacking(plan: Plan, files: Sequence[Path]) -> list[Path]:
    """Those of these files that are the repository's own and that no push would bring."""
    top = plan.project.repository
    brought = {path.resolve() for path in plan.bundle.files.places.values()}
    brought.add(plan.metadata.code_file.resolve())
    lacking = []
    for path in files:
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

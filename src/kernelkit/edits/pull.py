"""Pull what was edited on Kaggle: find the version that was pushed, merge, show, keep copies."""

import datetime
import difflib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Unpack

from kernelkit import files
from kernelkit.edits import merge
from kernelkit.errors import NotebookError, ParameterError, PreflightError
from kernelkit.files import from_here
from kernelkit.kaggle.context.kaggle_context import CommandOptions
from kernelkit.kaggle.kernel import Kernel
from kernelkit.notebook import document, pairs
from kernelkit.push.bundle.read_back import bundled_files, own_cells, own_script
from kernelkit.push.known.ledger import since_deleted
from kernelkit.push.known.push_context import PushContext, copied_at
from kernelkit.push.planned.plan import Plan, plan_push
from kernelkit.push.planned.request import PushRequest
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import Event

DIFF = Event("diff")
PULLED = Event("pulled")
HERE = "here"  # the label of this machine's side of a conflict
MARKED = ".conflict.py"  # ends the name of a conflict's file where JSON has no room for marks


@dataclass(frozen=True)
class Edit:
    """What merging a change made: the file to write, its text, and how many conflicts are in it."""

    path: Path
    merged: str
    conflicts: int


class Change(NamedTuple):
    """A file that was edited on Kaggle: the three texts to merge, here, as pushed and as edited.

    `as_cells` is the text here as its cells alone would be written.
    """

    path: Path
    here: str
    before: str
    after: str
    as_cells: str = ""


def pull_edits(
    version: int | None = None,
    *,
    base: int | None = None,
    metadata: Path | None = None,
    dry_run: bool = False,
    **options: Unpack[CommandOptions],
) -> list[Path]:
    """Merge a version that was edited on Kaggle into the notebook and the modules it carries.

    version   the version to pull; by default the newest that was not pushed from here
    base      the version that these files hold; by default the newest up to it that was pushed
              from here, or pulled before
    metadata  the kernel-metadata.json, in place of the nearest
    dry_run   show the difference and write nothing

    Returns the files that changed. Each is copied to runs/pulled first. Raises `PreflightError`
    where edits conflict: then the files hold both, between git's marks; and for a file that still
    has such marks, before anything is written.
    """
    context = PushContext.in_project(metadata, **options)
    with context.announcing_errors(), context.connect() as kaggle:
        planned = plan_push(PushRequest.of(metadata=metadata))
        planned = planned.owned_by(kaggle.username, anyone=context.rehearsal)
        newest = version or _newest_edit(context, planned.kernel)
        edited = kaggle.existing(planned.kernel, newest)
        number = base or _base(context, planned.kernel, newest)
        pushed = kaggle.existing(planned.kernel, number)
        labels = [HERE, f"version {number}", f"version {newest}"]
        edits = []
        for change in _changes(planned, pushed.text, edited.text):
            path = change.path
            _refuse_marks(path, change.here)
            text, conflicts = merge.merged(change.here, change.before, change.after, labels)
            if conflicts and change.as_cells:  # perhaps only in how a cell's edges are written
                plain = merge.merged(change.as_cells, change.before, change.after, labels)
                if not plain[1]:
                    text, conflicts = plain
            if text != change.here:
                marked = path
                if conflicts and path.suffix == ".ipynb":
                    marked = path.with_suffix(MARKED)
                edits.append(Edit(marked, text, conflicts))
                context.events(DIFF, _difference(path, change.here, text), path=str(path))
        if not edits:
            words = f"version {newest} of {planned.kernel} has no edits that your files lack"
            if number == newest and not base:
                words += "; --base N merges it again, with version N as what these files were"
            context.events(PULLED, words, files=[])
        elif not dry_run:
            _write(context, planned, edits, context.copies(planned.kernel, newest))
    return [] if dry_run else [edit.path for edit in edits]


def _newest_edit(context: PushContext, kernel: Kernel) -> int:
    """The newest version on Kaggle that is none of the pushes from here, and came after one; the
    newest of all if there is none such."""
    newest = context.kaggle.existing(kernel).newest
    pushes = since_deleted(context.ledger.of(str(kernel)))
    own = {push.version for push in pushes if push.version}
    for version in range(newest, min(own, default=newest), -1):
        if version not in own:
            return version
    return newest


def _base(context: PushContext, kernel: Kernel, newest: int) -> int:
    """The newest version up to `newest` whose sources are here."""
    pushes = context.ledger.of(str(kernel))
    for version in range(newest, 0, -1):
        if context.has_sources_of(kernel, version, pushes):
            return version
    raise ParameterError(
        f"the ledger has no push of {kernel}: name the version that these files were pushed as "
        "with --base N"
    )


def _changes(plan: Plan, pushed: str, edited: str) -> Iterator[Change]:
    """Each file that was edited on Kaggle."""
    before = bundled_files(pushed)
    after = bundled_files(edited)
    for name, text in after.items():
        if text != before.get(name):
            path = _place(plan, name)
            here = path.read_text("utf-8-sig") if path.is_file() else ""
            yield Change(path, here, before.get(name, ""), text)
    code_file = plan.metadata.code_file
    if plan.metadata.is_script:
        own = own_script(pushed), own_script(edited)
        if own[0] != own[1]:
            yield Change(code_file, code_file.read_text("utf-8-sig"), *own)
        return
    sources = own_cells(pushed), own_cells(edited)
    if sources[0] != sources[1]:
        half = pairs.text_half(code_file)
        if half is None and code_file.suffix == ".py":
            half = pairs.Half(code_file, merge.PERCENT)
        if half is None:
            notebook = document.read(code_file)
            was, now = (merge.as_text(each, notebook) for each in sources)
            yield Change(code_file, merge.as_text((), notebook), was, now)
            return
        notebook = half.read(code_file)
        was, now = (merge.as_text(each, notebook, half.format) for each in sources)
        as_cells = merge.as_text((), notebook, half.format)
        yield Change(half.path, half.path.read_text("utf-8-sig"), was, now, as_cells)


def _place(plan: Plan, name: str) -> Path:
    """Where a carried file lies here; raises `NotebookError` for a path outside the project, and
    for a hidden one, because git runs programs that lie in .git."""
    if known := plan.bundle.files.places.get(name):
        return known
    project = plan.project
    package = name.partition("/")[0]
    origin = (project.beside or plan.metadata.code_file).parent
    below = project.package_folder(package).parent if package in project.packages else origin
    place = (below / name).resolve()
    if not place.is_relative_to(project.root) or "/." in f"/{project.name(place)}":
        raise NotebookError(
            f"that version carries {safe_text.one_line(name)}, outside the project or hidden in it"
        )
    return place


def _refuse_marks(path: Path, here: str) -> None:
    """Raise `PreflightError` for a file with an earlier conflict: its marks would be nested."""
    if any(line.startswith(f"<<<<<<< {HERE}") for line in here.splitlines()):
        raise PreflightError(
            f"{from_here(path)} still has the marks of a conflict: keep one side at each <<<<<<< "
            "first"
        )


def _difference(path: Path, here: str, text: str) -> str:
    lines = here.splitlines(), text.splitlines()
    shown = difflib.unified_diff(*lines, "here", "merged", lineterm="")
    return safe_text.plain("\n".join([from_here(path), *shown]))


def _write(context: PushContext, plan: Plan, edits: list[Edit], folder: Path) -> None:
    """Copy each file as it is to a folder of this time in `folder`, then write what was merged.

    `folder` says that the version is here. Where a notebook's conflict stands beside it, it is not
    yet, and the folder has another name. Raises `PreflightError` where there are conflicts.
    """
    if any(edit.path.name.endswith(MARKED) for edit in edits):
        folder = folder.with_name(f"{folder.name}-in-part")
    copies = folder / copied_at(datetime.datetime.now(datetime.UTC))
    copies.mkdir(parents=True)
    for edit in edits:
        for path, text in _targets(edit, plan.metadata.code_file).items():
            before = path.read_bytes() if path.is_file() else b""
            if before:
                files.write_bytes(copies / plan.project.name(path), before)
            windows = before.partition(b"\n")[0].endswith(b"\r")
            files.write_text(path, text.replace("\n", "\r\n") if windows else text)
    names = [from_here(edit.path) for edit in edits]
    words = ", ".join(names)
    if any(copies.iterdir()):  # of a file that is new there is none
        words += f"; copies in {from_here(copies)}"
    context.events(PULLED, words, files=names)
    conflicts = [edit.path for edit in edits if edit.conflicts]
    if conflicts:
        raise PreflightError(_conflict(conflicts, plan.metadata.code_file))


def _conflict(paths: list[Path], code_file: Path) -> str:
    """What to do about the conflicts in these files."""
    words = (
        f"{', '.join(map(from_here, paths))}: both sides edited the same lines. Keep one side at "
        "each <<<<<<<"
    )
    beside = code_file.with_suffix(MARKED)
    if beside in paths:
        its_files = ["--output", from_here(code_file), from_here(beside)]
        words += f", then run: {shlex.join(['jupytext', '--update', '--to', 'ipynb', *its_files])}"
    return words


def _targets(edit: Edit, code_file: Path) -> dict[Path, str]:
    """The files to write for an edit, with their texts: a notebook's two halves go together.

    The .ipynb half of a text with conflicts stays as it is.
    """
    if edit.path == code_file and code_file.suffix == ".ipynb":
        return {code_file: merge.into_notebook(edit.merged, code_file)}
    targets = {edit.path: edit.merged}
    half = pairs.text_half(code_file)
    if half and half.path == edit.path and not edit.conflicts:
        targets[code_file] = merge.into_notebook(edit.merged, code_file, half.format)
    return targets

"""Submit the result of a run: a push's, or the file of any run."""

from pathlib import Path
from typing import Unpack

from kernelkit import files
from kernelkit.errors import OutputsError, ParameterError, PreflightError
from kernelkit.files import from_here
from kernelkit.kaggle.context.kaggle_context import CommandOptions
from kernelkit.project import find_project, outside_of_outputs
from kernelkit.push.delivered.submit_push import attempt_of, check_verified, submit_push
from kernelkit.push.described import metadata
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.request import Delivery
from kernelkit.push.resume import resume_push
from kernelkit.runs.run_folder import SUBMITTED_ENDINGS
from kernelkit.session_records import proved
from kernelkit.submissions.record import Origin, submit_and_keep
from kernelkit.submissions.submission import Submission
from kernelkit.submissions.submitted_file import check_is_whole, output_of


def submit_result(
    result: str,
    message: str,
    *,
    competition: str | None = None,
    unverified: bool = False,
    **options: Unpack[CommandOptions],
) -> None:
    """Submit the result of a run to a competition and wait for its score.

    result       a push (`owner/slug/N` or "last"), or the folder or the file of any run
    competition  for a folder or file; by default its push's, or the one in the
                 kernel-metadata.json of its project
    unverified   submit files that are not proved to be outputs of the push

    Raises `ParameterError` if the competition is unknown, and what `Submission.submit` raises.
    """
    path = Path(result)
    if not path.exists():
        if competition:
            raise ParameterError(
                "--competition is for a folder or file: a push is submitted to its own competition"
            )
        resume_push(result, submit=message, unverified=unverified, **options)
        return
    if path.is_file() and not path.name.endswith(SUBMITTED_ENDINGS):
        endings = ", ".join(SUBMITTED_ENDINGS)
        raise ParameterError(f"{path}: a competition accepts a file that ends in {endings}")
    project = find_project(path)
    in_own = project.is_configured
    context = PushContext.in_project(project if in_own else None, **options)
    file = output_of(path, context.root) if path.is_dir() else path
    check_is_whole(file)
    place = file.parent.resolve() / file.name
    run = proved.pushed_folder(place.parent)
    if run and not unverified:
        check_verified(context, run, place.relative_to(run).as_posix())
    push = _push_of(context, run)
    competition = competition or _competition(push, path)
    with context.announcing_errors(), context.connect():
        if push and not unverified and _is_result_of(context, push, competition, place):
            submit_push(context, push, place.parent, Delivery(submit=message))
        else:
            _submit_file(context, competition, message, file, push)


def _submit_file(
    context: PushContext, competition: str, message: str, file: Path, push: Push | None
) -> None:
    """Submit a file, or go on with the last attempt to submit it; `push`: what it is a result of.

    The same bytes at the same place are the same result.
    """
    place = file.parent.resolve() / file.name
    key = f"{competition} {files.sha256_of(file)} {place}"
    with context.alone(f"submitting {place}"):
        earlier, note = attempt_of(context, key)
        submission = Submission(
            context,
            competition,
            message,
            file,
            earlier=earlier,
            note=note,
        )
        origin = Origin(push.reference, push.git, push.parameters) if push else None
        submit_and_keep(submission, file.parent, origin, context.ledger.add_submission)


def _is_result_of(context: PushContext, push: Push, competition: str, place: Path) -> bool:
    """Whether a file is what `submit OWNER/SLUG/N` would submit, so that both make one submission.

    A rehearsal's result that is submitted to Kaggle is not.
    """
    if push.rehearsal != context.rehearsal or push.competition != competition:
        return False
    try:
        return place == output_of(context.folder(push).resolve(), context.root)
    except OutputsError:  # it would submit none
        return False


def _push_of(context: PushContext, run: Path | None) -> Push | None:
    """The latest push whose outputs are in a folder; None for a run of no push."""
    for push in reversed(context.ledger.pushes()) if run else ():
        if push.folder and Path(push.folder).resolve() == run:
            return push
    return None


def _competition(push: Push | None, path: Path) -> str:
    """The competition of a run's push, or else of the metadata nearest to `path` or here.

    Metadata that the run left is not asked.
    """
    if push and push.competition:
        return push.competition
    try:
        file = metadata.locate(outside_of_outputs(path.resolve()))
    except PreflightError:
        file = metadata.locate(Path.cwd())
    competition = metadata.load(file).competition
    if competition is None:
        raise ParameterError(f"{from_here(file)} names no competition: give --competition SLUG")
    return competition

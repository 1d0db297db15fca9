"""Submit the result of a push: the file that its session wrote, once it is proved to be that."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from kernelkit.errors import OutputsError, ParameterError
from kernelkit.files import from_here
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.request import Delivery
from kernelkit.session_records import proved, session_manifest
from kernelkit.submissions.attempt import Attempt
from kernelkit.submissions.record import Origin, submit_and_keep
from kernelkit.submissions.submission import Submission
from kernelkit.submissions.submitted_file import output_of


def submit_push(context: PushContext, push: Push, folder: Path, delivery: Delivery) -> Push:
    """Submit the result in a push's folder to its competition, and wait for its score.

    An attempt that was interrupted goes on. Returns the push with its score. Raises
    `ParameterError` if it has no competition, `OutputsError` for a file that is not proved to be
    its own, and what `Submission.submit` raises.
    """
    competition = competition_of(push)
    file = output_of(folder, context.root)
    if not delivery.unverified:
        check_verified(context, folder, file.name)
    with context.alone(f"submitting {push.reference}"):
        push = context.ledger.entry(push) or push  # another command may have submitted it meanwhile
        if push.pushed:
            earlier = Attempt.of_fields(asdict(push))
            note: Callable[..., object] = partial(context.ledger.update, push)
        else:  # from elsewhere, so it has no line in the ledger
            earlier, note = attempt_of(context, f"{competition} {push.reference}")
        submission = Submission(
            context,
            competition,
            delivery.submit or "",
            file,
            push.name,
            push.version or 0,
            earlier=earlier,
            once=delivery.submit_once,
            note=note,
        )
        origin = Origin(push.reference, push.git, push.parameters)
        submit_and_keep(submission, folder, origin, context.ledger.add_submission)
    return context.ledger.entry(push) or push


def attempt_of(context: PushContext, key: str) -> tuple[Attempt, Callable[..., object]]:
    """The last attempt to submit a result that belongs to no push, and a function that notes how it
    went on; `key` says which result."""
    attempt = Attempt.of_fields(context.ledger.attempt(key))
    return attempt, partial(context.ledger.note_attempt, key)


def competition_of(push: Push) -> str:
    """The competition that a push's result is submitted to; raises `ParameterError` without one."""
    if not push.competition:
        raise ParameterError(f"{push.reference} has no competition among its sources")
    return push.competition


def check_verified(context: PushContext, folder: Path, name: str) -> None:
    """Raise `OutputsError` unless a file is proved to be from the session of its folder's push.

    A push that the ledger does not have, since it was made elsewhere, proves nothing.
    """
    manifest = session_manifest.read(folder)
    numbers = {push.number for push in context.ledger.pushes() if push.number}
    in_ledger = manifest is not None and manifest.push in numbers
    if not (in_ledger and proved.is_proved(folder, name)):
        raise OutputsError(
            f"{from_here(folder / name)} is not proved to be an output of that push, so it is not "
            "submitted: check it, and add --unverified to submit it anyway"
        )

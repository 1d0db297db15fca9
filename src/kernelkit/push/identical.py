"""An identical push is never a second session: the earlier one is taken up, or refused.

Two pushes are identical if they send the same content to the same machine, and Kaggle attaches the
same versions of their inputs; in a rehearsal, the folders that it mounts must not have changed
either. An earlier one that still runs, or whose results are not all here, is taken up; with
`--submit` the score is one of them. One whose results are here stands in the way of the same push,
unless `--once` or `--chain` asks for just that, or `--force` for another session.
"""

import shlex
from pathlib import Path

from kernelkit.errors import PreflightError
from kernelkit.push.bundle import build
from kernelkit.push.ledger import Push, State
from kernelkit.push.plan import Plan
from kernelkit.push.push_context import PushContext
from kernelkit.push.request import PushRequest
from kernelkit.push.sent import Sent
from kernelkit.terminal.events import Event, from_here

SKIPPED = Event("skipped")
ENDED_BADLY = (State.FAILED, State.LOST, State.STOPPED)


def find_identical(context: PushContext, plan: Plan) -> Push | None:
    """The last push that is identical to this plan and that Kaggle still has; None without one.

    `plan`: as in the account, with the versions of its inputs. Pushes that failed or were stopped
    do not count, nor do those of an interrupted rehearsal, since their sessions ended with it.
    With `chain`, only the kernel's very last push counts, because others read its outputs. Raises
    `Failure`.
    """
    for push in reversed(context.ledger.of(plan.kernel_name)):
        if not push.version or not _may_count(context, push):
            continue
        if _is_same(push, plan) and _is_there(context, push):
            return push
        if plan.request.chain and push.state != State.LOST:
            return None
    return None


def take_up(context: PushContext, plan: Plan, earlier: Push) -> Sent:
    """The earlier identical push, in place of a new one.

    Raises `PreflightError` if its results are here and nothing asks for them again.
    """
    request = plan.request
    lacks_score = request.submit is not None and earlier.score is None
    if are_here(context, earlier) and not (request.once or request.chain or lacks_score):
        raise PreflightError(_refusal(context, earlier, request))
    words = f"{earlier.reference} is {earlier.state}, and nothing changed since"
    context.events(SKIPPED, words, kernel=earlier.kernel, version=earlier.version)
    if earlier.state == State.LOST:  # and Kaggle shows it again
        earlier = context.ledger.update(earlier, state=State.QUEUED)
    return Sent.earlier(earlier, context.kaggle.existing(earlier.name, earlier.version).text)


def refuse_ended_badly(context: PushContext, plan: Plan) -> None:
    """Raise `PreflightError` if the last identical push failed, was lost, or was stopped.

    A schedule would repeat it, and spend the week's hours.
    """
    pushes = context.ledger.of(plan.kernel_name)
    same = [push for push in pushes if push.version and _is_same(push, plan)]
    if same and same[-1].state in ENDED_BADLY:
        last = same[-1]
        raise PreflightError(
            f"identical to {last.reference} ({last.state}): {context.resuming(last)} looks at it "
            "again. Correct what ended it, or push anyway with --force"
        )


def are_here(context: PushContext, push: Push) -> bool:
    """Whether all results of a push were fetched, and their folder still stands."""
    return push.state == State.COMPLETE and context.folder(push).is_dir()


def _may_count(context: PushContext, push: Push) -> bool:
    """Whether a push that reached Kaggle may stand for an identical one."""
    if context.local and push.state in (State.QUEUED, State.LOST):
        return False
    return push.state in (State.QUEUED, State.UNFETCHED, State.COMPLETE, State.LOST)


def _is_same(push: Push, plan: Plan) -> bool:
    """Whether a push had this plan's content and inputs.

    An input of which the earlier push did not record a version says nothing. Nor does the kernel's
    own output, which `--continue` attaches, until the earlier push's results are here: till then,
    the same command means the same session.
    """
    if push.content != plan.content:
        return False
    if push.rehearsal and push.inputs.keys() - plan.inputs.keys() - {plan.kernel_name}:
        return False  # it had from a folder what now comes from elsewhere
    for source, version in plan.inputs.items():
        if source == plan.kernel_name:
            if push.state == State.COMPLETE and push.inputs.get(source) != version:
                return False
        elif push.inputs.get(source, version) != version:
            return False
    return True


def _is_there(context: PushContext, push: Push) -> bool:
    """Whether Kaggle has the version of a push; of one that was lost, whether it has its session.

    A number tells the version from another one that was counted anew after the kernel was deleted.
    """
    kaggle = context.kaggle
    stored = kaggle.stored(push.name, push.version)
    if stored is None or build.number_of(stored.text) != push.number:
        return False
    return push.state != State.LOST or kaggle.status(push.name, push.version) is not None


def _refusal(context: PushContext, earlier: Push, request: PushRequest) -> str:
    """What to do instead of repeating a push whose results are here."""
    same = f"identical to {earlier.reference} ({earlier.state})"
    resume = context.resuming(earlier)
    if request.submit is not None:
        message = shlex.quote(request.submit)
        return (
            f"{same}: {resume} --submit {message} submits its result, or push anyway with --force"
        )
    home = f" into {from_here(Path(earlier.folder))}" if earlier.folder else ""
    return f"{same}: {resume} fetches that{home}, or push anyway with --force"

"""An identical push takes up the earlier one, or is refused, so that it is no second session.

Two pushes are identical if they send the same content to the same machine, and Kaggle attaches the
same versions of their inputs; in a rehearsal, the folders that it mounts must not have changed
either. A push with `--continue` stands for the same one without it, too. An earlier one that still
runs, or whose results are not all here, is taken up; with `--submit` the score is one of them. One
whose results are here, or that was saved without a session, stands in the way of the same push,
unless `--once` or `--chain` asks for just that, or `--force` for another version.
"""

import shlex
from collections.abc import Mapping, Sequence

from kernelkit.errors import PreflightError
from kernelkit.push.bundle.number import number_of
from kernelkit.push.known.ledger import Push, State
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.push.planned.request import PushRequest
from kernelkit.runs import claims
from kernelkit.submissions.attempt import NOT_SCORED
from kernelkit.terminal.events import from_here

COUNTING = (State.SENT, State.UNFETCHED, State.COMPLETE, State.SAVED, State.LOST)
ENDED_BADLY = (State.FAILED, State.LOST, State.STOPPED)


def find_identical(
    context: PushContext, plan: Plan, pushes: Sequence[Push], inputs: Mapping[str, int]
) -> Push | None:
    """The last of these pushes that is identical to the plan and that Kaggle still has, if any.

    `plan` and `inputs`: as in an `Account`. Pushes that failed or were stopped do not count, nor do
    those of an interrupted rehearsal, since their sessions ended with it. With `chain`, only the
    kernel's last push that counts may be it, because others read its outputs. Raises `Failure`.
    """
    for push in reversed(pushes):
        if not push.version or not _may_count(context, push):
            continue
        if _is_same(push, plan, inputs) and _is_there(context, push):
            return push
        if plan.request.chain and push.state not in (State.LOST, State.SAVED):
            return None
    return None


def refuse_ended_badly(
    context: PushContext, plan: Plan, pushes: Sequence[Push], inputs: Mapping[str, int]
) -> None:
    """Raise `PreflightError` if the last identical push failed, was lost, or was stopped.

    A schedule would repeat it, and spend the week's hours. The arguments are as in
    `find_identical`.
    """
    same = [push for push in pushes if push.version and _is_same(push, plan, inputs)]
    if same and same[-1].state in ENDED_BADLY:
        last = same[-1]
        raise PreflightError(
            f"identical to {last.reference} ({last.state}): {context.resuming(last)} looks at it "
            "again. Correct what ended it, or repeat it with --force"
        )


def results_are_here(context: PushContext, push: Push) -> bool:
    """Whether all results of a push were fetched, and its folder still stands; one that was saved
    without a session has none."""
    if push.state == State.SAVED:
        return True
    if push.state != State.COMPLETE:
        return False
    owner = claims.owner_of(context.folder(push))
    return owner is not None and (owner.kernel, owner.version) == (push.kernel, push.version)


def refuse_repeated(context: PushContext, earlier: Push, request: PushRequest) -> None:
    """Raise `PreflightError` if an identical push's results are here and nothing asks for more."""
    lacks_score = request.submit is not None and earlier.score in (None, NOT_SCORED)
    if results_are_here(context, earlier) and not (request.once or request.chain or lacks_score):
        raise PreflightError(_refusal(context, earlier, request))


def _may_count(context: PushContext, push: Push) -> bool:
    """Whether a push that reached Kaggle may stand for an identical one."""
    if context.serves and push.state in (State.SENT, State.LOST):
        return False
    return push.state in COUNTING


def _is_same(push: Push, plan: Plan, inputs: Mapping[str, int]) -> bool:
    """Whether a push had this plan's content and these inputs.

    An input of which the earlier push did not record a version says nothing. Nor does the kernel's
    own output, which `--continue` attaches, until the earlier push's results are here: till then,
    the same command means the same session. A plan that does not continue does not ask for it.
    """
    if push.content != plan.content:
        return False
    if push.rehearsal and push.inputs.keys() - inputs.keys() - {plan.kernel_name}:
        return False  # it had from a folder what now comes from elsewhere
    for source, version in inputs.items():
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
    if stored is None or number_of(stored.text) != push.number:
        return False
    return push.state != State.LOST or kaggle.status(push.name, push.version) is not None


def _refusal(context: PushContext, earlier: Push, request: PushRequest) -> str:
    """What to do instead of repeating a push whose results are here."""
    same = f"identical to {earlier.reference} ({earlier.state})"
    if earlier.state == State.SAVED:
        return f"{same}: repeat it with --force"
    resume = context.resuming(earlier)
    if request.submit is not None:
        message = shlex.quote(request.submit)
        return f"{same}: {resume} --submit {message} submits its result, or repeat it with --force"
    home = from_here(context.folder(earlier))
    return (
        f"{same}, whose results are in {home}: {resume} fetches what is missing there, or repeat "
        "it with --force"
    )

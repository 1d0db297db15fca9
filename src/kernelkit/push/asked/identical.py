"""A push that is identical to an earlier one starts no second session.

Identical    they send the same code with the same settings (title, time limit, machine and all
             that Kaggle keeps of a version), and Kaggle attaches the same versions of their inputs;
             in a rehearsal, the folders that it mounts have not changed either. An earlier push
             with `--continue` is also identical to one without it.
Taken up     an earlier one that still runs, or whose results are not all here. The score that
             `--submit` asks for is one of them.
Refused      if the results are here, or the earlier one was saved without a session and this one is
             to be, too. With `--once`, `--when-free` or `--chain` that is a success instead.

With `--force`, only what the same process has sent is taken up; else it makes another version, even
beside a session that runs.
"""

import shlex
from collections.abc import Mapping, Sequence

from kernelkit.errors import PreflightError
from kernelkit.files import from_here
from kernelkit.push.bundle.number import number_of
from kernelkit.push.known.ledger import Push, State
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.push.planned.request import PushRequest
from kernelkit.runs import claims
from kernelkit.submissions.attempt import NOT_SCORED

COUNTING = (State.SENT, State.UNFETCHED, State.COMPLETE, State.SAVED, State.LOST)
ENDED_BADLY = (State.FAILED, State.LOST, State.STOPPED)


def find_identical(
    context: PushContext, plan: Plan, pushes: Sequence[Push], inputs: Mapping[str, int]
) -> Push | None:
    """The last of these pushes that is identical to the plan and that Kaggle still has, if any.

    `plan` and `inputs`: as in an `Account`; `pushes`: from the ledger, of whatever kernel, since
    Kaggle may have made another name of the title of a new one. Pushes that failed or were stopped
    do not count, nor do those of an interrupted rehearsal, since their sessions ended with it. With
    `chain`, it is none in whose place Kaggle attaches the outputs of a later version. Raises
    `Failure`.
    """
    for push in reversed(pushes):
        if not push.version or not _may_count(context, push):
            continue
        if _is_same(push, plan, inputs) and _is_there(context, push):
            replaced = plan.request.chain and _is_replaced(context, push)
            return None if replaced else push
    return None


def refuse_ended_badly(context: PushContext, plan: Plan, inputs: Mapping[str, int]) -> None:
    """Raise `PreflightError` if the last identical push failed, was lost, or was stopped.

    Otherwise `--when-free` in a schedule would repeat it until the week's hours are spent. `plan`
    and `inputs`: as in an `Account`.
    """
    pushes = context.ledger.of()
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

    An input of which the earlier push recorded no version is taken for the same.
    """
    if push.content != plan.content:
        return False
    own = plan.kernel_name
    if push.rehearsal and push.inputs.keys() - inputs.keys() - {own}:
        return False  # it had from a folder what now comes from elsewhere
    others = [source for source in inputs if source != own]
    if any(push.inputs.get(source, inputs[source]) != inputs[source] for source in others):
        return False
    # The kernel's own output, which `--continue` attaches, is another one after each session. Until
    # the results of the earlier push are here, the same command means the same session.
    continues = own in inputs and push.state == State.COMPLETE
    return not continues or push.inputs.get(own) == inputs[own]


def _is_there(context: PushContext, push: Push) -> bool:
    """Whether Kaggle has the version of a push; of one that was lost, whether it has its session.

    A number tells the version from another one that was counted anew after the kernel was deleted.
    """
    kaggle = context.kaggle
    stored = kaggle.stored(push.name, push.version)
    if stored is None or number_of(stored.text) != push.number:
        return False
    return push.state != State.LOST or kaggle.status(push.name, push.version) is not None


def _is_replaced(context: PushContext, push: Push) -> bool:
    """Whether Kaggle attaches the outputs of a later version, or may soon: it is complete, or
    active, whether it was pushed or saved on the site."""
    newest = context.kaggle.existing(push.name).newest
    for version in range(newest, push.version or 0, -1):
        status = context.kaggle.status(push.name, version)
        if status and (status.alive or status.state == "complete"):
            return True
    return False


def _refusal(context: PushContext, earlier: Push, request: PushRequest) -> str:
    """What to do instead of repeating a push whose results are here."""
    same = f"identical to {earlier.reference} ({earlier.state})"
    if earlier.state == State.SAVED:
        return f"{same}: repeat it with --force"
    resume = context.resuming(earlier)
    home = context.folder(earlier)
    if request.output and request.output.resolve() != home.resolve():
        resume += f" --output {shlex.quote(str(request.output))}"
        does = "downloads its results there"
    else:
        does = "fetches what is missing there"
    if request.submit is not None:
        resume += f" --submit {shlex.quote(request.submit)}"
        does = "submits its result"
    words = f"whose results are in {from_here(home)}"
    return f"{same}, {words}: {resume} {does}, or repeat it with --force"

"""What a push needs before it is sent: its place in the account, its files on Kaggle."""

from dataclasses import dataclass, replace

from kernelkit.notebook.parameters import for_json
from kernelkit.push import wheels
from kernelkit.push.checks import compiled
from kernelkit.push.checks.findings import tell
from kernelkit.push.checks.on_kaggle import leaks, nothing_to_continue, versions_of_inputs
from kernelkit.push.checks.preflight import stop_on_errors
from kernelkit.push.ledger import Push
from kernelkit.push.plan import Plan
from kernelkit.push.push_context import PushContext
from kernelkit.terminal.events import Event

CONTINUES = Event("continues")


@dataclass(frozen=True)
class Ready:
    """A push that only needs to be sent: its plan, and its line in the ledger as it will begin."""

    plan: Plan
    push: Push


def in_account(context: PushContext, plan: Plan) -> Plan:
    """The plan as the connected account would send it: its names, the outputs that it continues
    from, and the dataset of its wheels among its sources.

    Nothing is sent, so a dry run may show it. In a rehearsal, any owner is replaced by the local
    Kaggle's user. Raises `PreflightError` if a secret of the account is in the plan, or if there
    is nothing to continue from, and what `wheels.attach` raises.
    """
    account = context.kaggle.connection
    plan = plan.owned_by(account.username, anyone=account.rehearses)
    stop_on_errors(leaks(context, plan))
    if plan.request.continues:
        tell(context.events, nothing_to_continue(context, plan))
        kernel = str(plan.kernel)
        context.events(CONTINUES, f"with the outputs of the last complete version of {kernel}")
        plan = plan.attaching("kernel", kernel)
    return wheels.attach(context, plan, account.username)


def make_ready(context: PushContext, plan: Plan) -> Ready:
    """Bring to Kaggle what the plan needs there and Kaggle lacks, and draft its line in the ledger.

    That is the dataset of its wheels, which the same wheels share; what is there already is not
    uploaded again. The kernels of its chain were pushed by the same stages before, so the versions
    of them that the session gets are known now. No session starts, and the ledger is not written:
    a command that is killed here has only left a dataset that the next one finds.

    Raises `PreflightError` for an own source without outputs, and what an upload raises:
    `RefusedError`, `CredentialsError` or `NetworkError`.
    """
    plan = with_inputs(context, plan)
    wheels.upload_missing(context, plan)
    return Ready(plan, draft(plan, rehearsal=context.events.rehearsal))


def with_inputs(context: PushContext, plan: Plan) -> Plan:
    """The plan with the versions of own kernels that its session gets, as Kaggle has them now."""
    return replace(plan, inputs=versions_of_inputs(context, plan))


def draft(plan: Plan, *, rehearsal: bool) -> Push:
    """The line of a plan in the ledger before it is sent."""
    bundle = plan.bundle
    push = Push(
        kernel=str(plan.kernel),
        content=plan.content,
        git=str(bundle.commit),
        accelerator=plan.kind,
        parameters=for_json(bundle.parameters),
        timeout_minutes=plan.timeout_minutes,
        competition=next(iter(plan.metadata.sources("competition")), None),
        rehearsal=rehearsal,
        bundle=bundle.content,
        inputs=dict(plan.inputs),
        stays=list(plan.request.stays),
    )
    if plan.kind == "tpu":
        return replace(push, estimate=compiled.estimate(plan))
    return push

"""Push a notebook with one command: a value that goes through these stages in order.

    request → plan → findings → account → findings → ready → sent → ended → results
    ╰───── checked_plan ──────╯ ╰─────── send_once ───────────────╯ ╰── finish ──╯

Each stage is a module of its name (the findings are the room `checks`, which looks at a plan and
then at an account); the first part is the room `checked`, as it is all that `kernelkit check`
does. The ledger says how far a push got, so that it can be resumed after any interruption:
`ledger.State` lists how far that may be, and which stage notes it.
"""

from pathlib import Path
from typing import Any, Unpack

from kernelkit.errors import (
    CapacityError,
    CredentialsError,
    KernelBusyError,
    KernelkitError,
    NetworkError,
)
from kernelkit.kaggle.context.kaggle_context import CommandOptions, command_options
from kernelkit.notebook.interface.values import Overrides
from kernelkit.push.asked.account import Account, ask, in_account
from kernelkit.push.asked.identical import refuse_ended_badly, refuse_repeated, results_are_here
from kernelkit.push.awaited.ended import await_end
from kernelkit.push.checked.checked_plan import CHAIN, checked_plan
from kernelkit.push.checks.findings import show
from kernelkit.push.checks.on_kaggle import check_account
from kernelkit.push.delivered.results import Results, bring_home
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.push.planned.request import Delivery, PushRequest
from kernelkit.push.rehearsed.prepare_rehearsal import connected
from kernelkit.push.sending.arrived import find_interrupted
from kernelkit.push.sending.ready import make_ready
from kernelkit.push.sending.sent import Sent, send, take_up
from kernelkit.rehearsal.inputs import Mounted
from kernelkit.runs import claims
from kernelkit.terminal.events import DRY_RUN, STOPPED, WARNING, Event

IDENTICAL = Event("identical")
LEFT = Event("left", quiet=True)
SAVED = Event("saved", quiet=True)


def push_kernel(
    notebook: Path | None = None, parameters: Overrides = (), **keywords: Any
) -> Path | None:
    """Push a notebook, wait for its run and download its outputs; returns their folder.

    notebook     the notebook, or the folder of a kernel-metadata.json; by default its code_file
    parameters   `name=value` strings, or a mapping of typed values
    keywords     the others of `PushRequest.of`, and the options of every command that talks to
                 Kaggle, see `KaggleContext.in_project`

    Returns None if nothing is there (`dry_run`, `no_run`, or no `wait`, unless all of it is here
    and `once` says that this is enough). Raises the errors of `kernelkit.errors`, each with its
    exit code.
    """
    options = command_options(keywords)
    assume = options.get("local", False)  # a rehearsal does without metadata
    return push(PushRequest.of(notebook, parameters, assume=assume, **keywords), **options)


def push(
    request: PushRequest,
    *,
    on_kaggle: str | None = None,
    **options: Unpack[CommandOptions],
) -> Path | None:
    """Do what a request says; returns the folder of the results, or None if there are none.

    on_kaggle  the command to suggest after a rehearsal, which does the same on Kaggle; by default
               the push, and nothing where it is ""
    options    see `KaggleContext.in_project`; a rehearsal is the same list with another Kaggle

    Raises what `push_kernel` raises.
    """
    context = PushContext.in_project(request.project, **options)
    with context.announcing_errors():
        plan = checked_plan(context, request)
        if request.chain:
            _push_needed(context, plan, options)
        return _push(context, plan, request.delivery(on_kaggle))


def _push(context: PushContext, plan: Plan, delivery: Delivery) -> Path | None:
    """The list of stages, from a plan on; `--no-run` and `--no-wait` cut it."""
    request = plan.request
    if request.dry_run:
        _dry_run(context, plan)
        return None
    with connected(context, plan) as mounted:
        sent = send_once(context, plan, mounted)
        if request.no_run:
            context.events(SAVED, f"{sent.push.reference}, without a session")
            return None
        if not request.wait and not _is_done(context, sent, delivery):
            context.events(LEFT, f"not waiting. {context.how_to_resume(sent.push)}")
            return None
        return finish(context, sent, delivery)


def send_once(context: PushContext, plan: Plan, mounted: Mounted) -> Sent:
    """From a plan to a push on Kaggle: at most one session comes of it.

    Takes up an identical earlier push. Without one, brings to Kaggle what the plan lacks there,
    and sends it. Raises what `find_interrupted`, `judge`, `take_up`, `make_ready` and `send` raise.
    """
    plan = in_account(context, plan)
    with context.alone_with(plan.kernel_name):  # so that the answers still hold when it is sent
        find_interrupted(context, plan.kernel_name)
        account = judge(context, plan, mounted)
        if account.earlier:
            return take_up(context, account.earlier, plan)
        return send(context, make_ready(context, account))


def judge(context: PushContext, plan: Plan, mounted: Mounted) -> Account:
    """From a plan to what Kaggle says of it, without errors: what speaks against it is told.

    `plan`: with the account's names. Nothing speaks against an earlier push that is identical, as
    nothing is sent then. Raises `PreflightError`, `CapacityError` and `KernelBusyError` for what
    Kaggle's answers rule out, and `ParameterError` for a folder of results that is not free.
    """
    account = ask(context, plan, mounted)
    request = plan.request
    if account.earlier:
        return account
    if request.when_free and not request.force:
        refuse_ended_badly(context, plan, account.inputs)
    if request.output:
        claims.check_free(request.output)  # as no push that may have claimed it is taken up
    show(context.events, check_account(account))
    return account


def finish(context: PushContext, sent: Sent, delivery: Delivery) -> Path:
    """From a push on Kaggle to its results; returns their folder.

    Nothing is asked again for a push that was taken up and whose results are here, unless a folder
    or a submission is wanted. Raises what `bring_results` raises.
    """
    if _is_done(context, sent, delivery):
        return context.folder(sent.push)
    return bring_results(context, sent, delivery).folder


def bring_results(context: PushContext, sent: Sent, delivery: Delivery) -> Results:
    """From a push on Kaggle to its results: wait for the end of its session, and bring it home.

    Of a file that cannot be written, the error names the way back to the session. Raises what
    `await_end` and `bring_home` raise.
    """
    with context.naming_the_way_back(sent.push):
        return bring_home(context, await_end(context, sent, delivery), delivery)


def _is_done(context: PushContext, sent: Sent, delivery: Delivery) -> bool:
    """Whether nothing is left to do for a push, as where it was taken up with all its results."""
    asks_more = delivery.output is not None or delivery.submit is not None
    return results_are_here(context, sent.push) and not asks_more


def _push_needed(context: PushContext, plan: Plan, options: CommandOptions) -> None:
    """Push the kernels that a chained plan needs, each by the same list, in their order.

    Each of them is checked before the first one runs, perhaps for hours.
    """
    needed = []
    for request in plan.request.needed():
        own = PushContext.in_project(request.project, **options)
        own.events = context.events  # which know the account's secrets, and end with the command
        needed.append((own, checked_plan(own, request)))
    for own, each in needed:
        slug = each.metadata.slug
        context.events(CHAIN, slug)
        try:
            _push(own, each, each.request.delivery(on_kaggle=""))
        except KernelkitError:
            context.events(STOPPED, f"the chain ends with {slug}")
            raise
    context.events(CHAIN, plan.metadata.slug)


def _dry_run(context: PushContext, plan: Plan) -> None:
    """The list up to what Kaggle says of the account: a branch that sends nothing.

    It takes no lock and looks for no interrupted push. What keeps Kaggle from being asked, or the
    push from starting now, is told and no error, as it may be over by the time of the push. Raises
    `PreflightError` where the push would.
    """
    shown = plan.owned_by(plan.metadata.owner)
    earlier = None
    try:
        with connected(context, plan) as mounted:
            shown = in_account(context, plan)
            earlier = judge(context, shown, mounted).earlier
    except (KernelBusyError, CapacityError) as error:
        context.events(WARNING, f"a push would be refused for now: {error}")
    except (CredentialsError, NetworkError) as error:
        context.events(WARNING, f"the online checks were skipped: {error}")
    if earlier:
        refuse_repeated(context, earlier, plan.request)
        words = f"to {earlier.reference} ({earlier.state}), which a push would go on with"
        context.events(IDENTICAL, words, kernel=earlier.kernel, version=earlier.version)
        return
    request = shown.save_fields
    lines = "\n".join(f"{name} = {value!r}" for name, value in request.items())
    context.events(DRY_RUN, f"nothing was sent; this would be:\n{lines}", request=request)

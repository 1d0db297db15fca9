"""Push a notebook with one command: a value that goes down once and comes back once.

    request → plan → findings → account → ready → sent → ended → results

Each stage is a module of its name (the findings are the room `checks`), and each step writes to
the ledger before the next begins, so that the push can be resumed after any interruption.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from kernelkit.errors import (
    CapacityError,
    CredentialsError,
    KernelBusyError,
    KernelkitError,
    NetworkError,
    ParameterError,
    PreflightError,
)
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context import CommandOptions, command_options
from kernelkit.notebook.parameters import Overrides, for_json
from kernelkit.push import wheels
from kernelkit.push.account import ask, in_account, with_inputs
from kernelkit.push.checks import compiled, preflight
from kernelkit.push.checks.annotations import annotate
from kernelkit.push.checks.findings import Finding, tell
from kernelkit.push.checks.on_kaggle import check_account
from kernelkit.push.ended import await_end
from kernelkit.push.identical import are_here, find_identical, refuse_ended_badly, take_up
from kernelkit.push.online import with_internet
from kernelkit.push.plan import Plan, plan_push
from kernelkit.push.prepare_rehearsal import prepare, with_contents
from kernelkit.push.push_context import PushContext
from kernelkit.push.ready import make_ready
from kernelkit.push.request import Delivery, PushRequest
from kernelkit.push.results import STOPPED, bring_home
from kernelkit.push.sent import Sent, look_after_cut_off, send
from kernelkit.runs import claims
from kernelkit.shown import duration
from kernelkit.terminal.events import DRY_RUN, WARNING, Event, from_here

ASSUMED = Event("assumed")
CHAIN = Event("chain")
BUNDLE = Event("bundle")
SET = Event("set")
IDENTICAL = Event("identical")
LEFT = Event("left", quiet=True)
SAVED = Event("saved", quiet=True)


def push_kernel(
    notebook: Path | None = None, parameters: Overrides = (), **keywords: Any
) -> Path | None:
    """Push a notebook, wait for its run and download its outputs; returns their folder.

    notebook     the notebook, or the folder of a kernel-metadata.json; by default its code_file
    parameters   `name=value` strings, or a mapping of typed values
    keywords     the other fields of a `PushRequest`, which describes them, and the options of
                 every command that talks to Kaggle, see `KaggleContext.in_project`

    Returns None if nothing was downloaded (`dry_run`, `no_run`, no `wait`). Raises the errors of
    `kernelkit.errors`, each with its exit code.
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
    """Do what a request asks for; returns the folder of the results, or None if there are none.

    on_kaggle  the command to suggest after a rehearsal, which does the same on Kaggle; by default
               the push, and nothing where it is ""
    options    see `KaggleContext.in_project`; a rehearsal is the same list with another Kaggle

    Raises what `push_kernel` raises.
    """
    context = PushContext.in_project(request.project, **options)
    with context.ending():
        if request.chain:
            _push_needed(context, request, options)
        return _push(context, request, request.delivery(on_kaggle))


def _push(context: PushContext, request: PushRequest, delivery: Delivery) -> Path | None:
    """The list of stages; a dry run and `--no-wait` cut it."""
    plan = check(context, request)
    if request.dry_run:
        _show_request(context, plan)
        return None
    with connected(context, plan):
        sent = send_once(context, plan)
        if request.no_run:
            context.events(SAVED, f"{sent.push.reference}, without a session")
            return None
        if not request.wait and not _is_done(context, sent, delivery):
            context.events(LEFT, f"not waiting. {context.how_to_resume(sent.push)}")
            return None
        return bring_results(context, sent, delivery)


def check(context: PushContext, request: PushRequest) -> Plan:
    """From a request to a plan without errors: what can be found without Kaggle is told.

    The package index is asked for the plan's wheels. Raises `ParameterError` for wishes that fit
    no push, `PreflightError` for errors among the findings, and `DoesNotFitError`.
    """
    request = with_internet(request)
    if request.assumed:
        words = f"no {request.metadata.name}; assumed: {request.assumed.words}"
        context.events(ASSUMED, f"{words}. `{request.how_to_describe}` writes it")
    _refuse_wishes(context, request)
    with _hashing(context, request):
        plan = plan_push(request)
    _tell_bundle(context, plan)
    findings = preflight.run_checks(plan)
    annotate(findings, plan.metadata.path)
    show(context, findings)
    if not compiled.compile_push(plan, context.events) and not context.local:
        tell(context.events, compiled.last_compiled(plan))  # a rehearsal uses no quota
    return wheels.attach(context, plan)


def _hashing(context: PushContext, request: PushRequest) -> contextlib.AbstractContextManager[None]:
    """A block in which the folders in `attach` are read whole; people see how long it takes."""
    folders = ", ".join(request.project.attach)
    if not folders:
        return contextlib.nullcontext()
    begun = time.monotonic()
    return context.events.moving(
        lambda: f"hashing {folders}, for {duration(time.monotonic() - begun)}"
    )


def connected(context: PushContext, plan: Plan) -> contextlib.AbstractContextManager[Kaggle]:
    """A block in which Kaggle is there for a plan; in a rehearsal, with what the plan reads.

    Raises what `KaggleContext.connect` raises.
    """
    if context.local:
        context.catalogue = plan.catalogue
        context.owner = plan.account
        context.memory = plan.request.memory
        context.prepare = partial(prepare, context, plan)
    return context.connect()


def send_once(context: PushContext, plan: Plan) -> Sent:
    """From a plan to a push on Kaggle: at most one session comes of it.

    Takes up an identical earlier push. Without one, asks what Kaggle says of the account, stops on
    what speaks against the push, brings to Kaggle what it lacks, and sends.

    Raises `PreflightError`, `CapacityError` and `KernelBusyError` for what Kaggle's answers rule
    out, `ParameterError` for a folder of results that is not free, and what `send` raises.
    """
    request = plan.request
    plan = in_account(context, plan)
    with context.alone_with(plan.kernel_name):  # so that the findings still hold when it is sent
        look_after_cut_off(context, plan.kernel)
        plan = with_inputs(context, with_contents(context, plan))
        if not request.force:
            earlier = find_identical(context, plan)
            if earlier:
                return take_up(context, plan, earlier)
            if request.unattended:
                refuse_ended_badly(context, plan)
        said = ask(context, plan)
        show(context, check_account(said))
        if request.output:
            claims.check_free(request.output)
        return send(context, make_ready(context, said))


def bring_results(context: PushContext, sent: Sent, delivery: Delivery) -> Path:
    """From a push on Kaggle to its results; returns their folder.

    Nothing is asked again for a push that was taken up and whose results are here. Raises what
    `await_end` and `bring_home` raise.
    """
    if _is_done(context, sent, delivery):
        return context.folder(sent.push)
    with context.saving(sent.push):
        return bring_home(context, await_end(context, sent, delivery), delivery).folder


def _is_done(context: PushContext, sent: Sent, delivery: Delivery) -> bool:
    """Whether nothing is left to do for a push that was taken up."""
    asks_more = delivery.output is not None or delivery.submit is not None
    return are_here(context, sent.push) and not asks_more


def show(context: PushContext, findings: Sequence[Finding]) -> None:
    """Tell findings, and end the push at an error.

    The first error decides which one is raised; of a `PreflightError`, it lists all.
    """
    told = [finding for finding in findings if finding.level != "error"]
    if told:
        tell(context.events, told)
    wrong = [finding for finding in findings if finding.level == "error"]
    if not wrong:
        return
    if wrong[0].kind is PreflightError:
        preflight.stop_on_errors([error for error in wrong if error.kind is PreflightError])
    raise wrong[0].kind(wrong[0].text)


def _refuse_wishes(context: PushContext, request: PushRequest) -> None:
    """Raise `ParameterError` for what a rehearsal, or a push to Kaggle, cannot do."""
    if context.local and not request.wait:
        raise ParameterError(
            "a rehearsal's Kaggle stops when the command ends, so the command must wait: drop "
            "--no-wait, or start one that keeps running with python -m local_kaggle"
        )
    if request.memory is not None and not context.local:
        raise ParameterError(
            "a session's memory can be set in a rehearsal only: drop memory, or rehearse (a local "
            "Kaggle that serves already has it from local-kaggle --memory)"
        )
    if request.download is not None and not context.local:
        raise ParameterError("a push has on Kaggle what is attached: drop download")
    if request.download is not None and request.dry_run:
        raise ParameterError("--download fetches what a session reads: drop --dry-run")
    if request.output and not claims.was_pushed(request.output):
        claims.check_free(request.output)  # one that a push has begun to fill may be its own


def _tell_bundle(context: PushContext, plan: Plan) -> None:
    """Tell what is to be pushed."""
    bundle = plan.bundle
    words = f"{plan.metadata.code_file.name}{bundle.words}"
    if plan.metadata.values.get("is_private") is False:
        words += ", public"
    if plan.metadata.values.get("docker_image"):
        words += ", with a pinned image"
    context.events(
        BUNDLE,
        words,
        bytes=bundle.size,
        content=bundle.content,
        git=bundle.commit.sha,
        dirty=bundle.commit.dirty,
        parameters=for_json(bundle.parameters),
    )
    if bundle.parameters:
        context.events(SET, ", ".join(f"{n}={value}" for n, value in bundle.parameters.items()))


def _push_needed(context: PushContext, request: PushRequest, options: CommandOptions) -> None:
    """Push the kernels that a chained push needs, each by the same list, in their order.

    Each of them, and the push itself, is checked before the first one runs, perhaps for hours.
    """
    needed = _needed(context, request)
    for each in [*needed, request]:
        plan = plan_push(each)
        context.events(CHAIN, f"{plan.metadata.slug}, in {from_here(plan.metadata.path)}")
        preflight.stop_on_errors(preflight.run_checks(plan))
    for each in needed:
        slug = each.kernel.slug
        context.events(CHAIN, slug)
        own = PushContext.in_project(each.project, **options)
        try:
            _push(own, each, each.delivery(on_kaggle=""))
        except KernelkitError:
            context.events(STOPPED, f"the chain ends with {slug}")
            raise
    context.events(CHAIN, request.kernel.slug)


def _needed(context: PushContext, request: PushRequest) -> list[PushRequest]:
    """The kernels to push before a chained one; in a rehearsal without those whose output lies in
    the catalogue."""
    if not context.local:
        return request.needed()
    target = request.kernel
    account = next(filter(None, target.own_names()), "*")
    catalogue = context.local / "catalogue"
    if request.project.catalogue and not request.dry_run:
        plan = plan_push(request)
        context.fill_catalogue(plan.catalogue, plan.account)  # its command may make the outputs

    def is_there(source: str) -> bool:
        slug = source.split("/")[1] if "/" in source else source
        place = next(catalogue.glob(f"kernels/{account}/{slug}"), None)
        if place is None:
            return False
        context.events(CHAIN, f"{source}: not pushed, because {from_here(place)} has its output")
        return True

    return request.needed(is_there)


def _show_request(context: PushContext, plan: Plan) -> None:
    """Show the request that a push would send, after the checks on Kaggle if it can be reached."""
    shown = plan.owned_by(plan.metadata.owner)
    with _only_told(context), connected(context, plan):
        shown = in_account(context, plan)
        planned = with_inputs(context, with_contents(context, shown))
        earlier = find_identical(context, planned)
        if earlier:
            context.events(IDENTICAL, f"to {earlier.reference} ({earlier.state})")
        show(context, check_account(ask(context, planned)))
    request = shown.save_fields
    lines = "\n".join(f"{name} = {value!r}" for name, value in request.items())
    context.events(DRY_RUN, f"nothing was sent; this would be:\n{lines}", request=request)


@contextlib.contextmanager
def _only_told(context: PushContext) -> Iterator[None]:
    """In a dry run, what keeps Kaggle from being asked, or the push from starting now, is told."""
    try:
        yield
    except (KernelBusyError, CapacityError) as error:  # may be over by the time of the push
        context.events(WARNING, f"a push would be refused for now: {error}")
    except (CredentialsError, NetworkError) as error:
        context.events(WARNING, f"the online checks were skipped: {error}")

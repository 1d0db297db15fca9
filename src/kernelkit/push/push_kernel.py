"""Push a notebook with one command: a value that goes down once and comes back once.

request → plan → findings → ready → sent → ended → results. Each stage is a module of its name
(the findings are the room `checks`), and each step writes to the ledger before the next begins, so
that the push can be resumed after any interruption.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
from kernelkit.kaggle.context import CommandOptions
from kernelkit.notebook.parameters import Overrides, for_json
from kernelkit.project import Project
from kernelkit.push import wheels
from kernelkit.push.bundle.build import MAX_BYTES
from kernelkit.push.checks import compiled, preflight
from kernelkit.push.checks.annotations import annotate
from kernelkit.push.checks.findings import conclusion, tell
from kernelkit.push.checks.on_kaggle import ask_kaggle
from kernelkit.push.ended import await_end
from kernelkit.push.ledger import State
from kernelkit.push.online import with_internet
from kernelkit.push.plan import Plan, plan_push
from kernelkit.push.prepare_rehearsal import prepare
from kernelkit.push.push_context import PushContext
from kernelkit.push.ready import in_account, make_ready, with_inputs
from kernelkit.push.request import PushRequest
from kernelkit.push.results import STOPPED, bring_home
from kernelkit.push.sent import Delivery, Sent, look_after_cut_off, repeated, send, take_up
from kernelkit.push.when_free import push_when_free
from kernelkit.runs import claims
from kernelkit.terminal.events import DRY_RUN, WARNING, Event, from_here, size_of

ASSUMED = Event("assumed")
CHAIN = Event("chain")
BUNDLE = Event("bundle")
SET = Event("set")
CHECKED = Event("checked")
IDENTICAL = Event("identical")
LEFT = Event("left", quiet=True)
SAVED = Event("saved", quiet=True)


def push_kernel(
    notebook: Path | None = None,
    parameters: Overrides = (),
    *,
    metadata: Path | None = None,
    project: Project | None = None,
    accelerator: str | None = None,
    timeout: float | None = None,
    model: Sequence[str] = (),
    output: Path | None = None,
    continues: bool = False,
    force: bool = False,
    once: bool = False,
    ignore: Sequence[str] = (),
    submit: str | None = None,
    dry_run: bool = False,
    offline: bool = False,
    wait: bool = True,
    no_run: bool = False,
    when_free: bool = False,
    chain: bool = False,
    check_tpu: bool = False,
    starts: Sequence[Mapping[str, Any]] = (),
    packages: str | None = None,
    memory: float | None = None,
    stays: Sequence[str] = (),
    **options: Unpack[CommandOptions],
) -> Path | None:
    """Push a notebook, wait for its run and download its outputs; returns their folder.

    notebook     the notebook, or the folder of a kernel-metadata.json; by default its code_file
    parameters   `name=value` strings, or a mapping of typed values
    options      those of every command that talks to Kaggle, see `KaggleContext.in_project`

    Everything else is described at `PushRequest`. Returns None if nothing was downloaded
    (`dry_run`, `no_run`, no `wait`). Raises the errors of `kernelkit.errors`, each with its exit
    code.
    """
    request = PushRequest.of(
        notebook,
        parameters,
        metadata=metadata,
        project=project,
        assume=options.get("local", False) or offline,
        accelerator=accelerator,
        timeout=timeout,
        model=model,
        output=output,
        continues=continues,
        force=force,
        once=once,
        ignore=ignore,
        submit=submit,
        dry_run=dry_run,
        offline=offline,
        wait=wait,
        no_run=no_run,
        when_free=when_free,
        chain=chain,
        check_tpu=check_tpu,
        starts=starts,
        packages=packages,
        memory=memory,
        stays=stays,
    )
    return push(request, **options)


def push(
    request: PushRequest,
    *,
    on_kaggle: str | None = None,
    **options: Unpack[CommandOptions],
) -> Path | None:
    """Do what a request asks for; returns the folder of the results, or None if there are none.

    on_kaggle  the command to suggest after a rehearsal, which does the same on Kaggle; by default
               the push, and nothing where it is ""
    options    see `KaggleContext.in_project`

    Raises what `push_kernel` raises.
    """
    context = PushContext.in_project(request.project, **options)
    with context.ending():
        request = with_internet(request)
    delivery = Delivery.of(request)
    if on_kaggle is not None:
        delivery = replace(delivery, on_kaggle=on_kaggle)
    if not request.chain:
        with context.ending():
            return _push(context, plan_push(request), delivery)
    with context.ending():
        plans = [*map(plan_push, _needed(context, request)), plan_push(request)]
        for plan in plans:  # before the first one runs, perhaps for hours
            context.events(CHAIN, f"{plan.metadata.slug}, in {from_here(plan.metadata.path)}")
            preflight.stop_on_errors(preflight.run_checks(plan))
    for plan in plans[:-1]:
        slug = plan.metadata.slug
        context.events(CHAIN, slug)
        own = PushContext.in_project(plan.project, **options)
        try:
            with own.ending():
                _push(own, plan, Delivery(on_kaggle=""))
        except KernelkitError:
            context.events(STOPPED, f"the chain ends with {slug}")
            raise
    context.events(CHAIN, plans[-1].metadata.slug)
    with context.ending():
        return _push(context, plans[-1], delivery)


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


def _push(context: PushContext, plan: Plan, delivery: Delivery) -> Path | None:
    """Push one plan, through all stages."""
    request = plan.request
    if request.assumed:
        words = f"no {request.metadata.name}; assumed: {request.assumed.words}"
        context.events(ASSUMED, f"{words}. `{request.how_to_describe}` writes it")
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
    if request.output and not request.when_free:  # which may go on with what it has begun
        claims.check_free(request.output)
    _check_here(context, plan)
    context = replace(context, catalogue=plan.catalogue, owner=plan.account, memory=request.memory)
    if request.offline:
        wheels.attach(context, plan)
        count = context.events.told[WARNING]
        context.events(CHECKED, conclusion(context.events), warnings=count)
        return None
    if request.dry_run:
        _show_request(context, plan)
        return None
    if context.local:
        context = replace(context, prepare=partial(prepare, context, plan))
    with context.connect():
        plan = in_account(context, plan)
        if request.when_free:
            return push_when_free(context, plan)
        sent = replace(_send(context, plan), delivery=delivery)
        if request.no_run:
            context.events(SAVED, f"{sent.push.reference}, without a session")
            return None
        if _is_home(context, request, sent):
            return context.folder(sent.push)
        if not request.wait:
            context.events(LEFT, f"not waiting. {context.how_to_resume(sent.push)}")
            return None
        with context.saving(sent.push):
            return bring_home(context, await_end(context, sent)).folder


def _check_here(context: PushContext, plan: Plan) -> None:
    """Tell what is to be pushed, and all findings that need no Kaggle.

    Raises `PreflightError` for errors among them, and `DoesNotFitError`.
    """
    bundle = plan.bundle
    words = [plan.metadata.code_file.name]
    if bundle.carries:
        words.append(f"with {', '.join(bundle.carries)}")
    git = f"git {bundle.commit}" if bundle.commit.sha else "no git commit"
    size = f"{size_of(bundle.size)} of the {size_of(MAX_BYTES)} allowed"
    if plan.metadata.values.get("is_private") is False:
        size += ", public"
    if plan.metadata.values.get("docker_image"):
        size += ", with a pinned image"
    context.events(
        BUNDLE,
        f"{' '.join(words)}, {git}, {size}",
        bytes=bundle.size,
        content=bundle.content,
        git=bundle.commit.sha,
        dirty=bundle.commit.dirty,
        parameters=for_json(bundle.parameters),
    )
    if bundle.parameters:
        context.events(SET, ", ".join(f"{n}={value}" for n, value in bundle.parameters.items()))
    findings = preflight.run_checks(plan)
    annotate(findings, plan.metadata.path)
    tell(context.events, [finding for finding in findings if finding.level != "error"])
    preflight.stop_on_errors(findings)
    if not compiled.compile_push(plan, context.events) and not context.local:
        tell(context.events, compiled.last_compiled(plan))  # a rehearsal uses no quota


def _send(context: PushContext, plan: Plan) -> Sent:
    """Send the plan, once Kaggle has nothing against it, or take up an identical earlier push."""
    request = plan.request
    with context.alone_with(plan.kernel):  # so that the findings still hold when it is sent
        look_after_cut_off(context, plan.kernel)
        if (request.once or request.chain) and not request.force:
            earlier = take_up(context, with_inputs(context, plan), latest=request.chain)
            if earlier:
                return earlier
        tell(context.events, ask_kaggle(context, plan))
        return send(context, make_ready(context, plan))


def _is_home(context: PushContext, request: PushRequest, sent: Sent) -> bool:
    """Whether nothing is left to do for a push that was taken up."""
    if sent.push.state != State.COMPLETE or sent.delivery.output or request.submit is not None:
        return False
    return request.chain or not request.wait or context.folder(sent.push).is_dir()


def _show_request(context: PushContext, plan: Plan) -> None:
    """Show the request that a push would send, after the checks on Kaggle if it can be reached."""
    shown = plan
    with _only_told(context), context.connect():
        shown = in_account(context, plan)
        earlier = _identical(context, shown)
        if earlier:
            context.events(IDENTICAL, earlier)
        tell(context.events, ask_kaggle(context, shown))
    if shown is plan:  # its wheels need a package index, but no account
        shown = wheels.attach(context, plan)
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


def _identical(context: PushContext, plan: Plan) -> str:
    """The earlier push that is identical to this one, in words; empty if there is none."""
    try:
        plan = with_inputs(context, plan)
    except PreflightError as error:
        if not plan.request.chain:
            raise
        context.events(WARNING, f"for now, before the chain has run: {error}")
        return ""
    earlier = repeated(context, plan)
    return f"to {earlier.reference} ({earlier.state})" if earlier else ""

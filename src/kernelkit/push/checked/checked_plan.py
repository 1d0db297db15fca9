"""From a request to a plan without errors: the stages of a push before Kaggle is asked."""

import contextlib
from dataclasses import replace

from kernelkit.errors import ParameterError
from kernelkit.files import from_here
from kernelkit.notebook.interface.values import for_json
from kernelkit.push.asked.wheels import with_wheels
from kernelkit.push.checked import compiled
from kernelkit.push.checked.online import with_internet
from kernelkit.push.checks import preflight
from kernelkit.push.checks.annotations import annotate
from kernelkit.push.checks.findings import Finding, show
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan, plan_push
from kernelkit.push.planned.request import PushRequest
from kernelkit.runs import claims
from kernelkit.terminal.events import Event

ASSUMED = Event("assumed")
CHAIN = Event("chain")
BUNDLE = Event("bundle")
SET = Event("set")


def checked_plan(context: PushContext, request: PushRequest, *, compiles: bool = True) -> Plan:
    """From a request to a plan without errors: what can be found without Kaggle is told.

    The package index is asked for the plan's wheels. With `compiles`, so is the TPU's compiler, or
    what it said last is told; without it, the command compiles by itself. Raises `ParameterError`
    for wishes that fit no push, `PreflightError` for errors among the findings, and
    `DoesNotFitError`.
    """
    _refuse_wishes(context, request)
    plan, findings = plan_and_findings(context, request)
    show(context.events, findings)
    if compiles:
        show(context.events, compiled_findings(context, plan))
    return plan


def plan_and_findings(context: PushContext, request: PushRequest) -> tuple[Plan, list[Finding]]:
    """The plan of a request, which is told, with its wheels; and what the checks find of it.

    The findings are annotated and not told, errors among them. Raises what `plan_push` and
    `with_wheels` raise.
    """
    with _hashing(context, request):
        plan = with_internet(plan_push(request))
    _tell_plan(context, plan)
    plan = with_wheels(context, plan)
    findings = preflight.run_checks(plan)
    annotate(findings, plan.metadata.path)
    return plan, findings


def compiled_findings(context: PushContext, plan: Plan) -> list[Finding]:
    """What the TPU's compiler said last of a plan without errors; none if it is asked here.

    It is asked if the project says so for every push. Raises `DoesNotFitError`.
    """
    if compiled.compile_push(plan, context.events) or context.serves:
        return []  # a rehearsal uses no quota
    return list(compiled.last_compiled(plan))


def _refuse_wishes(context: PushContext, request: PushRequest) -> None:
    """Raise `ParameterError` for what a rehearsal, or a push to Kaggle, cannot do."""
    if context.serves and not request.wait:
        raise ParameterError(
            "a rehearsal's Kaggle stops when the command ends, so the command must wait: drop "
            "--no-wait, or start one that keeps running with python -m local_kaggle"
        )
    if request.memory is not None and not context.serves:
        raise ParameterError(
            "a session's memory can be set in a rehearsal only: drop memory, or rehearse (a local "
            "Kaggle that serves already has it from local-kaggle --memory)"
        )
    if request.download is not None and not context.serves:
        raise ParameterError("a push has on Kaggle what is attached: drop download")
    if request.output:
        claims.check_free(request.output, or_claimed=True)


def _hashing(context: PushContext, request: PushRequest) -> contextlib.AbstractContextManager[None]:
    """A block in which the folders in `attach` are read whole; people see how long it takes."""
    folders = ", ".join(request.project.attach)
    return context.events.timed(f"hashing {folders}") if folders else contextlib.nullcontext()


def _tell_plan(context: PushContext, plan: Plan) -> None:
    """Tell what is to be pushed, and what was assumed of it."""
    if plan.request.chain:
        context.events(CHAIN, f"{plan.metadata.slug}, in {from_here(plan.metadata.path)}")
    assumed = plan.request.assumed
    if assumed:
        used = assumed.metadata.on(plan.metadata.machine)
        used = used.with_values(enable_internet=plan.metadata.online)
        words = replace(assumed, metadata=used).words
        context.events(
            ASSUMED,
            f"no {plan.metadata.path.name}; assumed: {words}. `{plan.request.how_to_describe}` "
            "writes it, and --accelerator names another machine",
        )
    bundle = plan.bundle
    words = f"{plan.metadata.code_file.name}{bundle.words}"
    if plan.metadata.settings.is_private is False:
        words += ", public"
    if plan.metadata.settings.docker_image:
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

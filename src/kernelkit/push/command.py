"""Push a notebook with one command, from the checks to the report.

check → push → wait → fetch → check → report, then the submission on request. Each step writes to
the ledger before the next begins, so that the push can be resumed after any interruption.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, cast

from kernelkit.errors import (
    CapacityError,
    CredentialsError,
    KernelBusyError,
    KernelkitError,
    NetworkError,
    ParameterError,
    PreflightError,
)
from kernelkit.kaggle.context import CommandOptions, PushContext, State, in_project
from kernelkit.notebook.parameters import Overrides, for_json
from kernelkit.project import Project
from kernelkit.push import wheels
from kernelkit.push.bundle import metadata
from kernelkit.push.bundle.build import MAX_BYTES
from kernelkit.push.checks import compiled as tpu
from kernelkit.push.checks import preflight
from kernelkit.push.checks.inputs import PlanOptions
from kernelkit.push.follow import Run
from kernelkit.push.plan import Plan
from kernelkit.push.send import draft, look_after_cut_off, prepare, repeated, send
from kernelkit.runs import claims
from kernelkit.terminal.events import from_here, size_of


class PushOptions(PlanOptions, total=False):
    """The keyword arguments of `push_kernel`, in addition to those of its plan.

    dry_run      run the checks and show what would be sent, without sending it
    offline      run only the checks that need no Kaggle, without sending anything
    wait         False: return once the run is pushed
    chain        first push the kernels of this repository that it reads, with their default
                 parameters, and wait for each; skip those that are up to date
    check_tpu    compile the run's programs for the TPU first, and stop if one does not fit;
                 `before_push` in [tool.kernelkit.tpu] does so at every push
    project      the packages and settings, instead of those in pyproject.toml
    starts       the parameters of each run that the notebook starts, for the checks
    packages     "kaggle": in a rehearsal, the session can import the packages of Kaggle's image
                 that this machine lacks; they are installed once, in the local Kaggle's folder
    stays        glob patterns of outputs to leave on Kaggle, until `fetch --only` requests them
    """

    dry_run: bool
    offline: bool
    wait: bool
    chain: bool
    check_tpu: bool
    project: Project | None
    starts: Sequence[Mapping[str, Any]]
    packages: str | None
    stays: Sequence[str]


def push_kernel(
    notebook: Path | None = None,
    parameters: Overrides = (),
    **options: Unpack[PushOptions],
) -> Path | None:
    """Push a notebook, wait for its run and download its outputs; returns their folder.

    notebook     the notebook, or the folder of a kernel-metadata.json; by default its code_file
    parameters   `name=value` strings, or a mapping of typed values; a folder among the strings is
                 the notebook's folder, as with the official client's `-p`
    options      `PushOptions`

    Returns None if nothing was downloaded (`dry_run`, no `wait`). Raises the errors of
    `kernelkit.errors`, each with its exit code.
    """
    folders = [value for value in parameters if "=" not in value and Path(value).is_dir()]
    if folders and notebook is None and not isinstance(parameters, Mapping):
        notebook, parameters = Path(folders[0]), [p for p in parameters if p != folders[0]]
    later = options.get("output") or options.get("submit") is not None
    if later and not options.get("wait", True):
        raise ParameterError(
            "--no-wait returns before there is a result: give --submit and --output to "
            "kernelkit resume instead"
        )
    if options.get("chain"):
        _push_needed(notebook, parameters, options)
    return _push(notebook, parameters, options)


def _push_needed(notebook: Path | None, parameters: Overrides, options: PushOptions) -> None:
    """Push the kernels of this repository that a kernel needs, in order, and wait for each."""
    file = options.get("metadata") or metadata.locate(notebook or Path.cwd())
    context = in_project(options, file, PushOptions)
    of_all = (*CommandOptions.__annotations__, "chain", "dry_run", "force", "ignore", "packages")
    settings = {name: value for name, value in options.items() if name in of_all}
    with context.ending():
        needed = metadata.needed_kernels(file)
        own = [cast("PushOptions", settings | {"metadata": kernel.path}) for kernel in needed]
        checked = [preflight.plan_and_check(None, (), each) for each in own]
        checked.append(preflight.plan_and_check(notebook, parameters, options))
        for plan, findings in checked:  # before the first one runs, perhaps for hours
            context.events("chain", f"{plan.metadata.slug}, in {from_here(plan.metadata.path)}")
            preflight.stop_on_errors(findings)
    for kernel, its in zip(needed, own, strict=True):
        context.events("chain", kernel.slug)
        try:
            _push(None, (), its, last=False)
        except KernelkitError:
            context.events("stopped", f"the chain ends with {kernel.slug}")
            raise
    context.events("chain", plan.metadata.slug)


def _push(
    notebook: Path | None,
    parameters: Overrides,
    options: PushOptions,
    *,
    last: bool = True,
) -> Path | None:
    """Push one notebook, as `push_kernel` does; `last`: it is the last one of its chain."""
    at = options.get("project") or options.get("metadata") or notebook
    context = in_project(options, at, PushOptions)
    if context.local and not options.get("wait", True):
        raise ParameterError(
            "a rehearsal's Kaggle stops when the command ends, so the command must wait: drop "
            "--no-wait, or start one that keeps running with kernelkit local"
        )
    with context.ending():
        if output := options.get("output"):
            claims.check_free(output)
        plan = _checked(context, notebook, parameters, options)
        context = replace(context, catalogue=plan.catalogue, owner=plan.account)
        if options.get("offline"):
            wheels.attach(context, plan)
            context.events("checked", "nothing to correct before a push")
            return None
        if options.get("dry_run"):
            _dry_run(context, plan, options)
            return None
        if context.local and options.get("packages"):
            wheels.for_rehearsal(context, plan)
        return _send_and_follow(context, plan, options, last=last)


def _checked(
    context: PushContext,
    notebook: Path | None,
    parameters: Overrides,
    options: PushOptions,
) -> Plan:
    """The plan, after all checks that need no network; raises `PreflightError`."""
    own = {"project_here": options.get("project"), "starts": options.get("starts", ())}
    plan, findings = preflight.plan_and_check(notebook, parameters, options, **own)
    compile_now = options.get("check_tpu", False)
    if compile_now or plan.kind == "tpu":
        tpu.before_push(context, plan, findings, compile_now=compile_now)
    bundle = plan.bundle
    carried = f" with {', '.join(bundle.carries)}" if bundle.carries else ""
    git = f"git {bundle.commit}" if bundle.commit.sha else "no git commit"
    size = f"{size_of(bundle.size)} of the {size_of(MAX_BYTES)} allowed"
    context.events(
        "bundle",
        f"{plan.metadata.code_file.name}{carried}, {git}, {size}",
        bytes=bundle.size,
        content=bundle.content,
        git=bundle.commit.sha,
        dirty=bundle.commit.dirty,
        parameters=for_json(bundle.parameters),
    )
    if bundle.parameters:
        context.events("set", ", ".join(f"{n}={value}" for n, value in bundle.parameters.items()))
    preflight.report(context, findings)
    return plan


def _dry_run(context: PushContext, plan: Plan, options: PushOptions) -> None:
    """Run the online checks too, if Kaggle can be reached, and show the request."""
    offline = plan
    try:
        with context.connect():
            continues = options.get("continues", False)
            plan = prepare(context, plan, continues=continues, upload=False)
            try:
                if earlier := repeated(context, draft(context, plan)):
                    context.events("identical", f"to {earlier.reference} ({earlier.state})")
            except PreflightError as error:
                if not options.get("chain"):
                    raise
                context.events("warning", f"for now, before the chain has run: {error}")
            force, submits = options.get("force", False), options.get("submit") is not None
            preflight.check_account(context, plan, force=force, submits=submits)
    except (KernelBusyError, CapacityError) as error:  # may be over by the time of the push
        context.events("warning", f"a push would be refused for now: {error}")
    except (CredentialsError, NetworkError) as error:
        context.events("warning", f"the online checks were skipped: {error}")
        if plan is offline:  # its wheels need a package index, but no account
            plan = wheels.attach(context, plan)
    request = plan.save_fields
    lines = "\n".join(f"{name} = {value!r}" for name, value in request.items())
    context.events("dry run", f"nothing was sent; this would be:\n{lines}", request=request)


def _send_and_follow(
    context: PushContext, plan: Plan, options: PushOptions, *, last: bool
) -> Path | None:
    """Send the plan, or resume an identical earlier push, and follow it to its end."""
    once, chained = options.get("once", False), options.get("chain", False)
    force = options.get("force", False)
    output, submit, wait = options.get("output"), options.get("submit"), options.get("wait", True)
    with context.connect():
        plan = prepare(context, plan, continues=options.get("continues", False))
        with context.alone_with(plan.kernel):  # so that the checks still hold when it is sent
            look_after_cut_off(context, plan.kernel)
            earlier = None
            if (once or chained) and not force:
                earlier = repeated(context, draft(context, plan), latest=chained)
            if earlier:
                push = earlier
                text = context.kaggle.existing(push.name, push.version).text
                words = f"{push.reference} is {push.state}, and nothing changed since"
                context.events("skipped", words, kernel=push.kernel, version=push.version)
            else:
                submits = submit is not None
                preflight.check_account(context, plan, force=force, submits=submits)
                push = replace(draft(context, plan), stays=list(options.get("stays", ())))
                push, text = send(context, plan, push, force=force), plan.bundle.text
        folder = context.folder(push)
        needed = output or submit is not None or (wait and not chained and not folder.is_dir())
        if push.state == State.COMPLETE and not needed:
            return folder
        if not wait:
            context.events("left", f"not waiting. {context.how_to_resume(push)}")
            return None
        on_kaggle = f"kernelkit push{' --chain' * chained}" if last else ""
        return Run(context, push, text).follow(output, submit, once=once, on_kaggle=on_kaggle)

"""One command from the desk to a Kaggle machine and back.

preflight → bundle → push → wait → fetch → check → report, then on request the submission.
Each step writes to the ledger before the next begins, so that any of them can be the last
and the push be taken up again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn, Unpack

from kernelkit.bundle.build import MAX_BYTES
from kernelkit.checks import attached_wheels, preflight, readiness, tpu_preflight
from kernelkit.errors import (
    CredentialsError,
    KernelkitError,
    NetworkError,
    ParameterError,
)
from kernelkit.kaggle_api.types import Kernel
from kernelkit.project import RUNS, Project
from kernelkit.pushes import follow, plan, resuming
from kernelkit.pushes import ledger as ledgers
from kernelkit.pushes.context import LEDGER, CommandOptions, PushContext, in_project
from kernelkit.pushes.plan import Plan
from kernelkit.pushes.send import look_after_cut_off, send
from kernelkit.run_folders import claims
from kernelkit.terminal import invocation, safe_text
from kernelkit.terminal.events import size_of


def push_kernel(
    notebook: Path | None = None,
    parameters: Sequence[str] | Mapping[str, Any] = (),
    *,
    metadata: Path | None = None,
    accelerator: str | None = None,
    timeout: float | None = None,
    output: Path | None = None,
    dry_run: bool = False,
    wait: bool = True,
    resume: str | None = None,
    continues: bool = False,
    force: bool = False,
    check_tpu: bool = False,
    submit: str | None = None,
    project: Project | None = None,
    starts: Sequence[Mapping[str, Any]] = (),
    stays: Sequence[str] = (),
    **options: Unpack[CommandOptions],
) -> Path | None:
    """Push a notebook, wait for its run and bring its outputs home; returns their folder.

    notebook     the notebook; by default the metadata's code_file
    parameters   `name=value` strings, or a mapping of typed values
    accelerator  tpu, gpu, cpu or a machine shape, in place of the metadata's
    timeout      minutes that the session may take
    output       the folder for the outputs; default runs/<slug>-v<N>
    dry_run      show the preflight and what would be sent, and send nothing
    resume       `owner/slug/N` or "last": wait for and fetch an earlier push instead
    continues    attach what the kernel's last version left, for the notebook to go on from
    force        push though nothing changed, or though a run is active
    check_tpu    compile the run's programs for the TPU first, and stop where one does not fit;
                 `before_push` in [tool.kernelkit.tpu] asks for it at every push
    submit       a message: enter submission.csv into the competition and wait for its score
    project      the packages and settings, in place of those in pyproject.toml
    starts       the parameters of each run that the notebook starts, for the preflight
    stays        glob patterns of outputs that stay at Kaggle, until `fetch --only` asks for them
    options      what every command takes: see `CommandOptions`

    Returns None where nothing came home (`dry_run`, no `wait`). Raises the errors of
    `kernelkit.errors`, each with the exit code that the tool ends with.
    """
    context = in_project(project or plan.here(metadata or notebook), **options)
    if context.local and not wait:
        raise ParameterError(
            "a rehearsal's Kaggle lives as long as the command, so it cannot be left: drop "
            f"--no-wait, or start one that stays with {invocation.command('local')}"
        )
    if continues and resume is not None:
        raise ParameterError(
            "--resume waits for a push that was made, --continue makes another: choose one"
        )
    try:
        if resume is not None:
            return resuming.resume(context, resume, output, accelerator, submit)
        if output:
            claims.check_free(output)
        planned = plan.make(notebook, parameters, metadata, accelerator, timeout, project, starts)
        context = replace(context, catalogue=planned.catalogue)
        planned = tpu_preflight.look(context, planned, check_tpu)
        return _push(
            context,
            planned,
            output,
            submit,
            dry_run=dry_run,
            wait=wait,
            force=force,
            continues=continues,
            stays=stays,
        )
    except KernelkitError as error:
        _end(context, error)
    finally:
        context.events.end()


def _end(context: PushContext, error: KernelkitError) -> NoReturn:
    """Raise the same error without any secret in it; programs get the error as an event too."""
    message = context.events.clear(str(error))
    if context.events.as_json:
        context.events("error", message, exit_code=error.exit_code)
    message = f"[rehearsal] {message}" if context.events.rehearsal else message
    cleared = type(error)(message)
    cleared.announced = context.events.as_json
    raise cleared from None


def _push(
    context: PushContext,
    planned: Plan,
    output: Path | None,
    submit: str | None,
    *,
    dry_run: bool,
    wait: bool,
    force: bool,
    continues: bool,
    stays: Sequence[str],
) -> Path | None:
    _report_bundle(context, planned)
    if not dry_run:
        preflight.stop_on_errors(planned.findings)
    preflight.check_submission(planned.metadata, submit)
    try:
        with context.connect() as kaggle:
            planned = readiness.with_account(context, planned, kaggle)
            if not dry_run:
                preflight.stop_on_errors(planned.findings)
            if continues:
                planned = readiness.continuing(context, planned, kaggle)
            planned, wheels = attached_wheels.attach(context, planned, kaggle)
            if dry_run:
                readiness.check_account(context, planned, kaggle, force=force)
                _end_dry_run(context, planned)
                return None
            attached_wheels.upload(context, kaggle, wheels)
            kernel = Kernel(planned.metadata.owner, planned.metadata.slug)
            with context.alone_with(str(kernel)):  # the checks still hold when it is sent
                look_after_cut_off(context, kaggle, kernel)
                account = readiness.check_account(context, planned, kaggle, force=force)
                push = send(context, planned, kaggle, force=force)
                if stays:
                    push = context.ledger.update(push, stays=list(stays))
            if not wait:
                context.events("left", f"not waiting. {context.how_to_resume(push)}")
                return None
            text = planned.request.bundle.text
            return follow.follow(context, kaggle, push, output, text, account.quota, submit)
    except (CredentialsError, NetworkError) as error:
        if not dry_run:
            raise
        context.events("warning", f"the online checks were left out: {error}")
        _end_dry_run(context, planned)
        return None


def _report_bundle(context: PushContext, planned: Plan) -> None:
    """Report the bundle, its parameters and the findings of the offline preflight."""
    request = planned.request
    bundle = request.bundle
    carried = f" with {', '.join(bundle.packages)}" if bundle.packages else ""
    git = f"git {bundle.commit}" if bundle.commit.sha else "no git commit"
    size = f"{size_of(bundle.size)} of the {size_of(MAX_BYTES)} allowed"
    context.events(
        "bundle",
        f"{planned.metadata.code_file.name}{carried}, {git}, {size}",
        bytes=bundle.size,
        content=bundle.content,
        git=bundle.commit.sha,
        dirty=bundle.commit.dirty,
        parameters=dict(bundle.parameters),
    )
    if bundle.parameters:
        message = ", ".join(f"{name}={value}" for name, value in bundle.parameters.items())
        context.events("set", message)
    for finding in planned.findings:
        if finding.level != "error":  # an error ends the push, and the exception carries its text
            context.events(finding.level, finding.text)


def _end_dry_run(context: PushContext, planned: Plan) -> None:
    """End a dry run: report the request, then raise the errors that would have stopped it."""
    shown = {name: value for name, value in planned.save_fields.items() if name != "text"}
    lines = "\n".join(f"{name} = {value!r}" for name, value in shown.items())
    context.events("dry run", f"nothing was sent; this would be:\n{lines}", request=shown)
    preflight.stop_on_errors(planned.findings)


def list_pushes(runs: Path | None = None, *, as_json: bool = False) -> str:
    """The ledger of pushes as a table, or `as_json` one object a line.

    `runs` defaults to the folder of the present project.
    """
    where = runs or plan.here(None).root / RUNS
    pushes = ledgers.Ledger(where / LEDGER).pushes()
    if as_json:
        return "\n".join(json.dumps({"event": "listed", **asdict(push)}) for push in pushes)
    return safe_text.plain(ledgers.table(pushes))

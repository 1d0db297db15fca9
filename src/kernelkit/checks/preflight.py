"""The checks that need no network, each under the name that `--ignore` accepts.

Kaggle silently accepts many mistakes: a misspelt key, a source with a prefix, a machine that no
longer exists, an image that pins a TPU run to the CPU. These checks find each of them. The checks
of the kernel's settings are here; those of a push's contents are in `contents`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelkit import machines
from kernelkit.checks import contents
from kernelkit.checks.findings import Finding, error, warning
from kernelkit.errors import ParameterError, PreflightError, choice_of
from kernelkit.notebooks import pairs
from kernelkit.plans import plan as plans
from kernelkit.plans.metadata import KEYS, SHAPES, Metadata, bare_source
from kernelkit.plans.plan import Plan
from kernelkit.workspace.context import CommandOptions

NOT_READ = {
    "session_timeout": "give the time with --timeout MINUTES",
    "session_timeout_seconds": "give the time with --timeout MINUTES",
    "priority": "Kaggle's client does not send it",
    "accelerator": "it is called machine_shape",
}


class PlanOptions(CommandOptions, total=False):
    """The keyword arguments that define a push, in addition to those of every command.

    metadata     the kernel-metadata.json to use, instead of the notebook's own or the nearest
    accelerator  tpu, gpu, cpu or a machine shape, instead of the metadata's
    timeout      minutes that the session may take
    model        models to attach besides the metadata's, "owner/model/framework/variation/version"
    output       the folder for the outputs; default runs/SLUG-vN
    continues    attach the outputs of the kernel's last version, so that the notebook can resume
    force        push even if nothing changed or a run is active
    once         resume an identical earlier push instead of pushing again
    ignore       the names of checks whose errors become warnings: see `CHECKS`
    submit       a message: submit the result to the competition and wait for its score
    """

    metadata: Path | None
    accelerator: str | None
    timeout: float | None
    model: Sequence[str]
    output: Path | None
    continues: bool
    force: bool
    once: bool
    ignore: Sequence[str]
    submit: str | None


def keys(plan: Plan) -> Iterator[Finding]:
    """Keys that Kaggle's client would ignore, and values of the wrong type."""
    for key, value in plan.metadata.values.items():
        if key in NOT_READ:
            yield error(f"Kaggle ignores the key {key!r}: {NOT_READ[key]}")
        elif key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1)
            ignored = f"Kaggle ignores the unknown key {key!r}"
            yield error(f"{ignored}: did you mean {near[0]!r}?") if near else warning(ignored)
        elif value is not None and type(value) is not KEYS[key]:
            yield error(f"{key} must be a JSON {KEYS[key].__name__}, not {value!r}")


def identity(plan: Plan) -> Iterator[Finding]:
    """An id and a title that match, and that Kaggle accepts."""
    metadata = plan.metadata
    parts = str(metadata.values.get("id") or "").split("/")
    if parts == [""]:
        yield error('no id: write "id": "INSERT_USERNAME/slug-of-the-title"')
        return
    if len(parts) == 3 and parts[0].lower() == parts[1].lower():
        yield error(f"id {'/'.join(parts)!r} names its owner twice: write {'/'.join(parts[1:])!r}")
        return
    if len(parts) == 3:
        yield error(f"id {'/'.join(parts)!r} contains a version: write owner/slug")
        return
    if len(parts) != 2 or not all(re.fullmatch(r"[\w-]+", part) for part in parts):
        yield error(f"id {'/'.join(parts)!r} is not owner/slug")
        return
    if len(metadata.slug) < 5:
        yield error(f"the slug {metadata.slug!r} is shorter than Kaggle's five characters")
    if len(metadata.title) < 5:
        yield error(f"the title {metadata.title!r} is shorter than Kaggle's five characters")
        return
    from slugify import slugify  # as Kaggle's client derives it

    derived = slugify(metadata.title)
    if derived != metadata.slug.lower():
        yield error(
            f"Kaggle derives the slug from the title, and {metadata.title!r} gives {derived!r}, "
            f"not {metadata.slug!r}: the push would create another kernel"
        )


def code(plan: Plan) -> Iterator[Finding]:
    """The code file: its language, its type, and whether it exists."""
    metadata = plan.metadata
    language = metadata.values.get("language")
    kind = metadata.values.get("kernel_type")
    if language != "python":
        name = metadata.code_file.name
        yield error(f'language is {language!r}, and {name} is Python: write "language": "python"')
    if kind not in ("notebook", "script"):
        yield error(f'kernel_type is {kind!r}: kernelkit pushes a "notebook" or a "script"')
    if not metadata.values.get("code_file"):
        yield error("no code_file: name the notebook, relative to the metadata")
    elif not metadata.code_file.is_file():
        yield error(f"code_file {metadata.values['code_file']} is not there")
    if metadata.values.get("is_private") is False:
        yield warning("is_private is false: the notebook and its outputs will be public")


def pair(plan: Plan) -> Iterator[Finding]:
    """A notebook that differs from its paired `.py`."""
    notebook = plan.metadata.code_file
    if plan.metadata.is_script:
        return
    if difference := pairs.difference(notebook):
        yield error(difference)


def sources(plan: Plan) -> Iterator[Finding]:
    """Sources in a form that Kaggle drops or refuses, and duplicates."""
    for kind, (pattern, form) in SHAPES.items():
        sources = plan.metadata.sources(kind)
        written = plan.metadata.values.get(f"{kind}_sources")
        for source in written if isinstance(written, list) else ():
            if source == "":
                yield warning(f"{kind}_sources contains '', which names nothing and is not sent")
            elif (bare := bare_source(kind, str(source))) != source:
                yield warning(
                    f"{kind}_sources: {source!r} is sent as {bare!r}, the form that Kaggle accepts"
                )
        for source in sources:
            parts = source.split("/")
            twice = parts[0].lower() == "".join(parts[1:2]).lower()
            if twice and len(parts) == (6 if kind == "model" else 3):
                bare = "/".join(parts[1:])
                yield error(f"{kind}_sources: {source!r} names its owner twice: write {bare!r}")
            elif not re.fullmatch(pattern, source):
                yield error(f"{kind}_sources: {source!r} is not {form}")
        for source in sorted({s for s in sources if sources.count(s) > 1}):
            yield warning(f"{kind}_sources: {source!r} is listed twice")


def machine(plan: Plan) -> Iterator[Finding]:
    """A machine that is retired or contradicts other settings, and a time beyond its limit."""
    try:
        machine = plan.metadata.machine
    except PreflightError as raised:
        yield error(str(raised))
        return
    values = plan.metadata.values
    if values.get("enable_gpu") and values.get("enable_tpu"):
        yield error("enable_gpu and enable_tpu are both true: choose one")
    for kind in ("gpu", "tpu"):
        if values.get(f"enable_{kind}") and machine.kind != kind:
            yield error(
                f"enable_{kind} is true, but machine_shape is {machine.shape} ({machine.words})"
            )
    if not machine.common:
        yield warning(
            f"{machine.shape} is listed for some accounts only; others get another machine"
        )
    minutes = plan.timeout_minutes
    limit = machines.LIMITS[machine.kind].hours_per_session * 60
    if minutes is not None and not minutes > 0:
        yield error(f"--timeout {minutes:g}: give a positive number of minutes")
    elif minutes is not None and minutes > limit:
        yield error(
            f"--timeout {minutes:g} exceeds Kaggle's limit for a {machine.kind.upper()} session: "
            f"{limit:g} minutes ({limit / 60:g} hours)"
        )


def image(plan: Plan) -> Iterator[Finding]:
    """A pinned image, which a TPU push never uses."""
    values = plan.metadata.values
    pinned = bool(values.get("docker_image"))
    pinning = values.get("docker_image_pinning_type")
    if pinning not in (None, "original", "latest"):
        yield error(f"docker_image_pinning_type is {pinning!r}: write original or latest")
    if plan.kind == "tpu" and (pinned or pinning == "original"):
        key = "docker_image" if pinned else "docker_image_pinning_type"
        yield error(f"{key} pins the image, and a TPU push would start the CPU image: remove it")
    elif pinned:
        yield warning("docker_image pins the image: newer packages will not reach this kernel")


CHECKS: dict[str, Callable[[Plan], Iterable[Finding]]] = {
    "keys": keys,
    "identity": identity,
    "code": code,
    "pair": pair,
    "sources": sources,
    "machine": machine,
    "image": image,
    "parameters": contents.parameters,
    "needs": contents.needs,
    "paths": contents.paths,
    "mounts": contents.mounts,
    "bundle": contents.bundle,
    "size": contents.size,
    "modules": contents.modules,
    "account-secrets": contents.account_secrets,
    "secrets": contents.leaking,
}
# Kaggle refuses what these refuse, or it should never be sent.
FINAL = ("size", "secrets")


def run_checks(plan: Plan, ignored: Collection[str] = ()) -> list[Finding]:
    """All findings of all checks, errors first; the errors of `ignored` checks become warnings.

    Raises `ParameterError` for a name in `ignored` that is unknown or cannot be ignored.
    """
    optional = [name for name in CHECKS if name not in FINAL]
    for name in ignored:
        if name not in optional:
            raise ParameterError(f"--ignore {name}: it takes {choice_of(optional)}")
    findings = [
        replace(finding, check=name, level="warning" if name in ignored else finding.level)
        for name, check in CHECKS.items()
        for finding in check(plan)
    ]
    return sorted(findings, key=lambda finding: finding.level)


def plan_and_check(
    notebook: Path | None,
    parameters: Sequence[str] | Mapping[str, Any],
    options: PlanOptions,
    **more: Any,
) -> tuple[Plan, list[Finding]]:
    """The plan of a push, and what the checks without a network find.

    `more`: other arguments of `plan.make`. Raises what that does.
    """
    plan = plans.make(
        notebook,
        parameters,
        options.get("metadata"),
        accelerator=options.get("accelerator"),
        timeout_minutes=options.get("timeout"),
        **more,
    )
    if models := options.get("model"):
        plan = plan.attaching("model", *models)
    ignored = options.get("ignore", ())
    findings = run_checks(plan, ignored)
    if "machine" in ignored:
        plan = replace(plan, metadata=replace(plan.metadata, any_machine=True))
    return plan, findings


def stop_on_errors(findings: Sequence[Finding]) -> None:
    """Raise one `PreflightError` that lists every error among the findings."""
    errors = [finding for finding in findings if finding.level == "error"]
    if not errors:
        return
    lines = [f"  - {finding.text}" for finding in errors]
    if names := sorted({f.check for f in errors} - {*FINAL, ""}):
        lines.append(f"To push anyway: {' '.join(f'--ignore {name}' for name in names)}")
    raise PreflightError("\n".join([f"the preflight found {len(errors)} to correct:", *lines]))


def check_submission(metadata: Metadata, submit: str | None) -> None:
    """Raise `PreflightError` if a result is to be submitted, but no competition is attached."""
    if submit is not None and not metadata.sources("competition"):
        raise PreflightError(
            f"--submit needs a competition: add it to competition_sources in {metadata.path.name}"
        )

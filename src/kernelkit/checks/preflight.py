"""The checks that need no network, each under the name that `--ignore` accepts.

Kaggle silently accepts many mistakes: a misspelt key, a source with a prefix, a machine that no
longer exists, an image that pins a TPU run to the CPU. These checks find each of them. The checks
of the kernel's settings are here; those of a push's contents are in `contents`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelkit import machines
from kernelkit.checks import contents
from kernelkit.checks.findings import Finding, error, warning
from kernelkit.errors import NotebookError, ParameterError, PreflightError, choice_of, nearest
from kernelkit.kaggle_api.client import SOURCES
from kernelkit.notebooks import document, rules
from kernelkit.plans import plan as plans
from kernelkit.plans.metadata import KEYS, SHAPES, Metadata
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
            hint = nearest(key, KEYS)
            near = hint.startswith("did you mean")
            ignored = f"Kaggle ignores the unknown key {key!r}"
            yield error(f"{ignored}: {hint}") if near else warning(ignored)
        elif value is not None and type(value) is not KEYS[key]:
            yield error(f"{key} must be a JSON {KEYS[key].__name__}, not {value!r}")


def identity(plan: Plan) -> Iterator[Finding]:
    """An id and a title that match, and that Kaggle accepts."""
    from slugify import slugify  # as Kaggle's client derives it

    metadata = plan.metadata
    name = str(metadata.values.get("id") or "")
    if not re.fullmatch(r"[\w-]+/[\w-]+", name):
        owner = name.partition("/")[0] if "/" in name else "INSERT_USERNAME"
        suggestion = f"{owner}/{slugify(metadata.title)}"
        yield error(f'id {name!r} is not OWNER/SLUG: write "{suggestion}"')
        return
    for kind, text in (("slug", metadata.slug), ("title", metadata.title)):
        if len(text) < 5:
            yield error(f"the {kind} {text!r} is shorter than Kaggle's five characters")
            return
    derived = slugify(metadata.title)
    if derived != metadata.slug.lower():
        yield error(
            f"Kaggle derives the slug from the title, and {metadata.title!r} gives {derived!r}, "
            f"not {metadata.slug!r}: the push would create another kernel"
        )


def code(plan: Plan) -> Iterator[Finding]:
    """The language and the type of the code file, and who will see it."""
    values = plan.metadata.values
    language, kind = values.get("language"), values.get("kernel_type")
    if language != "python":
        name = plan.metadata.code_file.name
        yield error(f'language is {language!r}, and {name} is Python: write "language": "python"')
    if kind not in ("notebook", "script"):
        yield error(f'kernel_type is {kind!r}: kernelkit pushes a "notebook" or a "script"')
    if values.get("is_private") is False:
        yield warning("is_private is false: the notebook and its outputs will be public")


def pair(plan: Plan) -> Iterator[Finding]:
    """A notebook that differs from its paired `.py`."""
    if difference := document.difference(plan.metadata.code_file):
        yield error(difference)


def sources(plan: Plan) -> Iterator[Finding]:
    """Sources in a form that Kaggle drops or refuses."""
    for kind, (pattern, form) in SHAPES.items():
        listed = plan.metadata.values.get(f"{kind}_sources")
        if isinstance(listed, list) and "" in listed:
            yield warning(f"{kind}_sources contains '', which names nothing and is not sent")
        for source in plan.metadata.sources(kind):
            if not re.fullmatch(pattern, source):
                once = re.sub(r"(?i)^([^/]+/)(?=\1)", "", source)  # without a second owner
                hint = f": write {once!r}" if re.fullmatch(pattern, once) else ""
                yield error(f"{kind}_sources: {source!r} is not {form}{hint}")


def machine(plan: Plan) -> Iterator[Finding]:
    """A machine that is retired or contradicts other settings, and a time beyond its limit."""
    values, machine = plan.metadata.values, plan.metadata.machine
    if machine.shape not in machines.BY_SHAPE:
        yield error(machines.unlisted_because(machine.shape))
        return
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
    limit = plan.metadata.minutes(None)
    if plan.timeout_minutes and plan.timeout_minutes > limit:
        yield error(
            f"--timeout {plan.timeout_minutes:g} exceeds Kaggle's limit for a "
            f"{machine.kind.upper()} session: {limit:g} minutes"
        )


def image(plan: Plan) -> Iterator[Finding]:
    """A pinned image, which a TPU push never uses."""
    pinned = bool(plan.metadata.values.get("docker_image"))
    pinning = plan.metadata.values.get("docker_image_pinning_type")
    if pinning not in (None, "original", "latest"):
        yield error(f"docker_image_pinning_type is {pinning!r}: write original or latest")
    if plan.kind == "tpu" and (pinned or pinning == "original"):
        key = "docker_image" if pinned else "docker_image_pinning_type"
        yield error(f"{key} pins the image, and a TPU push would start the CPU image: remove it")
    elif pinned:
        yield warning("docker_image pins the image: newer packages will not reach this kernel")


def parameters(plan: Plan) -> Iterator[Finding]:
    """Violations of the project's own rules by the parameters of each run."""
    if not plan.project.check:
        return
    attached = {kind: plan.metadata.sources(kind) for kind in SOURCES}
    notebook = plan.project.beside or plan.metadata.code_file
    try:
        answers = rules.problems(
            plan.project, notebook, plan.starts or (plan.parameters,), attached
        )
    except NotebookError as raised:
        yield error(str(raised))
        return
    yield from (error(text) for text in dict.fromkeys(text for lines in answers for text in lines))


def needs(plan: Plan) -> Iterator[Finding]:
    """Check that the metadata enables the internet, files and data that the parameters need."""
    metadata = plan.metadata
    has = {f"{name}={value}" for name, value in plan.values}
    pairs = plan.project.needs.items()
    needed = {need: pair for need, own in pairs for pair in own if pair in has}
    attached = any(map(metadata.sources, ("dataset", "model", "kernel")))
    internet, download = needed.get("internet"), not attached and needed.get("download")
    if metadata.online and (internet or download):
        yield warning("Kaggle ignores enable_internet for accounts without a verified phone")
    elif internet:
        yield error(f"{internet} needs the internet, which is off: set enable_internet to true")
    elif download:
        yield error(
            f"{download} downloads data that is not attached, and the internet is off: set "
            "enable_internet to true, or attach a dataset or model with the data"
        )
    if "competition" in needed and not metadata.sources("competition"):
        yield error(
            f"{needed['competition']} reads the competition's files: add it to competition_sources"
        )
    if "desk" in needed:
        yield error(f"{needed['desk']} works only locally: what it needs is not part of a push")
    if not metadata.online:
        yield from contents.downloads(plan)


CHECKS: dict[str, Callable[[Plan], Iterable[Finding]]] = {
    "keys": keys,
    "identity": identity,
    "code": code,
    "pair": pair,
    "sources": sources,
    "machine": machine,
    "image": image,
    "parameters": parameters,
    "needs": needs,
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
    return plan, run_checks(plan, options.get("ignore", ()))


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

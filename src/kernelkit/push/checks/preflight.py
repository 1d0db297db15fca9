"""The checks before a push: without a network, by the names that `--ignore` accepts; and on Kaggle.

Kaggle silently accepts many mistakes: a misspelt key, a source with a prefix, a machine that no
longer exists, an image that pins a TPU run to the CPU. These checks find each of them. The checks
of the kernel's settings are here; those of a push's contents are in `contents`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelkit import errors, machines
from kernelkit.kaggle.client import Kaggle, Kernel, Quota
from kernelkit.kaggle.context import PushContext
from kernelkit.notebook.parameters import Overrides
from kernelkit.push import plan as plans
from kernelkit.push.bundle.metadata import KEYS, SHAPES
from kernelkit.push.checks import contents, pytorch
from kernelkit.push.checks.annotations import annotate
from kernelkit.push.checks.findings import Finding, error, warning
from kernelkit.push.checks.inputs import PlanOptions, of_submission
from kernelkit.push.plan import Plan
from kernelkit.terminal.events import secrets_of_environment

LEAST_HOURS = 0.05  # starting a session uses up less quota than this
_ADDRESS = re.compile(r"kaggle\.com/(?:code/)?([\w-]+/[\w-]+)")
NOT_READ = {
    "session_timeout": "give the time with --timeout MINUTES",
    "session_timeout_seconds": "give the time with --timeout MINUTES",
    "priority": "Kaggle's client does not send it",
    "accelerator": "it is called machine_shape",
}


def keys(plan: Plan) -> Iterator[Finding]:
    """Keys that Kaggle's client would ignore, and values of the wrong type."""
    for key, value in plan.metadata.values.items():
        if key in NOT_READ:
            yield error(f"Kaggle ignores the key {key!r}: {NOT_READ[key]}")
        elif key not in KEYS:
            hint = errors.nearest(key, KEYS)
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
        if address := _ADDRESS.search(name):
            yield error(f'id {name!r} is an address: write "{address[1]}"')
            return
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
    if machines.is_kind(machine.shape):
        today = machines.BY_SHAPE[machines.TODAY[machine.kind]]
        yield warning(
            f"machine_shape {machine.shape!r} names no machine; `kaggle kernels pull -m` has "
            "written it. It is not known what Kaggle starts for it today: to be sure, write "
            f'"{today.shape}" ({today.words})'
        )
    elif machine.shape not in machines.BY_SHAPE:
        yield error(machines.unlisted_because(machine.shape))
        return
    if values.get("enable_gpu") and values.get("enable_tpu"):
        yield error("enable_gpu and enable_tpu are both true: choose one")
    for kind in ("gpu", "tpu"):
        if values.get(f"enable_{kind}") and machine.kind != kind:
            yield error(
                f"enable_{kind} is true, but machine_shape is {machine.shape} ({machine.words})"
            )
    if not machine.common and not machines.is_kind(machine.shape):
        yield warning(
            f"{machine.shape} is available to some accounts only; others get another machine"
        )
    limit = plan.metadata.minutes(None)
    if plan.timeout_minutes and plan.timeout_minutes > limit:
        yield error(
            f"--timeout {plan.timeout_minutes:g} exceeds Kaggle's limit for a "
            f"{machine.kind.upper()} session: {limit:g} minutes"
        )


def image(plan: Plan) -> Iterator[Finding]:
    """A pinned image, which a TPU push never uses."""
    pinned = plan.metadata.values.get("docker_image")
    pinning = plan.metadata.values.get("docker_image_pinning_type")
    if pinning not in (None, "original", "latest"):
        yield error(f"docker_image_pinning_type is {pinning!r}: write original or latest")
    if plan.kind == "tpu" and (pinned or pinning == "original"):
        key = "docker_image" if pinned else "docker_image_pinning_type"
        yield error(f"{key} pins the image, and a TPU push would start the CPU image: remove it")
    elif pinned:
        yield warning("docker_image pins the image: newer packages will not reach this kernel")


_CHECKS: Sequence[Callable[[Plan], Iterable[Finding]]] = (
    keys,
    identity,
    code,
    contents.pair,
    sources,
    machine,
    image,
    contents.parameters,
    contents.needs,
    contents.paths,
    contents.mounts,
    contents.bundle,
    contents.size,
    contents.modules,
    contents.account_secrets,
    pytorch.pytorch,
    contents.secrets,
)
CHECKS = {check.__name__.replace("_", "-"): check for check in _CHECKS}
# Kaggle refuses what these refuse, or it should never be sent.
FINAL = ("size", "secrets")
OPTIONAL = [name for name in CHECKS if name not in FINAL]


def run_checks(plan: Plan, ignored: Collection[str] = ()) -> list[Finding]:
    """All findings of all checks, errors first; the errors of `ignored` checks become warnings.

    Raises `ParameterError` for a name in `ignored` that is unknown or cannot be ignored.
    """
    for name in set(ignored).difference(OPTIONAL):
        raise errors.ParameterError(f"--ignore {name}: it takes {errors.choice_of(OPTIONAL)}")
    findings = [
        replace(
            finding,
            text=contents.in_lines(plan, finding.text),
            check=name,
            level="warning" if name in ignored else finding.level,
        )
        for name, check in CHECKS.items()
        for finding in check(plan)
    ]
    return sorted(findings, key=lambda finding: finding.level)


def plan_and_check(
    notebook: Path | None, parameters: Overrides, options: PlanOptions, **more: Any
) -> tuple[Plan, list[Finding]]:
    """The plan of a push, and what the checks without a network find.

    `more`: other arguments of `plan.make`. Raises what that does.
    """
    plan = plans.make(
        notebook,
        parameters,
        options.get("metadata"),
        options.get("accelerator"),
        options.get("timeout"),
        **more,
    )
    if models := options.get("model"):
        plan = plan.attaching("model", *models)
    findings = run_checks(plan, options.get("ignore", ()))
    if options.get("submit") is not None and not plan.metadata.sources("competition"):
        need = "--submit needs a competition: add one to competition_sources in "
        findings.insert(0, error(need + plan.metadata.path.name))
    return plan, findings


def stop_on_errors(findings: Sequence[Finding]) -> None:
    """Raise one `PreflightError` that lists every error among the findings."""
    wrong = [finding for finding in findings if finding.level == "error"]
    lines = [f"the preflight found {len(wrong)} to correct:", *(f"  - {f.text}" for f in wrong)]
    if names := sorted({finding.check for finding in wrong}.intersection(OPTIONAL)):
        lines.append(f"To push anyway: {' '.join(f'--ignore {name}' for name in names)}")
    if wrong:
        raise errors.PreflightError("\n".join(lines))


def report(context: PushContext, findings: Sequence[Finding]) -> None:
    """Report the warnings among the findings; raise one `PreflightError` for the errors."""
    annotate(findings)
    for finding in findings:
        if finding.level != "error":
            context.events(finding.level, finding.text)
    stop_on_errors(findings)


def with_account(context: PushContext, plan: Plan) -> tuple[Plan, list[Finding]]:
    """The plan under the account's name, and a finding for each of its secrets in the plan.

    In a rehearsal, any owner is replaced by the local Kaggle's user.
    """
    account = context.kaggle.connection
    plan = plan.owned_by(account.username, anyone=account.rehearses)
    return plan, contents.secrets(plan, [*account.secrets, *secrets_of_environment()])


def check_account(
    context: PushContext, plan: Plan, *, force: bool = False, submits: bool = False
) -> Quota | None:
    """Check whether Kaggle would refuse this plan, or run it beside another active run.

    With `submits`, also check whether it would refuse the submission after the run. Reports doubts
    and the requested machine; returns the quota of its kind, None for the CPU.

    Raises `CredentialsError`, `PreflightError` for another user's kernel or one that still runs,
    `CapacityError` if no quota or no session is left, and `NetworkError` when Kaggle cannot be
    reached. `force` allows the last two cases, except a quota of zero.
    """
    kaggle, kernel, machine = context.kaggle, plan.kernel, plan.metadata.machine
    if kernel.owner.lower() != kaggle.username.lower():
        raise errors.PreflightError(
            f"the id names {kernel.owner}'s kernel, but the credentials are {kaggle.username}'s: "
            f'write "id": "{kaggle.username}/{kernel.slug}", or INSERT_USERNAME as the owner'
        )
    # Without a version, Kaggle may still report the one before the ledger's last.
    last = context.ledger.last(str(kernel))
    doubts = [_active(kaggle, kernel, last.version if last else None, force)]
    doubts += of_submission(kaggle, plan) if submits else []
    doubts.append(_sessions(kaggle, kernel, machine.kind, force))
    quota = kaggle.quota(machine.kind) if machine.kind != "cpu" else None
    doubts.append(_quota(quota, plan) if quota else "")
    for text in filter(None, doubts):
        context.events("warning", text)
    remaining = f", {quota.left:.1f} h of quota left" if quota else ""
    time = f"{plan.hours:.1f} h" if plan.hours >= 1 else f"{60 * plan.hours:.3g} min"
    words = f"{machine.words} for at most {time}{remaining}"
    context.events("machine", words, shape=machine.shape)
    return quota


def _active(kaggle: Kaggle, kernel: Kernel, last: int | None, force: bool) -> str:
    """Whether the kernel still runs."""
    statuses = (kaggle.status(kernel, version) for version in dict.fromkeys((None, last)))
    status = next((s for s in statuses if s and s.alive), None)
    if status is None:
        return ""
    message = f"{kernel} is still {status.state}, and a second session would run at the same time"
    if not force:
        stored = kaggle.stored(kernel)
        reference = f"{kernel}/{stored.version}" if stored else f"{kernel}/N"
        raise errors.KernelBusyError(
            f"{message}, using quota twice: wait for it (kernelkit resume "
            f"{reference}), or push anyway (--force)"
        )
    return message


def _sessions(kaggle: Kaggle, kernel: Kernel, kind: machines.Kind, force: bool) -> str:
    """Whether other kernels of the account use all its sessions of this kind."""
    cap = machines.LIMITS[kind].sessions
    others = [other for other in kaggle.recent(kind) if str(other) != str(kernel)]
    alive = [
        str(other) for other in others if (status := kaggle.status(other, None)) and status.alive
    ]
    if len(alive) < cap:
        return ""
    message = f"Kaggle runs {cap} {kind.upper()} session(s) at once; now {', '.join(alive)}"
    if not force:
        raise errors.CapacityError(f"{message}: push again when it has ended")
    return message


def _quota(quota: Quota, plan: Plan) -> str:
    """Whether the week's hours may end before the run."""
    left = quota.remaining(plan.kind)
    if quota.left < LEAST_HOURS:
        raise errors.CapacityError(f"{left}: push again after Saturday 00:00 UTC, when they renew")
    shorter = f"limit it with --timeout {quota.left * 60:.0f}"
    short = quota.left < plan.hours
    return f"{left}, and the run may take {plan.hours:.1f}: {shorter}" if short else ""

"""The options that define a push, and what its inputs and some options need on Kaggle."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from kernelkit.errors import PreflightError
from kernelkit.kaggle.client import Kaggle, Kernel, accept_rules
from kernelkit.kaggle.context import CommandOptions, PushContext
from kernelkit.push.plan import Plan
from kernelkit.terminal.events import from_here

LOOKED_AT = 5  # versions of an own source to search for a complete one


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
    ignore       the names of checks whose errors become warnings: see `preflight.CHECKS`
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


def continuing(context: PushContext, plan: Plan) -> Plan:
    """The plan with the last version's outputs; raises `PreflightError` if there is no version."""
    kernel = plan.kernel
    if context.kaggle.stored(kernel) is None:
        raise PreflightError(f"{kernel} has no version to continue from: push without --continue")
    context.events("continues", f"with the outputs of the last complete version of {kernel}")
    return plan.attaching("kernel", str(kernel))


def own_sources(context: PushContext, plan: Plan) -> dict[str, int]:
    """The version of each of the account's own kernel sources that a session gets.

    That is the last complete one, or the one that the source pins ("me/features/3").

    Raises `PreflightError` for a source without outputs, since Kaggle would start the session
    without it; in a rehearsal its files may be in the catalogue.
    """
    kaggle, versions = context.kaggle, {}
    for source in plan.metadata.sources("kernel"):
        owner, slug, *pin = source.split("/")
        if owner.lower() != kaggle.username.lower():
            continue
        pinned = list(map(int, pin))
        stored = kaggle.stored(Kernel(owner, slug), *pinned)
        newest = stored.version if stored else 0
        latest = range(newest, max(0, newest - LOOKED_AT), -1)
        statuses = ((v, kaggle.status(Kernel(owner, slug), v)) for v in pinned or latest)
        complete = [v for v, status in statuses if status and status.state == "complete"]
        place = f"catalogue/kernels/{context.owner or owner}/{slug}"
        if complete:
            versions[source] = complete[0]
        elif not (context.local and (context.local / place).is_dir()) and (
            pinned or newest <= LOOKED_AT  # otherwise an older version may be complete
        ):
            files = (
                f", put its files into {from_here(context.local / place)}," if context.local else ""
            )
            raise PreflightError(
                f"kernel_sources: no version of {source} is complete, so it has no output to "
                "attach: push it first (--chain does, if it is in this repository) and wait for "
                f"its run{files} or take it out"
            )
    return versions


def of_submission(kaggle: Kaggle, plan: Plan) -> Iterator[str]:
    """Doubts that the plan's result can be submitted: the daily limit, rules not accepted.

    Raises `PreflightError` for what Kaggle would certainly refuse after the run.
    """
    slug = plan.metadata.sources("competition")[0]
    about = kaggle.repeated(partial(kaggle.calls.get_competition, slug))
    limits = kaggle.repeated(partial(kaggle.calls.get_submission_limits, slug))
    if about.submissions_disabled:
        raise PreflightError(f"{slug} accepts no submissions: push without --submit")
    if about.is_kernels_submissions_only and plan.metadata.online:
        raise PreflightError(
            f"{slug} only accepts notebooks without internet: set enable_internet to false in "
            f"{plan.metadata.path.name}"
        )
    if limits.num_total and not limits.num_allowed_now:
        yield f"{slug} accepts no more submissions before 00:00 UTC"
    if not about.user_has_entered:
        yield f"your account has not entered {slug}: {accept_rules(slug)}"

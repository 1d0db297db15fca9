"""Send a planned push: exactly one version, even if Kaggle's answer is lost or wrong.

Its line in the ledger is written before the request is sent. SaveKernel starts a session each time
it arrives, so it is never simply repeated. After each answer, and after a failure that leaves open
whether it arrived, the versions on Kaggle are searched for this push's number; the push is sent
again only if none shows it after a while.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelkit.errors import KernelkitError, PreflightError
from kernelkit.kaggle.client import Kaggle, Kernel, Saved, Stored
from kernelkit.kaggle.context import Push, PushContext, State
from kernelkit.kaggle.retries import Failure, FailureKind
from kernelkit.notebook.parameters import for_json
from kernelkit.push import proof, wheels
from kernelkit.push.bundle import build
from kernelkit.push.checks import compiled as tpu
from kernelkit.push.checks import preflight
from kernelkit.push.checks.inputs import continuing, own_sources
from kernelkit.push.plan import Plan
from kernelkit.terminal.events import from_here

LOOK_BACK = 5  # latest versions to search for an interrupted push
MOST_SENDS = 3


def prepare(context: PushContext, plan: Plan, *, continues: bool, upload: bool = True) -> Plan:
    """The plan under the account's name, checked for secrets, with everything attached, and
    uploaded unless `upload` is false."""
    plan, leaks = preflight.with_account(context, plan)
    preflight.stop_on_errors(leaks)
    if continues:
        plan = continuing(context, plan)
    if not plan.project.wheels:
        return plan
    return wheels.attach(context, plan, context.kaggle.username, uploads=upload)


def draft(context: PushContext, plan: Plan) -> Push:
    """The ledger's line for a push before it is sent; raises what `own_sources` raises."""
    bundle, kind, reads = plan.bundle, plan.kind, plan.metadata.sources("kernel")
    return Push(
        kernel=str(plan.kernel),
        content=plan.content,
        git=str(bundle.commit),
        accelerator=kind,
        parameters=for_json(bundle.parameters),
        timeout_minutes=plan.timeout_minutes,
        competition=next(iter(plan.metadata.sources("competition")), None),
        rehearsal=context.events.rehearsal,
        bundle=bundle.content,
        inputs=own_sources(context, plan) if reads else {},
        estimate=tpu.estimate(plan) if kind == "tpu" else {},
    )


def send(context: PushContext, plan: Plan, push: Push, *, force: bool) -> Push:
    """Push one version, as `push` drafts it.

    Raises `PreflightError` for a push that repeats another one, without `force`; `Failure`; and
    `RefusedError` for a run that is not the requested one.
    """
    if not force and (earlier := repeated(context, push)):
        _refuse_identical(context, earlier)
    push = context.ledger.begin(push)
    fields = plan.save_fields | {"text": build.stamped(plan.bundle.text, push.number)}
    try:
        saved = Sending(context.kaggle, plan.kernel, fields, context.timing.settle).once()
    except Failure as failure:
        if not _may_have_arrived(failure):
            context.ledger.update(push, state=State.REFUSED)
            raise
        raise failure.advising(
            "It is not known whether the push arrived. The next push of this kernel looks for it "
            f"first; you can also see https://www.kaggle.com/code/{push.kernel}"
        ) from None
    push = context.ledger.update(push, kernel=saved.ref, version=saved.version, state=State.QUEUED)
    facts = {"kernel": push.kernel, "version": saved.version, "url": saved.url}
    context.events("pushed", f"{push.kernel} version {saved.version}: {saved.url}", **facts)
    try:
        proof.check_saved(context, plan, saved)
    except KernelkitError:
        context.ledger.update(push, state=State.REFUSED)
        raise
    return push


def look_after_cut_off(context: PushContext, kernel: Kernel) -> None:
    """Find the version of the kernel's last push if that was interrupted while being sent.

    The caller holds `context.alone_with(kernel)`, because a push that another command is sending
    looks the same in the ledger. Raises `Failure`.
    """
    pushes = context.ledger.of(str(kernel))
    for push in pushes:
        lost_last = push is pushes[-1] and push.state == State.LOST
        if push.version or not (push.state == State.SENDING or lost_last):
            continue
        if push.state == State.SENDING:  # its request may still be on its way
            context.events("waiting", "until the interrupted push is certain to have arrived")
            context.timing.clock.sleep(sum(context.timing.settle))
        arrived = push.number and _arrived(context.kaggle, kernel, push.number)
        if not arrived:
            context.ledger.update(push, state=State.LOST)
            continue
        version, _ = arrived
        push = context.ledger.update(push, version=version, state=State.QUEUED)
        text = f"{push.reference}: the push was interrupted while being sent, and arrived"
        context.events("found", text, version=version)


def _arrived(
    kaggle: Kaggle, kernel: Kernel, number: str, after: int = 0
) -> tuple[int, Stored] | None:
    """The latest version after `after` with this push's number; None if there is none.

    Of several in a row it is the oldest, as later ones may be edits of it.
    """
    latest = kaggle.stored(kernel)
    newest = latest.version if latest else 0
    arrived = None
    for version in range(newest, max(after, newest - LOOK_BACK), -1):
        stored = kaggle.stored(kernel, version)
        if stored and build.number_of(stored.text) == number:
            arrived = version, stored
        elif arrived:
            break
    return arrived


def repeated(context: PushContext, push: Push, *, latest: bool = True) -> Push | None:
    """The kernel's last push, if this one has the same content and inputs and Kaggle still has it.

    `latest`: whether it must be the very last one, because others read its outputs. Failed pushes
    do not count, nor do those of an interrupted rehearsal, since their sessions ended with it.
    """
    useful = (State.UNFETCHED, State.COMPLETE, *(() if context.local else (State.QUEUED,)))
    pushes = reversed(context.ledger.of(push.kernel))
    good = [other for other in pushes if other.version and other.state in useful]
    for other in good[:1] if latest else good:
        if (other.content, other.inputs) == (push.content, push.inputs):
            stored = context.kaggle.stored(other.name, other.version)
            return other if stored and build.number_of(stored.text) == other.number else None
    return None


def _refuse_identical(context: PushContext, earlier: Push) -> None:
    """Raise `PreflightError` for a push that repeats `earlier`, or warn of it."""
    resume = context.resuming(earlier)
    if earlier.state != State.UNFETCHED:
        home = f" into {from_here(Path(earlier.folder))}" if earlier.folder else ""
        raise PreflightError(
            f"identical to {earlier.reference} ({earlier.state}): {resume} fetches that{home}, or "
            "push anyway with --force"
        )
    context.events(
        "warning",
        f"identical to {earlier.reference}, whose outputs are not all downloaded: {resume} "
        "fetches them without another run",
    )


class Sending:
    """One push on its way to Kaggle; its number in the request's `text` tells it from any other.

    `settle` are the pauses before each look for a push whose answer was lost.
    """

    def __init__(
        self, kaggle: Kaggle, kernel: Kernel, fields: Mapping[str, Any], settle: Sequence[float]
    ) -> None:
        self._kaggle, self._kernel, self._fields, self._settle = kaggle, kernel, fields, settle
        self._number = build.number_of(fields["text"])
        self._before = 0  # the kernel's version before the push

    def once(self) -> Saved:
        """Push a new version of the kernel, at most once.

        Raises `Failure`. After a network, server or malformed failure that was `sent`, it is
        unknown whether the push arrived; any other failure means that nothing runs.
        """
        try:
            stored = self._kaggle.stored(self._kernel)
        except Failure as failure:
            failure.sent = False
            raise
        self._before = stored.version if stored else 0
        failures: list[Failure] = []
        while True:
            try:
                saved = self._kaggle.save(self._fields)
            except Failure as failure:
                failures.append(failure)
                # The previous attempt may have arrived late, and be the reason for this refusal.
                if not failure.is_transient and len(failures) == 1:
                    raise
                try:
                    recovered = self._look(failure)
                except Failure:  # of the search, so it is still unknown whether any attempt arrived
                    raise next(filter(_may_have_arrived, failures), failure) from None
                if recovered:
                    return recovered
                if not failure.is_transient or len(failures) == MOST_SENDS:
                    raise
            else:
                return self._read_back(saved)

    def _read_back(self, saved: Saved) -> Saved:
        """The answer with the version as Kaggle stores it, or with this push's actual version.

        Raises `Failure` if Kaggle shows another push's version and none of this push.
        """
        here = self._kernel
        *_, owner, slug = ["", "", *saved.ref.strip("/").split("/")]
        elsewhere = here if f"{owner}/{slug}".lower() == str(here).lower() else Kernel(owner, slug)
        try:
            for pause in (0.0, *self._settle):
                self._kaggle.retries.clock.sleep(pause)
                shown = False
                for place in dict.fromkeys((elsewhere, here)):
                    stored = self._kaggle.stored(place, saved.version)
                    shown = shown or stored is not None
                    if stored and build.number_of(stored.text) == self._number:
                        return replace(saved, ref=str(place), stored=stored)
                if recovered := self._recovered(saved):
                    return recovered
                if not shown:
                    return replace(saved, ref=str(here))
        except Failure:  # it arrived; the session's log proves the version
            return replace(saved, ref=str(here))
        raise Failure(
            FailureKind.MALFORMED,
            "SaveKernel",
            f"Kaggle's answer names version {saved.version}, which is another push's",
        )

    def _look(self, failure: Failure) -> Saved | None:
        """The version that a failed push created after all; polls until it would be visible."""
        retries = self._kaggle.retries
        for pause in self._settle if _may_have_arrived(failure) else self._settle[-1:]:
            end = retries.clock.now() + retries.patience
            retries.rest(failure, max(pause, failure.retry_after or 0.0), end)
            page = f"https://www.kaggle.com/code/{self._kernel}"
            if recovered := self._recovered(Saved(0, page)):
                return recovered
        return None

    def _recovered(self, saved: Saved) -> Saved | None:
        """The answer with the version that this push created, if Kaggle shows one."""
        arrived = _arrived(self._kaggle, self._kernel, self._number, self._before)
        if not arrived:
            return None
        version, stored = arrived
        return replace(saved, ref=str(self._kernel), version=version, stored=stored, recovered=True)


def _may_have_arrived(failure: Failure) -> bool:
    """Whether a failed SaveKernel may have started a session."""
    return failure.is_transient and failure.sent and failure.kind is not FailureKind.THROTTLED

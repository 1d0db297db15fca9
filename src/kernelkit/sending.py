"""Send a planned push, with its line in the ledger from before the request is out."""

from __future__ import annotations

from kernelkit import ledger as ledgers
from kernelkit import saving
from kernelkit.answers import Kernel, Saved
from kernelkit.client import Kaggle
from kernelkit.desk import Desk
from kernelkit.errors import PreflightError, RefusedError
from kernelkit.failures import Failure, Sort
from kernelkit.ledger import Push
from kernelkit.plan import Plan


def send(desk: Desk, planned: Plan, kaggle: Kaggle, *, force: bool) -> Push:
    """Push one version, with its line in the ledger from before the request is out."""
    kernel = Kernel(planned.metadata.owner, planned.metadata.slug)
    bundle = planned.wish.bundle
    push = Push(
        kernel=str(kernel),
        content=planned.content,
        git=str(bundle.commit),
        accelerator=planned.metadata.machine.kind,
        parameters=dict(bundle.parameters),
        timeout_minutes=planned.wish.timeout_minutes,
        competition=next(iter(planned.metadata.sources("competition")), None),
        rehearsal=desk.report.rehearsal,
    )
    if not force:
        _refuse_identical(desk, push, again=planned.metadata.continues)
    push = desk.ledger.begin(push)
    try:
        saved = saving.save_once(kaggle, kernel, planned.request, desk.pace.saving)
    except Failure as failure:
        unknown = failure.sort in (Sort.NETWORK, Sort.SERVER, Sort.MALFORMED) and failure.sent
        desk.ledger.update(push, state=ledgers.LOST if unknown else ledgers.REFUSED)
        error = failure.error()
        if unknown:
            raise type(error)(
                f"{error}. Whether the push arrived is not known: look at "
                f"https://www.kaggle.com/code/{kernel} before you push again"
            ) from None
        raise error from None
    push = desk.ledger.update(push, version=saved.version, state=ledgers.QUEUED)
    desk.report(
        "pushed",
        f"{kernel} version {saved.version}: {saved.url}",
        kernel=str(kernel),
        version=saved.version,
        url=saved.url,
    )
    _check_sources(desk, push, saved)
    return push


def _refuse_identical(desk: Desk, push: Push, *, again: bool) -> None:
    """Raise `PreflightError` for what was pushed before; `again`: it goes on from its own end."""
    earlier = desk.ledger.last(rehearsal=push.rehearsal, kernel=push.kernel)
    alive = (ledgers.SENDING, ledgers.QUEUED, ledgers.RUNNING)
    useful = alive if again else (*alive, ledgers.COMPLETE)
    if earlier and earlier.content == push.content and earlier.state in useful:
        raise PreflightError(
            f"identical to {earlier.reference} ({earlier.state}): fetch that with --resume, or "
            "push all the same with --force"
        )


def _check_sources(desk: Desk, push: Push, saved: Saved) -> None:
    if saved.recovered:
        desk.report("warning", "Kaggle's answer was lost on the way, but the version arrived")
    if saved.refused_tags:
        desk.report("warning", f"Kaggle does not know the keywords {list(saved.refused_tags)}")
    if not saved.refused_sources:
        return
    refused = ", ".join(saved.refused_sources)
    if saved.recovered:  # what Kaggle lists may be written otherwise than it was sent
        desk.report("warning", f"Kaggle does not list these sources: {refused}")
        return
    desk.ledger.update(push, state=ledgers.REFUSED)
    raise RefusedError(
        f"Kaggle refused {refused} and runs {push.reference} without: correct the sources "
        "(spelling, access, the competition's rules accepted) and push with --force, which "
        "starts a second session beside this one unless you delete the kernel"
    )

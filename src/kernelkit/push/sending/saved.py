"""Whether the version that Kaggle saved is what was sent: machine, sources and internet."""

import re
from collections.abc import Collection, Iterator, Sequence

from kernelkit.errors import RefusedError
from kernelkit.kaggle.answers import Saved, Stored
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.rehearsal import inputs
from kernelkit.terminal.events import WARNING


def check_saved(context: PushContext, plan: Plan, push: Push, saved: Saved) -> None:
    """Compare what Kaggle stored with what was sent; `push`: the plan's line in the ledger.

    What Kaggle omits or merely spells differently is a warning. Raises `RefusedError` for another
    machine than the requested one, and for sources that Kaggle refused.
    """
    stored = saved.stored
    refused = set(saved.refused_sources)
    similar = set[str]()
    if stored:
        missing, similar = _missing_and_similar(push.sources, stored)
        refused |= missing
    for text in _doubts(plan, saved, similar):
        context.events(WARNING, text)
    if stored:
        _check_machine(push, stored)
    if context.serves:
        unread = {source for source in refused if _is_unread(plan, source)}
        for source in sorted(unread):
            context.events(WARNING, _unread(source))
        refused -= unread
    if refused and context.serves:
        raise RefusedError(_not_there(sorted(refused)))
    _check_sources(push, refused)


def check_stored(push: Push, stored: Stored) -> None:
    """Compare the version that Kaggle stores with its line in the ledger, where no plan is at hand.

    Raises `RefusedError` as `check_saved` does.
    """
    _check_machine(push, stored)
    missing, _ = _missing_and_similar(push.sources, stored)
    _check_sources(push, missing)


def _check_machine(push: Push, stored: Stored) -> None:
    if stored.machine_shape and push.accelerator not in ("", stored.accelerator):
        raise RefusedError(_on_another_machine(push, stored.machine_shape))


def _check_sources(push: Push, refused: Collection[str]) -> None:
    if refused:
        raise RefusedError(_without_sources(push, sorted(refused)))


def _missing_and_similar(sources: Sequence[str], stored: Stored) -> tuple[set[str], set[str]]:
    """Those of these sources that Kaggle did not store, and those that it spells differently.

    It may append a version, or remove the one that was sent.
    """
    missing = set[str]()
    similar = set[str]()
    names = {source.lower() for source in stored.sources}
    if not names:  # it may have some all the same
        return missing, similar
    for source in sources:
        if source.lower() in names:
            continue
        if any(_is_below(source.lower(), name) for name in names):
            similar.add(source)
        else:
            missing.add(source)
    return missing, similar


def _is_unread(plan: Plan, source: str) -> bool:
    """Whether a source such as "competition slug" is a competition that no code names, so that a
    rehearsal can do without its files."""
    kind, _, slug = source.partition(" ")
    submits = plan.request.submit is not None
    if kind != "competition" or submits:
        return False
    named = re.compile(rf"(?i)\b{re.escape(slug)}\b").search
    return not any(named(text) for _, reading in plan.bundle.readings for text in reading.texts)


def _unread(source: str) -> str:
    return (
        f"the local Kaggle does not have {source}, which no code names: the session runs without "
        f"it. If the code finds its files by a search, {_get([source])}"
    )


def _is_below(source: str, other: str) -> bool:
    return source.startswith(f"{other}/") or other.startswith(f"{source}/")


def _doubts(plan: Plan, saved: Saved, similar: Collection[str]) -> Iterator[str]:
    """What Kaggle's answer leaves open; `similar` are sources that it spells differently."""
    metadata = plan.metadata
    stored = saved.stored
    if saved.recovered:
        yield "Kaggle's answer was lost or named another version, but the push arrived"
    if saved.ref.lower() != plan.kernel_name.lower():
        yield (
            f"Kaggle saved {plan.kernel} as {saved.ref}, because it makes the slug from the title: "
            f'write "id": "{saved.ref}" into {metadata.path.name}'
        )
    if saved.refused_tags:
        yield f"Kaggle does not know the keywords {list(saved.refused_tags)}"
    if similar:
        yield f"Kaggle names these sources differently: {', '.join(sorted(similar))}"
    if stored and not stored.sources and any(metadata.sources.values()):
        yield "Kaggle lists no sources for the stored version, although it may have some"
    if stored and metadata.online and not stored.internet:
        yield (
            "Kaggle does not confirm that the session has internet, as requested: an account "
            "without a verified phone gets none"
        )
    if stored and stored.internet and not metadata.online:
        yield "Kaggle gives the session internet, although it should have none"


def _on_another_machine(push: Push, shape: str) -> str:
    """What to do about a version that Kaggle saved for a machine of this shape."""
    kind = push.accelerator.upper()
    request = "request a machine that the account has with --accelerator"
    if not push.runs:
        return f"Kaggle saved {push.reference} for {shape}, not for a {kind}: {request}"
    return (
        f"Kaggle runs {push.reference} on {shape}, not on a {kind}: end its session with "
        f"`kernelkit stop {push.reference}`, and {request}"
    )


def _without_sources(push: Push, refused: Sequence[str]) -> str:
    """What to do about sources, such as "dataset owner/slug", that Kaggle refused."""
    names = ", ".join(refused)
    correct = "correct the sources (spelling, access, accepted rules)"
    if not push.runs:
        without = f"saved {push.reference} without them"
        return f"Kaggle refused {names} and {without}: {correct}, and repeat"
    return (
        f"Kaggle refused {names} and runs {push.reference} without them: {correct}, end its "
        f"session with `kernelkit stop {push.reference}`, and push again. With --force, the "
        "session goes on beside a second one"
    )


def _not_there(sources: Sequence[str]) -> str:
    """What to do about sources, such as "dataset owner/slug", that a rehearsal lacks."""
    return f"the local Kaggle does not have {', '.join(sources)}: {_get(sources)}"


def _get(sources: Sequence[str]) -> str:
    """How the files of these sources, such as "dataset owner/slug", come here for a rehearsal."""
    named = []
    for source in sources:
        kind, _, name = source.partition(" ")
        named.append((kind, name))
    return f"fetch it from Kaggle with --download, or {inputs.where_to_put(named)}"

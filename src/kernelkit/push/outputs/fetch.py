"""Fetch the files of a push into its folder, and tell what came, what stayed, and what is doubtful.

The files are downloaded by `output_downloads`; where each stands is said in `output_names`.
"""

import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from kernelkit.files import from_here, size_of
from kernelkit.kaggle.answers import Outputs
from kernelkit.kaggle.exchange.transfers import Expected
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.outputs import chosen_outputs, output_names
from kernelkit.push.outputs.chosen_outputs import GIT, is_kits, listed
from kernelkit.push.outputs.output_downloads import OutputDownloads
from kernelkit.session_records.session_manifest import Manifest
from kernelkit.shown import duration
from kernelkit.terminal.events import Event

FETCHED = Event("fetched", quiet=True)
STAYS = Event("stays")
UNVERIFIED = Event("unverified", quiet=True)
ESCAPED = Event("renamed", quiet=True)


def fetch(
    context: PushContext,
    push: Push,
    folder: Path,
    outputs: Outputs,
    manifest: Manifest | None = None,
    only: Sequence[str] = (),
) -> dict[str, int]:
    """Download the files of a push's `outputs` into `folder`; returns the bytes of each.

    `manifest`: the session's list of its files, to verify them; other files are downloaded too, and
    reported as unverified. `only`: glob patterns of the files to download. Without them, these are
    all files except those that the push leaves on Kaggle. What makes a git repository is only
    downloaded for a pattern that has `.git` in it or is its name. Files from an earlier download of
    the same session are kept if they are unchanged. What the kit itself recorded in the session is
    downloaded as well, but neither returned nor counted.

    Raises `OutputsError` that names the missing files; everything else is in its place then.
    """
    clock = context.timing.clock
    begun = clock.now()
    recorded = manifest.files if manifest else {}
    expected = {
        output_names.normal(name): Expected(file.size, file.sha256)
        for name, file in recorded.items()
    }
    verified = {name for name, file in expected.items() if file.sha256}
    links = output_names.by_path(outputs.files)
    verified_first = sorted(links, key=lambda name: name not in verified)
    met = output_names.meeting(verified_first, output_names.told_apart_in(folder))

    names = chosen_outputs.of_session(links, expected)
    of_git = chosen_outputs.of_repositories(names)
    if of_git and not only:
        _tell_repositories(context, push, of_git)
    names = chosen_outputs.without_repositories(names, of_git, only)
    chosen = chosen_outputs.chosen(names, only, push.stays)

    downloads = OutputDownloads(context, push, folder, links, met)
    every = downloads.all({name: expected.get(name, Expected()) for name in chosen})
    _tell_escaped(context, downloads, every)
    # The report shows what the session recorded; these are the run's own.
    fetched = {name: size for name, size in every.items() if not is_kits(name)}
    size = f"{size_of(sum(fetched.values()))} in {duration(clock.wall(clock.now() - begun))}"
    count = len([name for name in names if not is_kits(name)])
    text = f"{len(fetched)} of {count} files, {size}: {from_here(folder)}"
    context.events(FETCHED, text, files=fetched, folder=str(folder))
    if len(fetched) < count and not only:
        options = " ".join(f"--only {shlex.quote(pattern)}" for pattern in push.stays)
        text = f"{context.resuming(push)} {options} downloads the others"
        context.events(STAYS, f"files that only sessions use stay on Kaggle: {text}")
    doubtful = [name for name in fetched if name not in verified]
    if doubtful:
        why = "the session left no manifest"
        if manifest:
            why = "the session's manifest does not name or hash what is there"
        _tell_doubtful(context, doubtful, why)
    return fetched


def _tell_repositories(context: PushContext, push: Push, of_git: Collection[str]) -> None:
    """Tell which files of git repositories stay on Kaggle, and why."""
    command = f"{context.resuming(push)} --only"
    many = "1 file" if len(of_git) == 1 else f"{len(of_git)} files"
    context.events(
        STAYS,
        f"{many} of git repositories stay on Kaggle, because git would run what their settings "
        f"name ({listed(sorted(of_git))}): {command} '*{GIT}/*' downloads what is in {GIT}, "
        f"and {command} PATH any other",
    )


def _tell_escaped(context: PushContext, downloads: OutputDownloads, fetched: Iterable[str]) -> None:
    """Tell which files stand under an escaped name."""
    escaped = [name for name in fetched if downloads.place_of(name).parent == downloads.aside]
    if escaped:
        words = f"{len(escaped)} files have names that cannot be here, and stand in"
        if len(escaped) == 1:
            words = "1 file has a name that cannot be here, and stands in"
        text = f"{words} {from_here(downloads.aside)}: {listed(escaped)}"
        context.events(ESCAPED, text, files=escaped)


def _tell_doubtful(context: PushContext, doubtful: Sequence[str], why: str) -> None:
    """Tell which files are not proved to be this push's."""
    many = "1 file" if len(doubtful) == 1 else f"{len(doubtful)} files"
    words = f"{many} may come from another run, since {why}: {listed(doubtful)}"
    context.events(UNVERIFIED, words, files=doubtful)

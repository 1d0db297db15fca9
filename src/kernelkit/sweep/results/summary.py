"""What a sweep says at its end: how many runs are done, the best of them, and what failed."""

from collections import Counter
from collections.abc import Iterator, Sequence

from kernelkit.errors import RunFailedError
from kernelkit.files import file_address
from kernelkit.pages.many_runs.runs_page import RunsPage, ShownRun
from kernelkit.pages.shared import trail
from kernelkit.session_records import proved
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.planning.read_sweep import NAME_SCORE
from kernelkit.sweep.results import ranking

LISTED = 20  # failed runs named in the final message


def summary(page: RunsPage, command: str, *, in_own_folders: bool) -> str:
    """The runs by their states, the best, or why none is, and the address of the page.

    command         what does the runs that are left, in words
    in_own_folders  whether each run works in its own folder
    """
    states = Counter(run.state for run in page.runs)
    counts = f"{states[sweep_folder.DONE]} of {len(page.runs)} runs done"
    if pruned := states[sweep_folder.PRUNED]:
        counts += f", {pruned} pruned"
    if remaining := sum(states[state] for state in sweep_folder.UNFINISHED):
        counts += f", {remaining} left: {command} continues with them"
    of_scores = _best(page) if ranking.scored(page) else _no_score(page, in_own_folders)
    return "\n".join([counts, *of_scores, file_address(page.folder / trail.INDEX)])


def _best(page: RunsPage) -> Iterator[str]:
    best = ranking.best(page)
    if best is None:
        yield "no best: each configuration was validated on other data"
        return
    score = f"{best.score:.4f}"
    if not best.verified:
        score = proved.marked(score)
    yield f"best {page.shown.score} {score}  {best.setting}".rstrip()


def _no_score(page: RunsPage, in_own_folders: bool) -> Iterator[str]:
    """What to do for a score; nothing if no run is done."""
    score = page.shown.score
    measures = ", ".join(sorted({name for run in page.runs for name in run.metrics}))
    if measures:
        reason = f"no run has the score {score!r}" if score else f"no score: {NAME_SCORE}"
        yield f"{reason}; the measures are: {measures}"
    elif any(run.state == sweep_folder.DONE for run in page.runs):
        printed = f" or printed {score!r}" if score else ""
        place = "the working directory" if in_own_folders else "the folder in the parameter output"
        yield (
            f"no run left a metrics.json in its folder{printed}: write it to {place}, or print "
            "the score after its name"
        )


def refuse_failed(runs: Sequence[ShownRun]) -> None:
    """Raise `RunFailedError` with a list of the runs that failed, if any did."""
    failed = [run for run in runs if run.state in sweep_folder.ENDED_BADLY]
    if not failed:
        return
    pending = sum(run.state == sweep_folder.PENDING for run in runs)
    rest = f", and the {pending} that did not begin" if pending else ""
    count = f"{len(failed)} of {len(runs)}"
    lines = [f"{count} runs failed; --retry-failed runs them again{rest}:"]
    for run in failed[:LISTED]:
        reason = run.reason or "without a message"
        lines += [f"  {run.id} {run.state}  {run.name}", f"    {reason}"]
    raise RunFailedError("\n".join(lines))

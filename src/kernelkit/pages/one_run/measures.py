"""What a run measured, as a report has it: cards, tables, and the scores of its submissions."""

from collections.abc import Mapping
from pathlib import Path

from kernelkit.pages.shared.sections import texts, written
from kernelkit.runs import submitted
from kernelkit.scores.metrics import Metrics
from kernelkit.session_records import proved
from kernelkit.shown import Shown
from kernelkit.terminal import safe_text

Pairs = list[tuple[str, str]]  # (label, text)
CARDS = 4  # measures that stand first


def cards(metrics: Metrics, shown: Shown, folder: Path) -> Pairs:
    """(label, text) of the first measures, and of the score of the run's submission."""
    numbers = metrics.numbers
    order = sorted(shown.texts(numbers), key=lambda name: name != shown.score)
    first = {name: numbers[name] for name in order[:CARDS]}
    own = _measures(metrics, first, shown, folder)
    scored = [each for each in submitted.read(folder) if each.score]
    if scored:
        own.append((f"score in {scored[-1].shown_competition}", scored[-1].score))
    return own


def tables(metrics: Metrics, shown: Shown, folder: Path) -> dict[str, Pairs]:
    """{caption: the rows} of the other measures, of the machine, and of the versions."""
    first = cards(metrics, shown, folder)
    measured = _measures(metrics, metrics.numbers, shown, folder)
    return {
        "Measures": [each for each in measured if each not in first],
        "Machine": texts(metrics.table("device")),
        "Versions": texts(metrics.versions),
    }


def _measures(metrics: Metrics, numbers: Mapping[str, float], shown: Shown, folder: Path) -> Pairs:
    """(label, text) of measures of a run; the label says so where they are not verified."""
    pairs = list(shown.texts(numbers).values())
    if metrics.doubt(folder):
        return [(proved.marked(label), text) for label, text in pairs]
    return pairs


def submissions(folder: Path) -> list[dict[str, str]]:
    """{heading: text} of each submission of the run."""
    rows = []
    for each in submitted.read(folder):
        parameters = " ".join(f"{name}={written(v)}" for name, v in each.parameters.items())
        row = {
            "when": each.when[:16].replace("T", " "),
            "competition": each.shown_competition,
            "number": str(each.reference or ""),
            "message": each.message,
            "file": each.file,
            "SHA-256": each.sha256[:12],
            "commit": each.git,
            "parameters": parameters,
            "score": each.outcome,
            "rank then": each.standing,
        }
        rows.append({name: safe_text.plain(text) for name, text in row.items()})
    return rows

"""The results that a project expects of its runs on Kaggle, as rows of the doctor's table.

[[tool.kernelkit.expected]]
about = "the large model on the public photos"
measure = "accuracy"                        # of metrics.json
least = 0.99
data = "public-photos"                      # part of the data's name in the run; optional
parameters = { model = "large", tune = "none" }
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from kernelkit.project import ExpectedResult
from kernelkit.push.known.ledger import Push, State
from kernelkit.scores.metrics import Metrics
from kernelkit.start.assumptions import OTHER, SAME, UNTRIED, Judgement


def results(expected: Iterable[ExpectedResult], pushes: Iterable[Push]) -> Iterator[Judgement]:
    """A row for each expected result: the best of the pushed runs with its parameters.

    `pushes`: of the ledger, of which rehearsals do not count, nor do runs whose measures are not
    verified. A result that no run has tried is not tried.
    """
    measured = []
    for push in pushes:
        if push.rehearsal or push.state != State.COMPLETE or not push.folder:
            continue
        run = Metrics.of_run(Path(push.folder))
        if not run.doubt(Path(push.folder)):
            measured.append(run)
    for number, row in enumerate(expected, 1):
        values = [run.numbers[row.measure] for run in measured if _fits(run, row)]
        best = max(values, default=None)
        assumed = f"{row.measure} of at least {row.least}"
        if best is None:
            yield Judgement(f"expected.{number}", row.about, assumed, "", UNTRIED)
            continue
        verdict = SAME if best >= row.least else OTHER
        yield Judgement(f"expected.{number}", row.about, assumed, f"{best:.4f}", verdict)


def _fits(run: Metrics, row: ExpectedResult) -> bool:
    """Whether a run measured this, on this data, with these parameters."""
    same = all(run.parameters.get(name) == value for name, value in row.parameters.items())
    named = row.data.lower() in str(run.data).lower()
    return row.measure in run.numbers and same and named

"""A search instead of a grid: Optuna proposes runs, learns from their scores, and prunes.

    search:
      trials: 20
      sampler: tpe                 # tpe | random
      prune: true                  # stop runs that are behind: true | median | hyperband
      seed: 0
      space:
        dropout: {low: 0.0, high: 0.6}
        learning_rate: {low: 1e-4, high: 1e-2, log: true}
        schedule: [cosine, constant]

A search remembers nothing but its runs: each run in the sweep's folder that lies in the space
counts as one of its `trials`, whichever command made it. Pruning uses the column val_<score>, or
<score>, of a run's `history.csv`; without either, no run is stopped. If a point is proposed again,
another one is, until the space has no more; a sampler that repeats itself gives way to the next
point.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.scores import history
from kernelkit.scores.metrics import Metrics
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.planning.sweep_file import Axis, Range, Values
from kernelkit.sweep.search import space
from kernelkit.sweep.sweep_folder import Record, SweepFolder

SEEDS = 2**32  # that numpy's generators take
REPEATS = 4  # proposals in a row that may repeat points: a small space runs out of new ones


class Search:
    """Iterates over the runs to make: those that earlier commands left, then new points.

    Adds the points in the folder to `runs`, and then those proposed. `retry_failed` repeats points
    that failed or took too long.
    """

    def __init__(
        self,
        sweep: Specification,
        folder: SweepFolder,
        runs: list[PlannedRun],
        retry_failed: bool = False,
    ) -> None:
        self.optuna = _optuna()
        self._states = self.optuna.trial.TrialState
        self.sweep = sweep
        self.folder = folder
        self.runs = runs
        self.settings = space.settings_of(sweep)
        self.distributions = {
            name: self._distribution(name, axis) for name, axis in self.settings.space.items()
        }
        runs += space.points(folder, sweep)
        self._left = folder.remaining(runs, retry_failed)
        self.ended_before = len(runs) - len(self._left)
        self.study = self._study()
        self._flight: dict[str, Any] = {}  # trials by the ids of their runs
        self._reported: Counter[str] = Counter()  # epochs by the ids of their runs
        for run in runs:
            if run not in self._left:
                self._learn(run)

    def __iter__(self) -> Search:
        return self

    def __next__(self) -> PlannedRun:
        """The next run to make."""
        if self._left:
            run = self._left.pop(0)
            self._flight[run.id] = self._trial(run)
            return run
        repeats = 0
        while len(self.runs) < space.trials(self.sweep):
            if repeats > REPEATS and math.isfinite(space.size(self.sweep)):
                run = space.unseen(self.sweep, self.runs)
                trial = self._trial(run)
            else:
                trial = self.study.ask(self.distributions)
                run = self._proposed(trial)
            if run in self.runs:
                self.study.tell(trial, state=self._states.FAIL)
                repeats += 1
                continue
            self.runs.append(run)
            self._flight[run.id] = trial
            return run
        raise StopIteration

    def ended(self, run: PlannedRun, record: Record) -> None:
        """Report the result to the study, unless the next session continues the run."""
        trial = self._flight.pop(run.id)
        if record.state != sweep_folder.STOPPED:
            state, score = self._outcome(run, record)
            self.study.tell(trial, score, state)

    def hopeless(self, run: PlannedRun) -> str:
        """Report new epochs to the pruner; returns why the run should stop, or ""."""
        trial = self._flight[run.id]
        curve = self._curve(run)
        for step in range(self._reported[run.id], len(curve)):
            trial.report(curve[step], step)
            self._reported[run.id] = step + 1
            if trial.should_prune():
                return f"behind the others after {step + 1} epochs"
        return ""

    def _learn(self, run: PlannedRun) -> None:
        """Add a run that has ended to the study."""
        state, score = self._outcome(run, self.folder.record(run.id))
        ended = self.optuna.trial.create_trial(
            state=state,
            value=score,
            params=self._drawn(run),
            distributions=self.distributions,
            intermediate_values=dict(enumerate(self._curve(run))),
        )
        self.study.add_trial(ended)

    def _outcome(self, run: PlannedRun, record: Record) -> tuple[Any, float | None]:
        """The state of an ended run's trial, and its score if it is complete."""
        if record.state == sweep_folder.PRUNED:
            return self._states.PRUNED, None
        metrics = Metrics.of_run(self.folder.run_folder(run.id), self.sweep.score)
        score = metrics.numbers.get(self.sweep.score)
        if record.state == sweep_folder.DONE and score is not None:
            return self._states.COMPLETE, score
        return self._states.FAIL, None

    def _curve(self, run: PlannedRun) -> list[float]:
        """The score after each epoch so far."""
        return history.curve(self.folder.run_folder(run.id), self.sweep.score, otherwise=())

    def _trial(self, run: PlannedRun) -> Any:
        """A trial of this point."""
        self.study.enqueue_trial(self._drawn(run))
        return self.study.ask(self.distributions)

    def _drawn(self, run: PlannedRun) -> Values:
        """A point as Optuna draws it: a number of a range, the place of a choice."""
        drawn = {}
        for name, axis in self.settings.space.items():
            value = run.values[name]
            if not isinstance(axis, Range):
                value = space.choices(self.sweep, name, axis).index(value)
            drawn[name] = value
        return drawn

    def _proposed(self, trial: Any) -> PlannedRun:
        """The run of the point that Optuna drew for a trial."""
        point = {}
        for name, axis in self.settings.space.items():
            drawn = trial.params[name]
            point[name] = drawn if isinstance(axis, Range) else axis[drawn]
        return self.sweep.run(point)

    def _study(self) -> Any:
        # The number of points is part of the seed: a resumed search must not draw the same ones.
        seed = ((self.settings.seed or 0) + len(self.runs)) % SEEDS
        samplers = self.optuna.samplers
        random = self.settings.sampler == "random"
        sampler = samplers.RandomSampler if random else samplers.TPESampler
        return self.optuna.create_study(
            study_name=self.sweep.name,  # by which Hyperband divides the trials
            direction="minimize" if self.sweep.minimize else "maximize",
            sampler=sampler(seed=seed),
            pruner=self._pruner(),
        )

    def _pruner(self) -> Any:
        """Stops nothing, runs below the median, or those that Hyperband gives up."""
        chosen = self.settings.prune
        pruners = self.optuna.pruners
        if not chosen:
            return pruners.NopPruner()
        if chosen == space.HYPERBAND:
            return pruners.HyperbandPruner(min_resource=1, max_resource="auto", reduction_factor=3)
        return pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=3)

    def _distribution(self, name: str, axis: Axis) -> Any:
        distributions = self.optuna.distributions
        if not isinstance(axis, Range):
            return distributions.CategoricalDistribution(range(len(axis)))
        whole = self.sweep.declared[name].type is int
        kind = distributions.IntDistribution if whole else distributions.FloatDistribution
        return kind(**{key: value for key, value in vars(axis).items() if value is not None})


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ParameterError("a search needs Optuna: pip install optuna") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna

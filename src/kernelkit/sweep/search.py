"""A search instead of a grid: Optuna proposes runs, learns from their scores, and prunes.

    search:
      trials: 20
      sampler: tpe                 # tpe | random
      prune: true                  # stop runs that are behind the median at the same epoch
      seed: 0
      space:
        dropout: {low: 0.0, high: 0.6}
        learning_rate: {low: 1e-4, high: 1e-2, log: true}
        schedule: [cosine, constant]

The trials are in `search.db` in the sweep's folder, the runs in the same folders as for a grid.
Pruning uses the column val_<score>, or <score>, of a run's `history.csv`; without either, no run is
stopped. `trials` counts distinct points: if one is proposed again, its result is reused and another
is proposed.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.run_folders import history
from kernelkit.sweep import records, results, specification
from kernelkit.sweep.records import Record, SweepFolder
from kernelkit.sweep.specification import PlannedRun, Specification

KEYS = {"trials": int, "sampler": str, "prune": bool, "seed": int, "space": dict}
STORAGE = "search.db"
REPEATS = 4  # proposals per trial that may repeat points: a small space runs out of new ones


class Search:
    """Gives the engine one run after another; runs that a crash interrupted come first.

    Proposed points are added to `runs`. `retry_failed` repeats points that failed or took too long,
    `force` starts a new study.
    """

    def __init__(
        self,
        sweep: Specification,
        folder: SweepFolder,
        runs: list[PlannedRun],
        retry_failed: bool = False,
        force: bool = False,
    ) -> None:
        try:
            import optuna
        except ImportError:
            raise ParameterError("a search needs Optuna: pip install optuna") from None
        self.optuna = optuna
        self.optuna.logging.set_verbosity(self.optuna.logging.WARNING)
        self.sweep, self.folder, self.runs, self.force = sweep, folder, runs, force
        self.trials: int = sweep.search["trials"]
        self.space = {n: self._distribution(n, axis) for n, axis in sweep.search["space"].items()}
        self.study = self._study()
        self._flight: dict[str, Any] = {}
        self._reported: dict[str, int] = {}
        self._points: set[str] = set()  # ids of all runs that were proposed or had ended before
        self._unfinished = self._take_up(retry_failed)

    @property
    def ended_before(self) -> int:
        """The number of points that had ended when the search was resumed."""
        return len(self._points) - len(self._unfinished)

    def next(self) -> PlannedRun | None:
        """The next trial's run; the score of a point that has already run is recorded at once."""
        while self._unfinished:
            trial = self._unfinished.pop(0)
            run = self.sweep.run(trial.params)
            record = self.folder.record(run)
            if run.id not in self._flight and record.state not in (records.DONE, records.PRUNED):
                return self._begin(trial, run)
            self._tell(trial, run, record)
        proposed = len(self.study.get_trials(deepcopy=False))
        for _ in range(proposed, self.trials * (1 + REPEATS)):
            if len(self._points) >= self.trials:
                break
            trial = self.study.ask(self.space)
            run = self.sweep.run(trial.params)
            record = self.folder.record(run)
            if run.id in self._flight:  # the same point is already running
                self.study.tell(trial, state=self._states.FAIL)
            elif record.state in records.ENDED and not (self.force and run.id not in self._points):
                self._add(run)
                self._tell(trial, run, record)
            else:
                return self._begin(trial, run)
        return None

    def ended(self, run: PlannedRun, record: Record) -> None:
        """Report the result to the study, unless the next session continues the run."""
        trial = self._flight.pop(run.id)
        if record.state != records.STOPPED:
            self._tell(trial, run, record)

    def hopeless(self, run: PlannedRun) -> str:
        """Report new epochs to the pruner; returns why the run should stop, or ""."""
        trial = self._flight[run.id]
        _, curve = history.curve(self.folder.run_folder(run), self.sweep.score, ())
        for step in range(self._reported.get(run.id, 0), len(curve)):
            trial.report(curve[step], step)
            self._reported[run.id] = step + 1
            if trial.should_prune():
                return f"behind the others after {step + 1} epochs"
        return ""

    @property
    def _states(self) -> Any:
        return self.optuna.trial.TrialState

    def _study(self) -> Any:
        sweep, optuna, settings = self.sweep, self.optuna, self.sweep.search
        self.folder.path.mkdir(parents=True, exist_ok=True)
        storage = f"sqlite:///{(self.folder.path / STORAGE).resolve()}"
        # A hash of what all trials have in common; changing any of it starts a new study.
        shared = [sweep.code, sweep.base, settings["space"], sweep.score, sweep.minimize]
        digest = hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]
        name, pruners = f"{sweep.name}-{digest}", optuna.pruners
        if self.force and name in optuna.get_all_study_names(storage):
            optuna.delete_study(study_name=name, storage=storage)
        study = optuna.create_study(
            storage=storage,
            study_name=name,
            direction="minimize" if sweep.minimize else "maximize",
            load_if_exists=True,
            pruner=pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=3)
            if settings.get("prune")
            else pruners.NopPruner(),
        )
        random = settings.get("sampler") == "random"
        sampler = optuna.samplers.RandomSampler if random else optuna.samplers.TPESampler
        # The number of trials is part of the seed: a resumed search must not draw the same points.
        study.sampler = sampler(seed=settings.get("seed", 0) + len(study.trials))
        return study

    def _distribution(self, name: str, axis: Any) -> Any:
        distributions = self.optuna.distributions
        if isinstance(axis, list):
            return distributions.CategoricalDistribution(axis)
        whole = self.sweep.declared[name].type is int
        kind = distributions.IntDistribution if whole else distributions.FloatDistribution
        return kind(**axis)

    def _begin(self, trial: Any, run: PlannedRun) -> PlannedRun:
        if self.force:
            self.folder.forget(run)
        self._add(run)
        self._flight[run.id] = trial
        # The trial still has an earlier attempt's reports, and Optuna accepts each step once.
        self._reported[run.id] = len(self.study.trials[trial.number].intermediate_values)
        return run

    def _take_up(self, retry_failed: bool) -> list[Any]:
        """The trials to run first: interrupted when an earlier search ended, or to retry."""
        trial_of, unfinished, failed = self.optuna.trial.Trial, [], {}
        for frozen in self.study.trials:
            if set(frozen.params) != set(self.space):
                if not frozen.state.is_finished():
                    self.study.tell(frozen.number, state=self._states.FAIL)
                continue
            run = self.sweep.run(frozen.params)
            self._add(run)
            if not frozen.state.is_finished():
                unfinished.append(trial_of(self.study, frozen._trial_id))
            elif self.folder.record(run).state in records.ENDED_BADLY:
                failed[run.id] = frozen.params
        for params in failed.values() if retry_failed else ():
            again = self.optuna.trial.create_trial(
                state=self._states.RUNNING, params=params, distributions=self.space
            )
            self.study.add_trial(again)
            unfinished.append(trial_of(self.study, self.study.trials[-1]._trial_id))
        return unfinished

    def _add(self, run: PlannedRun) -> None:
        if run.id not in self._points:
            self._points.add(run.id)
            self.runs.append(run)

    def _tell(self, trial: Any, run: PlannedRun, record: Record) -> None:
        score = results.numbers(self.folder.run_folder(run)).get(self.sweep.score)
        if record.state == records.DONE and score is not None:
            self.study.tell(trial, score)
        else:
            pruned = record.state == records.PRUNED
            self.study.tell(trial, state=self._states.PRUNED if pruned else self._states.FAIL)


def check(sweep: Specification) -> None:
    """Check the `search` settings; raises `ParameterError` in one line."""
    settings = sweep.search
    specification.check_keys(settings, KEYS, "search")
    if (settings.get("trials") or 0) < 1 or not settings.get("space"):
        raise ParameterError("search needs trials (at least 1) and a space")
    if settings.get("sampler", "tpe") not in ("tpe", "random"):
        raise ParameterError(f"search: sampler {settings['sampler']!r} must be tpe or random")
    for name, axis in settings["space"].items():
        _check_axis(sweep, name, axis)


def _check_axis(sweep: Specification, name: str, axis: Any) -> None:
    if isinstance(axis, list) and axis:
        for value in axis:
            sweep.run({name: value})
        return
    keys = {"low", "high", "log", "step"}
    if not isinstance(axis, dict) or not {"low", "high"} <= set(axis) <= keys:
        raise ParameterError(
            f"search: {name} needs a list of choices, or {{low: …, high: …}} with log or step"
        )
    low, high = axis["low"], axis["high"]
    sweep.run({name: low})
    sweep.run({name: high})
    if sweep.declared[name].type not in (int, float):
        raise ParameterError(f"search: {name} is not a number, so it needs a list of choices")
    if not low < high or (axis.get("log") and low <= 0):
        raise ParameterError(f"search: {name} cannot range from {low} to {high}")

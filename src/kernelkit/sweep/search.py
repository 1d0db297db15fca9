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

The trials are in `search.db` in the sweep's folder, the runs in the same folders as for a grid.
Pruning uses the column val_<score>, or <score>, of a run's `history.csv`; without either, no run is
stopped. `trials` counts distinct points: if one is proposed again, its result is reused and another
is proposed, until the space has no more. A sampler that repeats itself gives way to the next point.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.notebook.parameters import for_json
from kernelkit.runs import history, measures
from kernelkit.runs.metrics import Metrics
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.specification import (
    Axis,
    PlannedRun,
    Range,
    SearchSettings,
    Specification,
    Values,
)
from kernelkit.sweep.sweep_folder import Record, SweepFolder

MEDIAN, HYPERBAND = "median", "hyperband"
STORAGE = "search.db"
REPEATS = 4  # proposals in a row that may repeat points: a small space runs out of new ones


class Search:
    """Iterates over the runs to make; those that a crash interrupted come first.

    Proposed points are added to `runs`. `retry_failed` repeats points that failed or took too long.
    """

    def __init__(
        self,
        sweep: Specification,
        folder: SweepFolder,
        runs: list[PlannedRun],
        retry_failed: bool = False,
    ) -> None:
        self.optuna = optuna = _optuna()
        self._states = optuna.trial.TrialState
        self.sweep = sweep
        self.folder = folder
        self.runs = runs
        self.settings = settings_of(sweep)
        self.space = {n: self._distribution(n, axis) for n, axis in self.settings.space.items()}
        self.study = self._study()
        self._flight: dict[str, Any] = {}  # trials by the ids of their runs
        self._reported: Counter[str] = Counter()  # epochs by the ids of their runs
        self._retried: set[str] = set()
        self._take_up(retry_failed)

    def __iter__(self) -> Search:
        return self

    def __next__(self) -> PlannedRun:
        """The next trial's run; the score of a point that has already run is recorded at once."""
        repeats = 0
        while self._waiting() or len(self.runs) < trials(self.sweep):
            if repeats > REPEATS and math.isfinite(size(self.sweep)):
                points = map(self._point, range(int(size(self.sweep))))
                unseen = next(point for point in points if self.sweep.run(point) not in self.runs)
                self.study.enqueue_trial(unseen)
            trial = self.study.ask(self.space)
            run = self.sweep.run(trial.params)
            record = self.folder.record(run)
            repeats += not self._add(run)
            if run.id in self._flight:  # the same point is already running
                self.study.tell(trial, state=self._states.FAIL)
                continue
            if record.state not in sweep_folder.ENDED or run.id in self._retried:
                self._retried.discard(run.id)
                self._flight[run.id] = trial
                return run
            self._tell(trial, run, record)
        raise StopIteration

    @property
    def ended_before(self) -> int:
        """The number of points that had ended when the search was resumed."""
        return len(self.runs) - self._waiting()

    def ended(self, run: PlannedRun, record: Record) -> None:
        """Report the result to the study, unless the next session continues the run."""
        trial = self._flight.pop(run.id)
        if record.state != sweep_folder.STOPPED:
            self._tell(trial, run, record)

    def hopeless(self, run: PlannedRun) -> str:
        """Report new epochs to the pruner; returns why the run should stop, or ""."""
        trial = self._flight[run.id]
        _, curve = history.curve(self.folder.run_folder(run), self.sweep.score, ())
        for step in range(self._reported[run.id], len(curve)):
            trial.report(curve[step], step)
            self._reported[run.id] = step + 1
            if trial.should_prune():
                return f"behind the others after {step + 1} epochs"
        return ""

    def _waiting(self) -> int:
        """The number of points that are to be run again."""
        return len(self.study.get_trials(deepcopy=False, states=[self._states.WAITING]))

    def _point(self, number: int) -> Values:
        """A point by its number: `itertools.product` would first copy axes like 2**31 seeds."""
        point = {}
        for name, axis in self.settings.space.items():
            number, place = divmod(number, int(_length(self.sweep, name, axis)))
            if isinstance(axis, Range):
                values = self.space[name]
                point[name] = min(values.low + place * values.step, values.high)
            else:
                point[name] = axis[place]
        return point

    def _study(self) -> Any:
        sweep = self.sweep
        optuna = self.optuna
        self.folder.path.mkdir(parents=True, exist_ok=True)
        study = optuna.create_study(
            storage=_address(self.folder.path / STORAGE),
            study_name=_study_name(sweep),
            direction="minimize" if sweep.minimize else "maximize",
            load_if_exists=True,
            pruner=self._pruner(),
        )
        # The number of trials is part of the seed: a resumed search must not draw the same points.
        seed = (self.settings.seed or 0) + len(study.trials)
        random = self.settings.sampler == "random"
        sampler = optuna.samplers.RandomSampler if random else optuna.samplers.TPESampler
        study.sampler = sampler(seed=seed)
        return study

    def _pruner(self) -> Any:
        """Stops nothing, runs below the median, or those that Hyperband gives up."""
        chosen = self.settings.prune
        pruners = self.optuna.pruners
        if not chosen:
            return pruners.NopPruner()
        if chosen == HYPERBAND:
            return pruners.HyperbandPruner(min_resource=1, max_resource="auto", reduction_factor=3)
        return pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=3)

    def _distribution(self, name: str, axis: Axis) -> Any:
        distributions = self.optuna.distributions
        if not isinstance(axis, Range):
            return distributions.CategoricalDistribution(axis)
        whole = self.sweep.declared[name].type is int
        kind = distributions.IntDistribution if whole else distributions.FloatDistribution
        return kind(**{key: value for key, value in vars(axis).items() if value is not None})

    def _take_up(self, retry_failed: bool) -> None:
        """Queue what an earlier search left: interrupted points, and those to retry."""
        for trial in self.study.trials:
            interrupted = trial.state == self._states.RUNNING
            if interrupted:
                self.study.tell(trial.number, state=self._states.FAIL)
            if set(trial.params) != set(self.space):  # it was interrupted before it was complete
                continue
            run = self.sweep.run(trial.params)
            self._add(run)
            failed = self.folder.record(run).state in sweep_folder.ENDED_BADLY
            again = retry_failed and failed and run.id not in self._retried
            if again:
                self._retried.add(run.id)
            if again or interrupted:
                self.study.enqueue_trial(trial.params)

    def _add(self, run: PlannedRun) -> bool:
        """Note a point among the runs; returns whether it is new."""
        if run in self.runs:
            return False
        self.runs.append(run)
        return True

    def _tell(self, trial: Any, run: PlannedRun, record: Record) -> None:
        metrics = measures.of_run(self.folder.run_folder(run), self.sweep.score) or Metrics()
        score = metrics.numbers.get(self.sweep.score)
        if record.state == sweep_folder.PRUNED:
            self.study.tell(trial, state=self._states.PRUNED)
        elif record.state == sweep_folder.DONE and score is not None:
            self.study.tell(trial, score)
        else:
            self.study.tell(trial, state=self._states.FAIL)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ParameterError("a search needs Optuna: pip install optuna") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _address(database: Path) -> str:
    return f"sqlite:///{database.resolve()}"


def _study_name(sweep: Specification) -> str:
    """A name with a hash of what all trials share; changing any of it starts a new study."""
    space = asdict(settings_of(sweep))["space"]
    shared = [sweep.code, for_json(sweep.base), space, sweep.score, sweep.minimize]
    digest = hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]
    return f"{sweep.name}-{digest}"


def forget(folder: SweepFolder, sweep: Specification) -> None:
    """Delete the trials of this search; those of other searches in the folder stay."""
    database = folder.path / STORAGE
    if database.is_file():
        with contextlib.suppress(KeyError):  # it has none
            _optuna().delete_study(study_name=_study_name(sweep), storage=_address(database))


def take_over(folder: SweepFolder, sweep: Specification, database: Path) -> None:
    """Replace the trials of this search by those in another database, as a session left it."""
    own = folder.path / STORAGE
    if not own.is_file():
        files.write_bytes(own, database.read_bytes())
        return
    forget(folder, sweep)
    name = _study_name(sweep)
    with contextlib.suppress(KeyError):  # a session that ended before it began the search
        _optuna().copy_study(
            from_study_name=name, from_storage=_address(database), to_storage=_address(own)
        )


def settings_of(sweep: Specification) -> SearchSettings:
    """The settings of a sweep that is a search; raises `ValueError` for another one."""
    if sweep.search is None:
        raise ValueError(f"{sweep.name} is no search")
    return sweep.search


def trials(sweep: Specification) -> int:
    """The runs of a search: as many as it asks for, or as its space has points if that is fewer."""
    return int(min(settings_of(sweep).trials, size(sweep)))


def size(sweep: Specification) -> float:
    """The number of points of the space, infinite if an axis is continuous."""
    return math.prod(_length(sweep, *axis) for axis in settings_of(sweep).space.items())


def _length(sweep: Specification, name: str, axis: Axis) -> float:
    if not isinstance(axis, Range):
        return len(axis)
    step = axis.step
    if not step and sweep.declared[name].type is int:
        step = 1
    if not step:
        return math.inf
    steps: int = math.floor((axis.high - axis.low) / step + 1e-9)
    return steps + 1


def points(folder: SweepFolder, sweep: Specification) -> list[PlannedRun]:
    """The runs in a folder that are points of this search, sorted by id."""
    space = settings_of(sweep).space
    runs = []
    for recorded, record in folder.recorded():
        if set(record.parameters) == {*sweep.base, *space}:
            run = sweep.run(record.parameters)
            inside = all(_holds(axis, run.values[name]) for name, axis in space.items())
            if inside and run.id == recorded.id:
                runs.append(run)
    return runs


def _holds(axis: Axis, value: Any) -> bool:
    """Whether a value is on an axis, which may have changed since the value was proposed."""
    if not isinstance(axis, Range):
        return value in axis
    beside = math.remainder(value - axis.low, axis.step) if axis.step else 0
    return bool(axis.low <= value <= axis.high and abs(beside) < 1e-9)


def samples(sweep: Specification) -> list[PlannedRun]:
    """Points that the search may propose, with every choice and both ends of every range."""
    choices = {name: _named(axis) for name, axis in settings_of(sweep).space.items()}
    runs = []
    for number in range(max(map(len, choices.values()))):
        point = {name: values[number % len(values)] for name, values in choices.items()}
        runs.append(sweep.run(point))
    return runs


def _named(axis: Axis) -> Sequence[Any]:
    """The values that a file names for an axis: its choices, or both ends of its range."""
    return [axis.low, axis.high] if isinstance(axis, Range) else axis


def check(sweep: Specification) -> None:
    """Check the `search` settings; raises `ParameterError` in one line."""
    settings = settings_of(sweep)
    if settings.trials < 1 or not settings.space:
        raise ParameterError("search needs trials (at least 1) and a space")
    if settings.sampler not in (None, "tpe", "random"):
        raise ParameterError(f"search: sampler {settings.sampler!r} must be tpe or random")
    if settings.prune not in (None, True, False, MEDIAN, HYPERBAND):
        raise ParameterError(
            f"search: prune {settings.prune!r} must be true, false, {MEDIAN} or {HYPERBAND}"
        )
    for name, axis in settings.space.items():
        values = _named(axis)
        ids = {sweep.run({name: value}).id for value in values}  # which checks the values, too
        if isinstance(axis, Range):
            _check_range(name, axis, sweep.declared[name].type is int)
        elif not values:
            raise ParameterError(
                f"search: {name} needs a list of choices, or {{low: …, high: …}} with log or step"
            )
        elif len(ids) < len(values):
            raise ParameterError(f"search: {name} lists a value twice: {axis}")


def _check_range(name: str, axis: Range, whole: bool) -> None:
    is_wrong = axis.low >= axis.high or (axis.step is not None and axis.step <= 0)
    if axis.log:
        is_wrong = is_wrong or axis.low <= 0 or bool(axis.step)
    if whole and isinstance(axis.step, float):
        is_wrong = True
    if is_wrong:
        given = {key: value for key, value in vars(axis).items() if value}
        raise ParameterError(
            f"search: {name} cannot range over {given}: low must be less than high, and step more "
            "than 0, a whole number if the parameter is one; log needs a low above 0 and no step"
        )

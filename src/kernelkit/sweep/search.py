"""A search in place of a grid: Optuna proposes runs, learns from their scores, and prunes.

    search:
      trials: 20
      sampler: tpe                 # tpe | random
      prune: true                  # stop runs that are behind the median at the same epoch
      seed: 0
      space:
        dropout: {low: 0.0, high: 0.6}
        learning_rate: {low: 1e-4, high: 1e-2, log: true}
        schedule: [cosine, constant]

The trials are in `search.db` of the sweep's folder, the runs in the same folders as a grid's.
Pruning goes by the column val_<score>, or <score>, of a run's `history.csv`; without either no
run is stopped. `trials` counts points: one that is proposed again gives its result at once, and
another is asked for.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.run_folders import history
from kernelkit.sweep.config.specification import PlannedRun, Specification
from kernelkit.sweep.store import records, results
from kernelkit.sweep.store.records import Record, SweepFolder

KEYS: dict[str, type] = {
    "trials": int,
    "sampler": str,
    "prune": bool,
    "seed": int,
    "space": dict,
}
RANGE = ("low", "high", "log", "step")
STORAGE = "search.db"
REPEATS = 4  # proposals a trial that may repeat earlier points: a small space runs out of new ones


class Search:
    """Gives the engine one run after another; runs that were in flight at a crash come first.

    `runs` are added to as points are proposed. `retry_failed` runs points again that failed or
    took too long, `force` begins anew.
    """

    def __init__(
        self,
        asked: Specification,
        folder: SweepFolder,
        runs: list[PlannedRun],
        *,
        retry_failed: bool = False,
        force: bool = False,
    ) -> None:
        optuna = _optuna()
        settings = check(asked)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.asked, self.folder, self.runs, self.force = asked, folder, runs, force
        self.trials: int = settings["trials"]
        self.space = {n: _distribution(asked, n, w) for n, w in settings["space"].items()}
        folder.path.mkdir(parents=True, exist_ok=True)
        path = Path(folder.path / STORAGE).resolve()
        storage, name = f"sqlite:///{path}", f"{asked.name}-{_digest(asked)}"
        if force and name in optuna.get_all_study_names(storage):
            optuna.delete_study(study_name=name, storage=storage)
        self.study = optuna.create_study(
            storage=storage,
            study_name=name,
            direction="minimize" if asked.minimize else "maximize",
            load_if_exists=True,
            pruner=(
                optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=3)
                if settings.get("prune")
                else optuna.pruners.NopPruner()
            ),
        )
        # Seeded by the number of trials: a resumed search must not draw the same points.
        seed = settings.get("seed", 0) + len(self.study.trials)
        random = settings.get("sampler", "tpe") == "random"
        sampler = optuna.samplers.RandomSampler if random else optuna.samplers.TPESampler
        self.study.sampler = sampler(seed=seed)
        self._flight: dict[str, Any] = {}
        self._reported: dict[str, int] = {}
        self._points: set[str] = set()  # ids of all runs that were handed out or known before
        self._unfinished = self._take_up(retry_failed)

    @property
    def ended_before(self) -> int:
        """How many points had ended when the search was taken up."""
        return len(self._points) - len(self._unfinished)

    def next(self) -> PlannedRun | None:
        """The next trial's run; the score of a point that was run before is recorded at once."""
        while self._unfinished:
            trial = self._unfinished.pop(0)
            run = self.asked.run(trial.params)
            record = self.folder.record(run)
            if run.id not in self._flight and record.state not in (records.DONE, records.PRUNED):
                return self._begin(trial, run)
            self._tell(trial, run, record)
        asked_before = len(self.study.get_trials(deepcopy=False))
        for _ in range(asked_before, self.trials * (1 + REPEATS)):
            if len(self._points) >= self.trials:
                break
            trial = self.study.ask(self.space)
            run = self.asked.run(trial.params)
            record = self.folder.record(run)
            if run.id in self._flight:
                self.study.tell(trial, state=_states().FAIL)  # the same point, under way already
            elif record.state in records.ENDED and not (self.force and run.id not in self._points):
                self._add(run)
                self._tell(trial, run, record)
            else:
                return self._begin(trial, run)
        return None

    def _begin(self, trial: Any, run: PlannedRun) -> PlannedRun:
        if self.force:
            self.folder.forget(run)
        self._add(run)
        self._flight[run.id] = trial
        # An earlier attempt's reports stay in the trial, and Optuna takes no step twice.
        self._reported[run.id] = len(self.study.trials[trial.number].intermediate_values)
        return run

    def ended(self, run: PlannedRun, record: Record) -> None:
        """Tell the study, except of a run that the next session goes on with."""
        trial = self._flight.pop(run.id)
        if record.state != records.STOPPED:
            self._tell(trial, run, record)

    def hopeless(self, run: PlannedRun) -> str:
        """Report new epochs to the pruner; returns why the run is to stop, "" if it is not."""
        trial, score = self._flight[run.id], self.asked.score
        _, curve = history.curve(self.folder.run_folder(run), history.of_score(score))
        for step in range(self._reported.get(run.id, 0), len(curve)):
            trial.report(curve[step], step)
            self._reported[run.id] = step + 1
            if trial.should_prune():
                return f"behind the others after {step + 1} epochs"
        return ""

    def _take_up(self, retry_failed: bool) -> list[Any]:
        """The trials to run first: in flight when an earlier search ended, or to retry."""
        optuna = _optuna()
        unfinished, failed = [], {}
        for frozen in self.study.trials:
            if set(frozen.params) != set(self.space):
                if not frozen.state.is_finished():
                    self.study.tell(frozen.number, state=_states().FAIL)
                continue
            run = self.asked.run(frozen.params)
            self._add(run)
            if not frozen.state.is_finished():
                unfinished.append(optuna.trial.Trial(self.study, frozen._trial_id))
            elif self.folder.record(run).state in records.ENDED_BADLY:
                failed[run.id] = frozen.params
        for params in failed.values() if retry_failed else ():
            again = optuna.trial.create_trial(
                state=_states().RUNNING, params=params, distributions=self.space
            )
            self.study.add_trial(again)
            number = self.study.trials[-1]._trial_id
            unfinished.append(optuna.trial.Trial(self.study, number))
        return unfinished

    def _add(self, run: PlannedRun) -> None:
        if run.id not in self._points:
            self._points.add(run.id)
            self.runs.append(run)

    def _tell(self, trial: Any, run: PlannedRun, record: Record) -> None:
        score = results.numbers(self.folder.run_folder(run)).get(self.asked.score)
        if record.state == records.DONE and score is not None:
            self.study.tell(trial, score)
        else:
            pruned = record.state == records.PRUNED
            self.study.tell(trial, state=_states().PRUNED if pruned else _states().FAIL)


def check(asked: Specification) -> dict[str, Any]:
    """The `search` settings, checked; raises `ParameterError` in one line."""
    settings = dict(asked.search)
    for key, value in settings.items():
        if key not in KEYS:
            near = difflib.get_close_matches(str(key), KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(KEYS)}"
            raise ParameterError(f"search has no key {key!r}: {hint}")
        if type(value) is not KEYS[key]:
            raise ParameterError(f"search: {key} has the wrong type: {value!r}")
    if settings.get("trials", 0) < 1 or not settings.get("space"):
        raise ParameterError("search needs trials (at least 1) and a space")
    if settings.get("sampler", "tpe") not in ("tpe", "random"):
        raise ParameterError(f"search: sampler {settings['sampler']!r}: tpe or random")
    for name, wanted in settings["space"].items():
        _check_range(asked, name, wanted)
    return settings


def _check_range(asked: Specification, name: str, wanted: Any) -> None:
    if isinstance(wanted, list) and wanted:
        for value in wanted:
            asked.run({name: value})
        return
    if not isinstance(wanted, dict) or not {"low", "high"} <= set(wanted) <= set(RANGE):
        raise ParameterError(
            f"search: {name} needs a list of choices, or {{low: …, high: …}} with log or step"
        )
    for bound in ("low", "high"):
        asked.run({name: wanted[bound]})
    if asked.known[name].type not in (int, float):
        raise ParameterError(f"search: {name} is no number, so it needs a list of choices")
    if not wanted["low"] < wanted["high"] or (wanted.get("log") and wanted["low"] <= 0):
        raise ParameterError(
            f"search: {name} has no range from {wanted['low']} to {wanted['high']}"
        )


def _distribution(asked: Specification, name: str, wanted: Any) -> Any:
    distributions = _optuna().distributions
    if isinstance(wanted, list):
        return distributions.CategoricalDistribution(wanted)
    options: Mapping[str, Any] = {k: v for k, v in wanted.items() if k in ("log", "step")}
    if asked.known[name].type is int:
        return distributions.IntDistribution(wanted["low"], wanted["high"], **options)
    return distributions.FloatDistribution(wanted["low"], wanted["high"], **options)


def _digest(asked: Specification) -> str:
    """A hash of what a study's trials have in common; a change of it begins another study."""
    message = json.dumps(
        [asked.code.digest, asked.base, asked.search["space"], asked.score, asked.minimize],
        sort_keys=True,
    )
    return hashlib.sha256(message.encode()).hexdigest()[:12]


def _states() -> Any:
    return _optuna().trial.TrialState


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ParameterError("a search needs Optuna: pip install optuna") from None
    return optuna

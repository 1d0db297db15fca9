"""A search: the same folders, the same resume, and runs given up when others are ahead."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from kernelkit.errors import ParameterError, RunFailedError
from kernelkit.sweep.search import search, space
from kernelkit.sweep.search.search import Search
from kernelkit.sweep.sweep_folder import DONE, FAILED, PRUNED, RUNNING, STOPPED, Record, SweepFolder

optuna = pytest.importorskip("optuna", reason="the extra `sweep` is not installed")

SPACE = "space: {a: {low: 0, high: 1000}, kind: [x, y]}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{{trails: 3, {SPACE}}}", "no key 'trails': did you mean trials?"),
        (f"{{{SPACE}}}", "search has no trials"),
        (f"{{trials: 0, {SPACE}}}", "needs trials (at least 1)"),
        (f"{{trials: 3, sampler: grid, {SPACE}}}", "sampler 'grid' must be tpe or random"),
        (f"{{trials: 3, prune: asha, {SPACE}}}", "prune 'asha' must be true, false, median or"),
        (f"{{trials: 3, prune: 1, {SPACE}}}", "prune of search has the wrong type: 1"),
        ("{trials: 3, space: {b: [1]}}", "no parameter 'b'"),
        ("{trials: 3, space: {a: [1, 2, 1]}}", "search: a lists a value twice"),
        ("{trials: 3, space: {a: {low: 5}}}", "a of space of search has no high"),
        ("{trials: 3, space: {a: []}}", "needs a list of choices, or"),
        ("{trials: 3, space: {a: 5}}", "the wrong type: 5; it takes a list or names with values"),
        ("{trials: 3, space: {a: {low: 5, high: 3}}}", "cannot range over {'low': 5, 'high': 3}"),
        ("{trials: 3, space: {a: {low: 0, high: 9, log: true}}}", "log needs a low above 0"),
        ("{trials: 3, space: {a: {low: 1, high: 9, log: true, step: 2}}}", "and no step"),
        ("{trials: 3, space: {a: {low: 1, high: 9, step: 0}}}", "step more than 0"),
        (
            "{trials: 3, space: {a: {low: 1, high: 9, step: .5}}}",
            "step more than 0, a whole number if the parameter is one",
        ),
        (
            "{trials: 3, space: {a: {low: 1, high: 9, steps: 2}}}",
            "has no key 'steps'",
        ),
        ("{trials: 3, space: {a: {low: 0, high: 9999}}}", "not allowed"),
        (
            "{trials: 3, space: {kind: {low: x, high: y}}}",
            "low of kind of space of search has the wrong type",
        ),
    ],
)
def test_a_wrong_search_is_refused_before_anything_runs(sweeps, text, message):
    with pytest.raises(ParameterError) as caught:
        sweeps.run(f"search: {text}")

    assert str(caught.value).startswith("tiny.yaml: ")
    assert message in str(caught.value)
    assert not sweeps.runs.exists()


def test_a_search_whose_axes_are_all_fixed_is_refused(sweeps):
    with pytest.raises(ParameterError, match="a space with an axis that is not fixed"):
        sweeps.run(f"search: {{trials: 3, {SPACE}}}", "a=3", "kind=x")


class Instant:
    """In the engine's place: runs that leave what they would have, at once."""

    crash_at = 0
    ends = MappingProxyType({})  # of some: {its number: its record}

    def __init__(self, sweep, folder, tell, report, search):
        self.folder, self.tell, self.search = folder, tell, search

    def work(self, runs, may_begin):
        for run in runs:
            self.started.append(run)
            self.folder.write(run.id, Record(RUNNING, dict(run.overrides)))
            if self.crash_at == len(self.started):
                raise KeyboardInterrupt
            place = self.folder.run_folder(run.id)
            place.mkdir(parents=True, exist_ok=True)
            score = run.values["a"] / 1000
            (place / "metrics.json").write_text(f'{{"macro_f1": {score}}}')
            lines = ["val_macro_f1", *[str(score)] * 6]
            (place / "history.csv").write_text("\n".join(lines))
            record = Record(DONE, seconds=1.0)
            if message := self.search.hopeless(run):
                record = Record(PRUNED, error=message)
            record = self.ends.get(len(self.started), record)
            record = replace(record, parameters=dict(run.overrides))
            self.folder.write(run.id, record)
            self.tell(run, record)
            self.search.ended(run, record)


@pytest.fixture
def instant(monkeypatch):
    from kernelkit.sweep import run_sweep as command

    monkeypatch.setattr(command, "Engine", Instant)
    monkeypatch.setattr(Instant, "started", [], raising=False)
    monkeypatch.setattr(Instant, "crash_at", 0)
    return Instant


@pytest.mark.parametrize(("sampler", "expected"), [("tpe", "TPE"), ("random", "Random")])
def test_the_sampler_is_that_of_the_file(sweeps, instant, monkeypatch, sampler, expected):
    studies = []
    monkeypatch.setattr(
        instant, "work", lambda engine, runs, may_begin: studies.append(engine.search.study)
    )

    sweeps.run(f"search: {{trials: 3, sampler: {sampler}, {SPACE}}}")

    assert type(studies[0].sampler).__name__ == f"{expected}Sampler"


@pytest.mark.long
def test_a_search_goes_on_where_it_was_cut_and_learns(sweeps, instant):
    text = f"search: {{trials: 30, seed: 3, {SPACE}}}"
    instant.crash_at = 4
    with pytest.raises(KeyboardInterrupt):
        sweeps.run(text)
    cut = instant.started[-1]

    instant.crash_at = 0
    sweeps.run(text)

    assert instant.started[4].id == cut.id  # what was in flight comes first
    rows = sweeps.rows()
    assert len(rows) == 30
    scores = [float(row["macro_f1"]) for row in rows]
    assert max(scores) > 0.9
    assert sum(scores[-10:]) / 10 > sum(scores[:10]) / 10


@pytest.mark.long
@pytest.mark.parametrize("lower_is_better", [False, True])
def test_a_run_that_is_behind_is_given_up(sweeps, instant, lower_is_better):
    minimize = "minimize: true\n" if lower_is_better else ""
    sweeps.run(f"{minimize}search: {{trials: 30, prune: true, {SPACE}}}")

    rows = sweeps.rows()
    pruned = [int(row["a"]) for row in rows if row["state"] == "pruned"]
    done = [int(row["a"]) for row in rows if row["state"] == "done"]
    assert pruned
    best = min if lower_is_better else max
    assert best(done) == best(done + pruned)
    assert f"best macro_f1 {best(done) / 1000:.4f}" in sweeps.message
    assert "behind the others after 4 epochs" in sweeps.message
    assert f"{len(done)} of 30 runs done, {len(pruned)} pruned" in sweeps.message


def test_a_dry_run_says_how_many_trials_ended_already(sweeps, instant):
    sweeps.run(f"search: {{trials: 3, {SPACE}}}")
    for trials in (3, 5):
        sweeps.run(f"search: {{trials: {trials}, {SPACE}}}", dry_run=True)
        line = f"a search over a, kind: {trials} runs, chosen as it goes, 3 ended already"
        assert sweeps.message.splitlines()[-1] == line


def test_a_dry_run_of_a_search_that_is_forced_counts_no_trial_as_ended(sweeps, instant):
    sweeps.run(f"search: {{trials: 3, {SPACE}}}")
    sweeps.run(f"search: {{trials: 3, {SPACE}}}", dry_run=True, force=True)
    assert sweeps.message.splitlines()[-1] == "a search over a, kind: 3 runs, chosen as it goes"


def test_without_a_history_of_the_score_no_run_is_given_up(sweeps, instant):
    sweeps.run(f"score: f1\nsearch: {{trials: 6, prune: true, {SPACE}}}")

    assert "6 of 6 runs done\n" in sweeps.message
    assert "no run has the score 'f1'; the measures are: macro_f1" in sweeps.message


@pytest.mark.parametrize(
    "a", ["[1, 2]", "{low: 1, high: 2, step: null}", "{low: 1, high: 3, step: 2}"]
)
def test_a_space_that_is_used_up_ends_the_search(sweeps, instant, a):
    sweeps.run(f"search: {{trials: 20, seed: null, space: {{a: {a}, kind: [x, y]}}}}")

    assert len({run.id for run in instant.started}) == len(instant.started) == 4
    assert "4 of 4 runs done" in sweeps.message
    assert "4/4" in sweeps.message


def test_a_search_finds_the_points_that_its_sampler_does_not_propose(sweeps, instant, monkeypatch):
    monkeypatch.setattr(search, "REPEATS", 1)
    only = {"a": 0.1, "kind": 0}  # of its choices, the first
    monkeypatch.setattr(
        "optuna.samplers.RandomSampler.sample_independent",
        lambda sampler, study, trial, name, distribution: only[name],
    )
    sweeps.notebook.write_text(sweeps.notebook.read_text().replace("a = 1 ", "a = 1.0 "))

    space = "{a: {low: 0.1, high: 0.4, step: 0.1}, kind: [x, y]}"
    sweeps.run(f"search: {{trials: 9, sampler: random, space: {space}}}")

    assert len({run.id for run in instant.started}) == len(instant.started) == 8
    assert "8 of 8 runs done" in sweeps.message


def test_a_search_counts_every_run_in_its_folder_that_lies_in_its_space(sweeps, instant):
    text = "search: {trials: 2, space: {kind: [x, y]}}"
    sweeps.run(text)
    sweeps.run(text, "a=7")
    assert len(instant.started) == 4

    sweeps.run("search: {trials: 4, space: {kind: [y, x], a: [1, 7]}}")

    assert len(instant.started) == 4
    assert "4 of 4 runs done" in sweeps.message


@pytest.mark.parametrize(
    ("axes", "inside"),
    [("{a: [1, 7]}", {1, 7}), ("{a: {low: 2, high: 8, step: 3}}", {2})],
)
def test_the_points_of_a_search_are_those_that_its_space_has_now(sweeps, axes, inside):
    sweeps.finish("grid: {a: [1, 2, 7, 11]}")
    sweep = sweeps.read(f"search: {{trials: 9, space: {axes}}}")

    points = space.points(SweepFolder(sweeps.runs), sweep)
    assert {run.values["a"] for run in points} == inside


def test_a_point_that_its_session_stopped_is_gone_on_with(sweeps, instant, monkeypatch):
    monkeypatch.setattr(instant, "ends", {2: Record(STOPPED)})
    for _ in range(2):
        sweeps.run(f"search: {{trials: 2, {SPACE}}}")

    assert instant.started[2:] == instant.started[1:2]
    assert "2 of 2 runs done" in sweeps.message


def test_a_run_that_ended_as_its_search_did_is_not_run_twice(sweeps, instant, monkeypatch):
    text = f"search: {{trials: 3, {SPACE}}}"
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(Search, "ended", lambda *_: 1 / 0)
        sweeps.run(text)

    sweeps.run(text)

    assert len(instant.started) == 3


def test_retry_failed_runs_those_points_again(sweeps, instant, monkeypatch):
    text = f"search: {{trials: 3, {SPACE}}}"
    failed = Record(FAILED, error="ValueError: withered")
    monkeypatch.setattr(instant, "ends", {1: failed, 3: failed})
    with pytest.raises(RunFailedError, match="2 of 3 runs failed; --retry-failed"):
        sweeps.run(text)
    with pytest.raises(RunFailedError):
        sweeps.run(text)
    assert len(instant.started) == 3

    sweeps.run(text, retry_failed=True)

    assert instant.started[3:] == instant.started[0:3:2]
    assert "3 of 3 runs done" in sweeps.message


def test_force_runs_all_points_again_and_no_other_run(sweeps, instant):
    text = f"search: {{trials: 3, {SPACE}}}"
    sweeps.run(text)
    other = SweepFolder(sweeps.runs).write(sweeps.read("grid: {a: [7]}").runs[0].id, Record(DONE))
    sweeps.run(text, force=True)

    assert instant.started[3:] == instant.started[:3]  # the same seed draws the same
    assert other in [record for _, record in SweepFolder(sweeps.runs).recorded()]


@pytest.mark.parametrize("seed", [-1, 2**40])
def test_any_whole_number_is_a_seed(sweeps, instant, seed):
    sweeps.run(f"search: {{trials: 1, seed: {seed}, {SPACE}}}")
    assert len(instant.started) == 1


def test_a_search_goes_on_in_a_folder_of_any_name(sweeps, instant):
    sweeps.runs /= "50% of {these}?"
    sweeps.run(f"search: {{trials: 1, {SPACE}}}")
    sweeps.run(f"search: {{trials: 2, {SPACE}}}")

    assert len(instant.started) == 2
    assert [path.name for path in sweeps.runs.parent.iterdir()] == [sweeps.runs.name]


def test_runs_that_the_notebook_no_longer_allows_do_not_hinder_its_search(sweeps, instant):
    sweeps.run("search: {trials: 1, space: {a: {low: 0, high: 9}}}")
    sweeps.notebook.write_text(
        sweeps.notebook.read_text().replace("a = 1  # [0,", "a = 11  # [10,")
    )

    sweeps.run("search: {trials: 1, space: {a: {low: 10, high: 19}}}", force=True)

    assert len(instant.started) == 2


def test_a_search_takes_up_choices_that_are_lists_in_its_file(sweeps, instant):
    source = sweeps.notebook.read_text().replace("seed = 0", "sizes = (8, 8)\nseed = 0", 1)
    sweeps.notebook.write_text(source)
    for _ in range(2):
        sweeps.run("search: {trials: 9, space: {sizes: [[8, 8], [16, 8]], kind: [x, y]}}")

    assert len(instant.started) == 4
    assert "4 of 4 runs done" in sweeps.message


def test_samples_have_every_choice_and_both_ends_of_a_range(sweeps):
    sweep = sweeps.read(
        "search: {trials: 2, space: {a: {low: 1, high: 9}, does: [score, slow, fail]}}"
    )
    points = [(run.values["a"], run.values["does"]) for run in space.samples(sweep)]
    assert points == [(1, "score"), (9, "slow"), (1, "fail")]


@pytest.mark.parametrize(
    ("prune", "expected"),
    [
        ("true", "MedianPruner"),
        ("median", "MedianPruner"),
        ("hyperband", "HyperbandPruner"),
        ("false", "NopPruner"),
    ],
)
def test_the_pruner_is_that_of_the_file(sweeps, instant, monkeypatch, prune, expected):
    studies = []
    monkeypatch.setattr(
        instant, "work", lambda engine, runs, may_begin: studies.append(engine.search.study)
    )

    sweeps.run(f"search: {{trials: 3, prune: {prune}, {SPACE}}}")

    assert type(studies[0].pruner).__name__ == expected


@pytest.mark.long
def test_hyperband_gives_up_runs_and_keeps_the_best(sweeps, instant):
    sweeps.run(f"search: {{trials: 30, seed: 1, prune: hyperband, {SPACE}}}")

    rows = sweeps.rows()
    pruned = [int(row["a"]) for row in rows if row["state"] == "pruned"]
    done = [int(row["a"]) for row in rows if row["state"] == "done"]
    assert pruned
    assert max(done) == max(done + pruned)

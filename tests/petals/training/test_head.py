"""The first phase by its settings: which head, from what, and what is kept of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from petals.errors import DataError, DivergedError
from petals.training import head
from petals.training.callbacks import Training
from petals.training.checkpoints import Checkpoint
from petals.training.features import Features
from petals.training.head import train_first_phase
from petals.training.optimization import set_seed

SETTINGS = {
    "validation": "val",
    "head": "logistic",
    "views": 2,
    "seed": 0,
    "fine_tune": "none",
    "schedule": "constant",
    "learning_rate": 0.2,
    "dropout": 0.0,
    "label_smoothing": 0.0,
    "weight_decay": 0.0,
}


class Head:
    units = 3
    weights = None

    def set_weights(self, weights):
        self.weights = weights

    def get_weights(self):
        return self.weights


class Kept:
    """Checkpoints that hold what they are given."""

    def __init__(self, phase="", arrays=()):
        self.saved = []
        self.newest = Checkpoint(phase, arrays=arrays)

    def save(self, phase, step, arrays, **facts):
        self.saved.append((phase, step, len(facts["history"])))


def extract(split, views):
    labels = np.repeat(np.arange(3), 30)
    rng = np.random.default_rng(1)
    values = np.eye(3)[labels][:, None] + 0.1 * rng.normal(size=(90, views, 3))
    extract.calls.append((split, views))
    return Features(values.astype(np.float32), labels, np.array([str(i) for i in range(90)]))


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(head, "HEAD_EPOCHS", 10)
    extract.calls = []
    set_seed(0)

    def run(kept, extract=extract, **changed):
        classifier, history = SimpleNamespace(head=Head()), []
        training = Training(history, checkpoints=kept)
        settings = {**SETTINGS, **changed}
        stopped = train_first_phase(classifier, extract, "train", "val", settings, training)
        return classifier.head, history, stopped

    return run


@pytest.mark.parametrize(
    ("head", "epochs", "steps"), [("logistic", 1, 1), ("gradient", 10, 20)], ids=lambda v: str(v)
)
def test_the_head_that_the_settings_name_is_trained_and_kept(run, head, epochs, steps):
    kept = Kept()
    trained, history, stopped = run(kept, head=head)

    assert stopped == ""
    assert len(history) == epochs
    assert history[-1]["val_macro_f1"] > 0.9
    assert [array.shape for array in trained.weights] == [(3, 3), (3,)]
    assert kept.saved == [("head", steps, epochs)]
    assert extract.calls == [("train", 2), ("val", 2)]


@pytest.mark.parametrize(
    ("fine_tune", "more"), [("none", ", or a lower learning_rate"), ("all", "")]
)
def test_a_head_that_diverges_says_what_changes_it(run, monkeypatch, fine_tune, more):
    monkeypatch.setattr(head, "apply_head", lambda *_: np.full((1, 3), np.nan))
    with pytest.raises(DivergedError) as error:
        run(Kept(), head="gradient", fine_tune=fine_tune)
    told = "head: training diverged in epoch 1: set head=logistic, whose solver does not diverge"
    assert str(error.value) == told + more


@pytest.mark.parametrize(
    ("changed", "softer"),
    [
        ({"label_smoothing": 0.1}, False),
        ({"fine_tune": "all"}, False),
        ({"fine_tune": "all", "label_smoothing": 0.1}, True),
        ({"fine_tune": "all", "label_smoothing": 0.1, "head": "gradient"}, False),
    ],
    ids=["head alone", "no smoothing", "both", "by gradients"],
)
def test_before_fine_tuning_the_head_is_made_as_sure_as_smoothed_labels_are(
    run, capsys, changed, softer
):
    run(Kept(), **changed)
    assert ("logits divided by" in capsys.readouterr().out) is softer


def test_a_head_of_a_checkpoint_is_taken_and_not_trained_again(run):
    arrays = [np.ones((3, 3)), np.zeros(3)]
    kept = Kept("head", arrays)
    trained, history, stopped = run(kept)

    assert (history, stopped, kept.saved, extract.calls) == ([], "", [], [])
    assert trained.weights == arrays


@pytest.mark.parametrize(
    ("kept", "changed"),
    [(Kept("fine-tune"), {}), (Kept(), {"head": "none"})],
    ids=["later", "none"],
)
def test_nothing_is_trained_where_the_head_is_past_or_not_asked_for(run, kept, changed):
    trained, history, _ = run(kept, **changed)

    assert trained.weights is None
    assert history == extract.calls == []


@pytest.mark.parametrize(
    ("changed", "rate"),
    [
        ({}, 0.2),
        ({"fine_tune": "all"}, 0.01),  # schedule and rate are those of fine-tuning
        ({"learning_rate": 0.0, "schedule": "exponential"}, 0.005 * 0.01 ** (3 / 20)),
    ],
)
def test_the_heads_rate_is_its_own_or_its_schedules(run, changed, rate):
    _, history, _ = run(Kept(), head="gradient", **changed)

    assert max(row["learning_rate"] for row in history) == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize("head", ["gradient", "logistic"])
def test_photos_that_are_all_the_same_are_refused(run, head):
    def blank(split, views):
        return Features(np.ones((9, views, 3), np.float32), np.arange(9) % 3, np.arange(9))

    with pytest.raises(DataError, match="all 9 training photos have the same features"):
        run(Kept(), extract=blank, head=head)


@pytest.mark.parametrize("head", ["gradient", "logistic"])
def test_features_that_are_not_finite_are_refused(run, monkeypatch, head):
    monkeypatch.setattr(np, "eye", lambda count: np.full((count, count), np.inf))
    with pytest.raises(DivergedError, match="set dtype=float32, or start from other weights"):
        run(Kept(), head=head)

"""The head as logistic regression: the solver's optimum, folded into one softmax layer."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tensorflow import keras
from tuning import untrained

from petals.accelerators.detect import Accelerator
from petals.evaluation.prediction import predict
from petals.training import logistic_head
from petals.training.callbacks import Training
from petals.training.features import FeatureExtractor, Features, apply_head
from petals.training.logistic_head import fit_head, soften
from petals.training.optimization import set_seed

CPU = Accelerator("cpu", "test")


def clouds(classes=3, each=20, width=8, views=1, seed=0, spread=1.0):
    """Features around a centre for each class, of very different scales."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(classes, 1, width))
    labels = np.repeat(np.arange(classes), each)
    values = centres[labels] + spread * rng.normal(size=(len(labels), views, width))
    values = 5 + values * 10.0 ** np.linspace(-2, 2, width)
    ids = np.array([f"{i:04}" for i in range(len(labels))])
    return Features(values.astype(np.float32), labels, ids)


def fitted(train, val=None, classes=3, **options):
    """(a softmax layer, the strength and losses of its fit)."""
    layer = keras.layers.Dense(classes, activation="softmax")
    layer.build((None, train.values.shape[-1]))
    return layer, fit_head(SimpleNamespace(head=layer), train, val or train, Training(**options))


@pytest.mark.parametrize("views", [1, 2])
def test_the_head_is_the_solvers_optimum_on_standardised_features(views):
    train = clouds(views=views)
    head, (strength, _) = fitted(train)
    rows = train.values.reshape(-1, train.values.shape[-1]).astype(np.float64)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    solver = LogisticRegression(C=strength / views, max_iter=2000, tol=1e-8)
    solver.fit(rows, np.repeat(train.labels, views))
    expected = solver.predict_proba(rows).reshape(-1, views, 3).mean(axis=1)
    assert np.allclose(apply_head(head, train), expected, atol=5e-3)


def test_the_strength_has_the_least_log_loss_held_out():
    noisy = clouds(each=15, width=40, spread=4.0)
    _, (strength, losses) = fitted(noisy)
    assert strength == min(losses, key=losses.get)
    assert strength < max(logistic_head.STRENGTHS)  # noise needs strong regularisation
    _, (weaker, _) = fitted(clouds(each=40, spread=0.3))
    assert weaker > strength


def test_views_of_an_image_stay_on_one_side_and_classes_are_shared_out():
    labels = np.repeat(np.arange(4), [10, 5, 20, 1])
    folds = logistic_head.stratified_folds(labels, seed=3)
    assert np.sum(folds, axis=0).tolist() == [1] * len(labels)
    for label, count in ((0, 2), (1, 1), (2, 4)):
        assert [(labels[fold] == label).sum() for fold in folds] == [count] * 5


def test_the_model_gives_the_heads_probabilities(splits, monkeypatch, tmp_path, narrow):
    monkeypatch.setenv("PETALS_CACHE", str(tmp_path))
    set_seed(0)
    model = untrained(depths=True)
    train, val = (FeatureExtractor(model.features, "x", CPU)(s, 2) for s in splits[:2])
    training = Training()
    fit_head(model, train, val, training)
    probabilities = predict(model.model, splits[1], 8, tta=2)
    assert np.allclose(apply_head(model.head, val), probabilities, atol=1e-4)
    assert training.history[0]["val_macro_f1"] > 0.9
    rows = [(row["phase"], row["images_per_second"]) for row in training.history]
    assert rows == [("head", None)]  # a solver's iterations are no rate of images


@pytest.mark.parametrize("shown", [[0], [0, 2], [0, 1, 2]])
def test_a_class_without_photos_is_never_the_answer(shown):
    every = clouds(classes=4)
    keep = np.isin(every.labels, shown)
    train = Features(every.values[keep], every.labels[keep], every.ids[keep])
    head, _ = fitted(train, every, classes=4)
    probabilities = apply_head(head, every)
    assert set(probabilities.argmax(axis=1)) == set(shown)
    assert (probabilities[keep].argmax(axis=1) == train.labels).mean() > 0.8


def test_past_the_deadline_no_strength_is_tried(capsys):
    head, (_, losses) = fitted(clouds(), deadline=time.monotonic() - 1)
    assert losses == {}
    assert "best of 0" in capsys.readouterr().out
    assert np.isfinite(head.get_weights()[0]).all()


def test_a_softened_head_gives_the_same_answers_less_surely():
    train, val = clouds(views=2, spread=0.3), clouds(seed=1, spread=0.3)
    head, _ = fitted(train)
    classifier, sure = SimpleNamespace(head=head), apply_head(head, val)
    temperature = soften(classifier, train, 0.1)
    soft = apply_head(head, val)
    assert temperature > 1
    assert (soft.argmax(axis=1) == sure.argmax(axis=1)).all()
    assert soft.max(axis=1).mean() < sure.max(axis=1).mean()
    assert soften(classifier, train, 0.1) == pytest.approx(1, abs=0.05)
    absent, _ = fitted(train, classes=5)
    again = soften(SimpleNamespace(head=absent), train, 0.1)
    assert again == pytest.approx(temperature, rel=0.05)

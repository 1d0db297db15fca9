"""The accelerator's solver finds what scikit-learn finds, here with CPUs in its place."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.utils.extmath import softmax
from tensorflow import keras

from petals.accelerators import keras_backend
from petals.training.callbacks import Training
from petals.training.features import Features, apply_head
from petals.training.logistic_head import fit_head
from petals.training.regression import ABSENT, problems


def clouds(classes=4, each=25, width=12, views=2, seed=0):
    """Standardised features around a centre for each class."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(classes), each))
    centres = np.random.default_rng(7).normal(size=(classes, 1, width))
    values = centres[labels] + 1.5 * rng.normal(size=(len(labels), views, width))
    return ((values - values.mean()) / values.std()).astype(np.float32), labels


def loss_of(solution, strength, values, labels):
    """The objective of scikit-learn, divided by the number of rows, in NumPy."""
    kernel, bias, _ = solution
    present = np.unique(labels)
    rows = values.reshape(-1, values.shape[-1]).astype(np.float64)
    chosen = softmax(rows @ kernel + bias)[np.arange(len(rows)), labels.repeat(values.shape[1])]
    decay = (kernel[:, present] ** 2).sum() * (2 if len(present) == 2 else 1)
    return -np.log(chosen).mean() + decay / (2 * strength * len(labels))


@pytest.fixture(params=["jax", "tensorflow"])
def backend(request, monkeypatch):
    if request.param == "jax":
        pytest.importorskip("jax")
    monkeypatch.setattr(keras_backend, "is_jax", lambda: request.param == "jax")


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("shown", [4, 3, 2, 1])
@pytest.mark.parametrize("strength", [0.003, 0.3])
def test_both_solvers_reach_the_same_loss(shown, strength):
    values, labels = clouds()
    kept = labels < shown
    found = []
    for on_device in (False, True):
        problem = problems(values, labels, 5, on_device=on_device)(kept, 1e-4)
        found.append(problem.fit(strength))
    losses = [loss_of(each, strength, values[kept], labels[kept]) for each in found]
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    for kernel, bias, _ in found:
        assert (kernel[:, shown:] == 0).all()
        assert (bias[shown:] == ABSENT).all()
        assert np.abs(kernel).max() > 0 or shown == 1
    answers = [(values[:, 0] @ kernel + bias).argmax(axis=1) for kernel, bias, _ in found]
    assert (answers[0] == answers[1]).mean() > 0.98


ODD = {
    "a photo a class": clouds(classes=30, each=1, views=1),
    "collinear features": (np.concatenate([clouds()[0]] * 4, axis=-1), clouds()[1]),
    "constant features": (np.zeros((100, 2, 12), np.float32), clouds()[1]),
    "almost one class": (clouds()[0], (np.arange(100) == 7).astype(int)),
}


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("name", ODD)
def test_both_solvers_reach_the_same_loss_on_odd_photos_too(name):
    values, labels = ODD[name]
    kept = np.ones(len(labels), bool)
    losses = []
    for on_device in (False, True):
        problem = problems(values, labels, 30, on_device=on_device)(kept, 1e-4)
        losses.append(loss_of(problem.fit(0.1), 0.1, values, labels))
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)


@pytest.mark.usefixtures("backend")
def test_a_fit_starts_from_the_solution_of_another_problem():
    values, labels = clouds()
    posed = problems(values, labels, 4, on_device=True)
    most = np.arange(len(labels)) % 5 > 0
    first, second = posed(most, 1e-4), posed(np.ones(len(labels), bool), 1e-4)
    first.fit(0.1)
    alone = second.fit(0.1)[2]
    warm = posed(np.ones(len(labels), bool), 1e-4)
    warm.start_from(first)
    assert warm.fit(0.1)[2] < alone


@pytest.mark.long
@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("scale", [1, 1e-4, 1e4])
def test_the_head_has_the_same_strength_and_answers_on_either(scale):
    """Of whatever scale the features are: they are standardised before either solver has them."""
    values, labels = clouds(classes=3, each=40, width=20)
    values = values * np.float32(scale)
    features = Features(values, labels, np.arange(len(labels)).astype(str))
    heads, strengths = [], []
    for on_device in (False, True):
        layer = keras.layers.Dense(3, activation="softmax")
        layer.build((None, 20))
        classifier = SimpleNamespace(head=layer)
        strength, losses = fit_head(classifier, features, features, Training(), on_device=on_device)
        heads.append(layer)
        strengths.append((strength, list(losses)))
    assert strengths[0] == strengths[1]
    host, device = (apply_head(head, features) for head in heads)
    assert np.abs(host - device).max() < 5e-3


def test_without_an_accelerator_the_host_solves_it(monkeypatch):
    values, labels = clouds()
    everything = np.ones(len(labels), bool)
    assert hasattr(problems(values, labels, 4)(everything, 1e-3), "solver")
    monkeypatch.setattr(keras_backend, "on_accelerator", lambda: True)
    assert not hasattr(problems(values, labels, 4)(everything, 1e-3), "solver")
    monkeypatch.setattr("petals.training.regression.DEVICE_BYTES", 100)
    assert hasattr(problems(values, labels, 4)(everything, 1e-3), "solver")

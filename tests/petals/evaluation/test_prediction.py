import numpy as np
import pytest

from petals.data import pipeline
from petals.data.samples import sample_of
from petals.evaluation import prediction
from petals.evaluation.metrics import Scores, chance, instructive
from petals.evaluation.submission import write_submission

LABELS = np.array([0, 0, 0, 1, 1, 2])
GUESSES = np.array([0, 1, 1, 1, 0, 2])


def certain(guesses, classes=4, sure=0.7):
    rest = (1 - sure) / (classes - 1)
    return np.full((len(guesses), classes), rest) + (sure - rest) * np.eye(classes)[guesses]


def test_macro_f1_is_the_competitions():
    scores = Scores.of(LABELS, certain(GUESSES))
    by_class = [2 * 1 / (2 + 3), 2 * 1 / (3 + 2), 1.0]  # 2 TP / (predicted + true); lotus absent
    assert np.isclose(scores.macro_f1, np.mean(by_class))
    assert np.isclose(scores.accuracy, 3 / 6)
    assert np.isclose(scores.loss, -(3 * np.log(0.7) + 3 * np.log(0.1)) / 6)


def test_instructive_images_are_sure_mistakes_then_unsure_successes():
    probabilities = certain(GUESSES)
    probabilities[2] = certain(np.array([1]), sure=0.9)[0]
    chosen = instructive(LABELS, probabilities, most=4)
    assert len(chosen) == 4
    assert chosen[0] == 2
    assert set(chosen[:2]) <= {1, 2, 4}
    assert (GUESSES[chosen[2:]] == LABELS[chosen[2:]]).all()


def test_prediction_is_complete_and_in_order_whatever_the_batch_and_in_memory(splits, classifier):
    one = prediction.predict(classifier.model, splits[2], 13)
    assert one.shape == (13, 3)
    assert np.allclose(one, prediction.predict(classifier.model, splits[2], 8), atol=1e-5)
    images = sample_of(splits[2], 13).images
    assert np.allclose(one, prediction.predict_images(classifier.model, images, 8), atol=1e-5)
    twice = prediction.predict(classifier.model, splits[2], 8, tta=2)
    again = prediction.predict_images(classifier.model, images, 8, tta=2)
    assert np.allclose(twice, again, atol=1e-5)
    assert prediction.predict_images(classifier.model, images[:3], 8).shape == (3, 3)


@pytest.mark.long
def test_tta_is_the_mean_over_views(splits, classifier):
    model = classifier.model
    plain = prediction.predict(model, splits[2], 8)
    mirrored = model.predict(pipeline.images(splits[2], 8, mirrored=True), verbose=0)[:13]
    assert np.allclose(prediction.predict(model, splits[2], 8, tta=2), (plain + mirrored) / 2)


def test_a_submission_has_a_row_for_each_image(tmp_path):
    write_submission(tmp_path / "s.csv", np.array(["a", "b", "c"]), certain([3, 1, 2]))
    assert (tmp_path / "s.csv").read_text() == "id,label\na,3\nb,1\nc,2\n"


@pytest.mark.parametrize("counts", [(90, 10, 0), (5, 5, 5), (40, 1, 1)])
def test_chance_is_what_guesses_reach(counts):
    labels = np.repeat(np.arange(3), counts)
    rng = np.random.default_rng(0)
    drawn = [Scores.of(labels, np.eye(3)[rng.integers(0, 3, len(labels))]) for _ in range(400)]
    constant = Scores.of(labels, np.eye(3)[np.zeros(len(labels), int)])
    found = chance(labels, 3)
    for name in ("macro_f1", "accuracy"):
        random = np.mean([getattr(scores, name) for scores in drawn])
        assert found[name] == pytest.approx(max(random, getattr(constant, name)), abs=0.03)

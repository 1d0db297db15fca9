import json
from dataclasses import replace

import numpy as np
import pytest
from tuning import pixels, untrained

from petals import storage
from petals.errors import WeightsError
from petals.models.card import ModelCard, parse
from petals.models.restore import find_model, restore, save, write_model

NAMES = ("blue", "red", "yellow")


def card_of(**changes):
    facts = {"weights": {"setting": "none"}, "temperature": 1.5, "scores": {"macro_f1": 0.5}}
    return ModelCard("SmallNet", 32, NAMES, "tf", **(facts | changes))


def answers(classifier):
    return np.asarray(classifier.model(pixels()))


def test_a_whole_model_comes_back_with_its_card(tmp_path, classifier):
    save(classifier, tmp_path / "classifier.h5", card_of())
    again, card = restore(find_model(str(tmp_path)))
    assert card == card_of()
    assert np.allclose(answers(again), answers(classifier), atol=1e-6)


@pytest.mark.parametrize(
    ("card", "problem"),
    [
        (None, "has no card"),
        (card_of(build={"lambda": "import os"}), "by another version of the kit"),
    ],
)
def test_a_file_that_says_not_how_to_build_its_model_is_refused(
    tmp_path, classifier, card, problem
):
    save(classifier, tmp_path / "classifier.h5", card)
    with pytest.raises(WeightsError, match=problem):
        restore(tmp_path / "classifier.h5")


@pytest.mark.parametrize(
    "change",
    [
        {"classes": ["a", "\x1b[31mb", "c"]},
        {"classes": [1, 2, 3]},
        {"classes": []},
        {"image_size": -1},
        {"image_size": "32"},
        {"temperature": 0},
        {"more": 1},
        {"weights": "none"},
        {"intervals": {"macro_f1": [0, 1]}},
    ],
    ids=str,
)
def test_a_card_that_no_run_wrote_is_refused(change):
    with pytest.raises(WeightsError, match="has a damaged card") as error:
        parse(json.dumps(json.loads(card_of().as_json()) | change), "x.h5")
    assert "\n" not in str(error.value)


def test_a_name_in_a_card_is_no_formula_and_no_cell():
    names = ("$x$", "a|b", "_c_", "金木犀 🌼")
    assert r"4: \$x\$, a\|b, \_c\_, 金木犀 🌼 |" in replace(card_of(), classes=names).as_markdown()


@pytest.mark.parametrize(("given", "views"), [(2, 2), (0, 1), ("9", 1), (10**6, 1)])
def test_a_photo_is_seen_as_often_as_the_temperature_was_fitted_for(given, views):
    assert card_of(about={"parameters": {"views": given}}).views == views


@pytest.mark.parametrize(
    ("classes", "size", "message"),
    [
        (("blue", "red"), 32, r"other classes than the data has \(3 and 2\)"),
        (("red", "blue", "yellow"), 32, "or in another order"),
        (NAMES, 64, "images of 32 pixels, not 64: set image_size=32"),
    ],
)
def test_a_model_of_other_classes_or_size_is_refused(classes, size, message):
    card = card_of()
    card.check(("blue ", "Red", "yellow"), 32, "x.h5")  # the competition's names end in spaces
    with pytest.raises(WeightsError, match=message):
        card.check(classes, size, "x.h5")


def test_of_several_models_the_best_is_taken(tmp_path, monkeypatch, capsys, classifier):
    monkeypatch.chdir(tmp_path)
    for name, score in (("a", 0.4), ("b", 0.9), ("c", None)):
        card = card_of(scores={"macro_f1": score})
        save(classifier, tmp_path / "runs" / name / "classifier.h5", card)
    save(classifier, tmp_path / "runs/old/classifier.h5")
    storage.write_text(tmp_path / "runs/broken/classifier.h5", "no HDF5")
    assert find_model().parent.name == "b"
    message = capsys.readouterr().out
    assert "of 3 models" in message
    assert message.count("left out: ") == 2
    (tmp_path / "kernel-metadata.json").write_text("{}")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")  # as Jupyter starts a notebook there
    assert find_model().parent.name == "b"


def test_where_there_is_no_model_it_says_what_to_attach(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WeightsError, match="no model at nowhere"):
        find_model("nowhere")
    with pytest.raises(WeightsError, match=r"no classifier\.h5 in runs/: make one with"):
        find_model()
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    with pytest.raises(WeightsError, match="model_sources"):
        find_model()


def test_a_model_comes_back_with_the_features_it_was_built_on(tmp_path):
    classifier = untrained(depths=True)
    metrics = dict.fromkeys(("macro_f1", "accuracy", "calibration_error", "temperature"), None)
    metrics |= {"data": {"image_size": 32}, "parameters": {"weights": "none"}}
    metrics |= {"reliability": {}, "versions": {}, "git": {}, "accuracy": 0.9}
    metrics["intervals"] = {"accuracy": [0.81, 0.96], "level": 0.95}
    classes = ("a", "\udcff", "\x1bc")  # of a file system, of which not all can be printed
    write_model(tmp_path, classifier, classes, metrics)
    again, card = restore(find_model(str(tmp_path)))
    assert card.classes == ("a", r"\udcff", r"\x1bc")
    card.check(classes, 32, "the model")
    assert card.build == {"depths": True}
    assert "accuracy 0.9000 (0.810 to 0.960 in 95 % of resamples)" in card.as_markdown()
    assert card.weights["licence"] == "none: trained from scratch"
    own, other = (np.asarray(each.model(pixels())) for each in (classifier, again))
    assert np.allclose(own, other, atol=1e-6)

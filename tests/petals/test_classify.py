import csv
import shutil

import numpy as np
import pytest

from petals.classify import Answers, classify, find_photos, photos_for, predict_test_split
from petals.errors import DataError
from petals.models.card import ModelCard
from petals.models.restore import restore, save


@pytest.fixture(scope="module")
def model(tmp_path_factory, classifier):
    path = tmp_path_factory.mktemp("model") / "classifier.h5"
    names = ("blue", "red", "yellow")
    card = ModelCard("SmallNet", 32, names, "tf", {"setting": "none"}, temperature=2.0)
    save(classifier, path, card)
    return path


def test_answers_have_whole_percents():
    answers = Answers(
        np.array(["a/b.jpg", "c.jpg"]),
        ("rose", "iris", "lily"),
        np.array([[0.2, 0.7, 0.1], [0.8, 0.1, 0.1]]),
        np.zeros((1, 8, 8, 3), np.uint8),
    )
    line = str(answers.table(3)).splitlines()[1]
    assert line == "b.jpg  iris 70 %  rose 20 %, lily 10 %"
    (photo, *_) = answers.picture(1).axes
    assert photo.get_title() == "iris 70\u00a0%"


def test_a_table_and_a_picture_of_new_photos(model, photos, tmp_path):
    output = tmp_path / "predicted"
    names = [str(photos / "red"), str(photos / "blue/03.jpg")]
    lines = classify(str(model), names, top=2, output=output).splitlines()
    assert len(lines) == 1 + 21 + 1
    rows = list(csv.DictReader((output / "predictions.csv").read_text().splitlines()))
    assert list(rows[0]) == ["photo", "class 1", "probability 1", "class 2", "probability 2"]
    assert float(rows[0]["probability 1"]) >= float(rows[0]["probability 2"])
    assert rows[-1]["photo"].endswith("03.jpg")
    assert {path.name for path in output.iterdir()} == {"predictions.csv", "predictions.jpg"}


def test_a_photo_that_cannot_be_read_is_named_before_anything_is_written(model, photos, tmp_path):
    (photos / "red/05.jpg").write_bytes((photos / "red/05.jpg").read_bytes()[:300])
    output = tmp_path / "predicted"
    with pytest.raises(DataError, match=r"05\.jpg: not a whole image.*: leave it out") as error:
        classify(str(model), [str(photos)], output=output)
    assert "\n" not in str(error.value)
    assert not output.exists()


def test_names_that_lead_to_no_photo(photos, tmp_path, monkeypatch):
    assert len(find_photos([str(photos / "*/0*.jpg"), str(photos / "red/00.jpg")])) == 30
    for given in ([str(tmp_path / "nothing")], []):
        with pytest.raises(DataError, match="no photo"):
            find_photos(given)
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(tmp_path / "input"))
    assert photos_for("auto") == []


@pytest.mark.parametrize("dataset", ["datasets/me/mine", "mine"])  # of new and old machines
def test_auto_means_the_photos_of_datasets_but_no_figures(photos, tmp_path, monkeypatch, dataset):
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(tmp_path / "input"))
    root = tmp_path / "input" / dataset
    for place in (root, root / "run", root / "__results___files"):
        place.mkdir(parents=True)
        (place / "a.JPG").symlink_to(photos / "red/00.jpg")
    (root / "run/figures.json").touch()
    (root / "._a.JPG").touch()  # as macOS leaves it
    assert photos_for("auto") == [root / "a.JPG"]


def test_what_a_system_left_among_photos_is_none(photos):
    for place in ("__MACOSX/red", "red/.ipynb_checkpoints"):
        (photos / place).mkdir(parents=True)
        (photos / place / "a.jpg").write_bytes(b"no photo")
    (photos / "red/._00.jpg").write_bytes(b"no photo")
    assert len(find_photos([str(photos)])) == 60


def test_data_without_test_photos_is_told(model, copied):
    shutil.rmtree(copied / "tfrecords-jpeg-32x32/test")
    with pytest.raises(DataError, match="has no test photos: set photos to a folder"):
        predict_test_split(*restore(model), str(copied))


def test_part_of_a_test_split_is_not_complete(model, dataset):
    found = restore(model)
    assert not predict_test_split(*found, str(dataset), limit=5).complete
    assert predict_test_split(*found, str(dataset), limit=13).complete

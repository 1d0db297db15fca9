import sys

import numpy as np
import pytest
import tensorflow as tf

from petals.data import layout
from petals.data.classes import CLASSES
from petals.data.records import Example
from petals.data.source import Source, find_source
from petals.data.writing import write_shard
from petals.errors import DataError
from petals.prepare import drawn_flowers


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def mounts(home, monkeypatch):
    root = home / "input"
    root.mkdir()
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(root))
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    return root


def hold(folder):
    shard = folder / "tfrecords-jpeg-32x32" / "train" / "00-32x32-0.tfrec"
    shard.parent.mkdir(parents=True)
    shard.touch()
    return folder


@pytest.mark.parametrize(
    "place",
    [
        "competitions/tpu-getting-started",
        "tpu-getting-started/deep",
        "datasets/someone/tpu-getting-started/a",
    ],
)
def test_auto_takes_the_competition_first_wherever_its_folder_is(mounts, place, capsys):
    hold(mounts / "aaa")
    folder = hold(mounts / place)
    assert find_source("auto") == Source(str(folder), "mount")
    assert capsys.readouterr().out == ""


def test_of_several_other_folders_the_one_that_was_taken_is_said(mounts, capsys):
    first = hold(mounts / "datasets/a/one")
    (mounts / "datasets/another").mkdir()
    assert find_source("auto").root == str(first)
    assert capsys.readouterr().out == ""
    second = hold(mounts / "datasets/b/two")
    assert find_source("auto").root == str(first)
    assert capsys.readouterr().out == f"data=auto takes {first}; for {second} set data=FOLDER\n"


def test_missing_data_on_kaggle_is_an_error_that_lists_the_mounts(mounts):
    (mounts / "competitions" / "titanic").mkdir(parents=True)
    hold(mounts.parent / "data")  # a local folder does not count there
    message = r'competitions/titanic.*"competition_sources": \["tpu-getting-started"\]'
    with pytest.raises(DataError, match=message):
        find_source("auto")


def test_at_home_a_local_folder_comes_before_the_embedded_data(home, monkeypatch):
    monkeypatch.setattr(drawn_flowers, "at_size", lambda cache, size: cache / "drawn")
    source = find_source("auto")
    assert source == find_source("embedded")
    assert source.kind == "embedded"
    assert source.root.endswith("embedded/drawn")
    hold(home / "data")
    assert find_source("auto") == Source("data", "folder")
    (home / "notebooks").mkdir()
    (home / "kernel-metadata.json").touch()
    monkeypatch.chdir(home / "notebooks")  # as Jupyter starts a notebook there
    assert find_source("auto") == Source("../data", "folder")


def test_in_a_bundle_the_embedded_data_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "petals.prepare.drawn_flowers", None)
    monkeypatch.delattr("petals.prepare.drawn_flowers")
    with pytest.raises(DataError, match="stay at the desk, since they are not pushed"):
        find_source("embedded")


def test_an_explicit_folder_goes_first_and_must_hold_records(mounts, tmp_path):
    hold(mounts / "competitions" / "tpu-getting-started")
    own = hold(tmp_path / "own")
    assert find_source(str(own)) == Source(str(own), "folder")
    assert find_source(str(own / "tfrecords-jpeg-32x32")).root == str(own)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "__MACOSX").mkdir()
    hold(tmp_path / "photos" / "__MACOSX")
    with pytest.raises(DataError, match=r"make_tfrecords\.py"):
        find_source(str(tmp_path / "photos"))
    with pytest.raises(DataError, match="neither a folder nor an attached dataset"):
        find_source(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("layout", ["datasets/someone/flowers", "flowers"])
def test_a_private_dataset_is_found_by_its_slug(mounts, layout):
    hold(mounts / "competitions" / "tpu-getting-started")
    hold(mounts / layout / "inner")
    assert find_source("someone/flowers") == Source(str(mounts / layout), "mount")
    with pytest.raises(DataError, match="Mounted: "):
        find_source("someone/roses")


@pytest.mark.parametrize("text", ["[]", "[1]", "names", '["ros\u00e9"]'])
def test_a_list_of_classes_that_is_none_is_an_error(tmp_path, text):
    (tmp_path / "classes.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"classes\.json must be a JSON list of class names"):
        _ = Source(str(tmp_path), "folder").class_names


def test_an_explicit_bucket_must_hold_records(monkeypatch):
    monkeypatch.setattr(layout, "record_files", lambda root: [])
    with pytest.raises(DataError, match="gs://nothing holds no"):
        find_source("gs://nothing")


def test_what_a_system_left_is_no_mount(mounts, capsys):
    folder = hold(mounts / "datasets/someone/flowers")
    hold(mounts / "datasets/someone/flowers/__MACOSX")
    hold(mounts / "datasets/someone/flowers/.ipynb_checkpoints")
    assert find_source("auto") == find_source("someone/flowers") == Source(str(folder), "mount")
    assert capsys.readouterr().out == ""


def test_a_dataset_of_several_sources_is_one_source(mounts):
    for name in ("imagenet", "oxford_102"):
        hold(mounts / "datasets/someone/flowers/inner" / name)
    root = str(mounts / "datasets/someone/flowers")
    assert find_source("someone/flowers").root == find_source("auto").root == root


@pytest.mark.parametrize(
    "path",
    [
        "tpu-getting-started",
        "competitions/tpu-getting-started/x",
        "flower-classification-with-tpus",
    ],
)
def test_the_competitions_photos_are_known_by_their_path(tmp_path, path):
    assert Source(str(tmp_path / path), "mount").class_names == CLASSES


@pytest.mark.parametrize(("largest", "names"), [(103, CLASSES), (4, ("0", "1", "2", "3", "4"))])
def test_labels_up_to_103_without_names_are_the_competitions(tmp_path, largest, names):
    shard = tmp_path / "tfrecords-jpeg-32x32" / "train" / "00-32x32-104.tfrec"
    jpeg = tf.io.encode_jpeg(np.zeros((32, 32, 3), np.uint8)).numpy()
    labels = (number % (largest + 1) for number in range(104))
    write_shard(shard, (Example(jpeg, f"id{n}", label) for n, label in enumerate(labels)))
    source = Source(str(tmp_path), "folder")
    assert source.class_names == names
    assert source.is_numbered == (names is not CLASSES)


def test_records_of_ones_own_without_names_are_never_the_104_flowers(copied):
    (copied / "classes.json").unlink()
    source = find_source(str(copied), 32)
    assert source.class_names == ("0", "1", "2")
    assert source.is_numbered
    assert source.splits(32)["train"].labels_and_ids(3)[0].max() == 2


@pytest.mark.parametrize(
    ("says", "submitted"),
    [('"name"', ("a", "b")), ('"position"', None)],
)
def test_the_data_says_what_a_submission_holds(tmp_path, says, submitted):
    (tmp_path / "classes.json").write_text('["a", "b"]')
    source = Source(str(tmp_path), "folder")
    assert source.submitted is None
    (tmp_path / "submission.json").write_text(f'{{"label": {says}}}')
    assert source.submitted == submitted
    for wrong in ('["name"]', '{"label": "names"}'):
        (tmp_path / "submission.json").write_text(wrong)
        with pytest.raises(DataError, match=r"submission\.json must be"):
            _ = source.submitted

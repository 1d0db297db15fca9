"""TFRecords of one's own, read through `find_source` and the input pipeline."""

import io
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image
from records import jpeg

from petals.data import pipeline
from petals.data.dataset import find_dataset
from petals.data.samples import sample_of
from petals.data.source import find_source
from petals.errors import DataError

SIZE = 32
NAMED = "?image=pic&class=kind"


def feature(value):
    values = value if isinstance(value, list) else [value]
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def record(**values):
    named = {name: feature(value) for name, value in values.items()}
    return tf.train.Example(features=tf.train.Features(feature=named)).SerializeToString()


def saved(pixels, kind="PNG"):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


@pytest.fixture
def write(tmp_path):
    """Writes a file of records below `data`; returns that folder's path."""

    def write(name, records, options=None):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with tf.io.TFRecordWriter(str(path), options) as writer:
            for one in records:
                writer.write(one)
        return str(tmp_path / "data")

    return write


def standard(number, **other):
    values = {"image": jpeg(number, SIZE), "id": b"id%d" % number, "class": number % 3}
    return record(**values | other)


def own(number, **other):
    values = {"pic": jpeg(number, SIZE), "kind": number % 3, "who": number}
    return record(**values | other)


def test_features_of_other_names_are_read_when_they_are_named(write):
    data = write("train.tfrec", map(own, range(4)))
    with pytest.raises(DataError, match=r"record 0: it has kind \(int64\), pic \(bytes\), who"):
        find_source(data, SIZE)
    split = find_source(f"{data}{NAMED}&id=who", SIZE).splits(SIZE)["train"]
    labels, ids = split.labels_and_ids()
    assert (labels.tolist(), ids.tolist()) == ([0, 1, 2, 0], ["0", "1", "2", "3"])
    (batch,) = pipeline.images(split, 4)
    assert np.array_equal(batch, sample_of(split, 4).images)
    _, one_hot = next(iter(pipeline.Batches(split, 4, 3).dataset()))
    assert one_hot.numpy().sum(axis=0).tolist() == [2, 1, 1]


def test_without_a_feature_for_it_an_id_is_file_and_position(write):
    data = write("train.tfrec", map(own, range(2)))
    split = find_source(data + NAMED, SIZE).splits(SIZE)["train"]
    assert split.labels_and_ids()[1].tolist() == ["train.tfrec:0", "train.tfrec:1"]
    write("test.tfrec", map(own, range(2)))
    with pytest.raises(DataError, match="no submission is valid without their ids"):
        find_source(data + NAMED, SIZE).splits(SIZE)


@pytest.mark.parametrize("query", ["?", "?picture=pic", "?image"])
def test_a_question_that_names_no_feature_is_refused(write, query):
    data = write("train.tfrec", map(own, range(2)))
    with pytest.raises(DataError, match=r"name features as in .*\?image=NAME"):
        find_source(data + query, SIZE)


def test_photos_of_any_shape_are_cut_to_their_middle_square(write):
    wide = np.zeros((40, 100, 3), np.uint8)
    wide[:, 30:70] = 200
    pictures = [saved(wide), saved(wide.transpose(1, 0, 2)), saved(wide[:, 30:70], "JPEG")]
    data = write("train.tfrec", [record(pic=p, kind=n) for n, p in enumerate(pictures)])
    split = find_source(data + NAMED, SIZE).splits(SIZE)["train"]
    (batch,) = pipeline.images(split, 4)
    assert batch.shape == (4, SIZE, SIZE, 3)
    assert np.abs(batch[:3].numpy().astype(int) - 200).max() <= 2


def test_a_whole_run_reads_folds_and_further_sources_of_named_features(write, tmp_path):
    numbers = range(30)
    data = write("train.tfrec", map(own, numbers))
    (tmp_path / "data/classes.json").write_text('["blue", "red", "yellow"]')
    more = tmp_path / "more/tfrecords-jpeg-32x32/train/00-32x32-6.tfrec"
    more.parent.mkdir(parents=True)
    with tf.io.TFRecordWriter(str(more)) as writer:
        for number in range(100, 106):
            writer.write(standard(number))
    (tmp_path / "more/classes.json").write_text('["red", "yellow", "blue"]')
    settings = {"image_size": SIZE, "limit": 0, "validation": "fold:1/3"}
    settings["data"] = f"{data}{NAMED}&id=who,{tmp_path / 'more'}"
    photos = find_dataset(settings, tmp_path / "run")
    assert photos.val.count == 10
    assert photos.train.count == 26
    labels, ids = photos.train.labels_and_ids()
    by_id = dict(zip(ids.tolist(), labels.tolist(), strict=True))
    assert by_id["id100"] == 2, "yellow in both"
    assert [label for id_, label in by_id.items() if id_.isdigit()] == [
        int(id_) % 3 for id_ in by_id if id_.isdigit()
    ]


def test_classes_without_names_are_called_by_their_labels(write, tmp_path):
    data = write("train.tfrec", [standard(n, **{"class": (1, 2, 10)[n % 3]}) for n in range(12)])
    write("val.tfrec", [standard(20 + n, **{"class": 1}) for n in range(2)])
    settings = {"data": data, "image_size": SIZE, "limit": 0, "validation": "val"}
    photos = find_dataset(settings, tmp_path / "run")
    assert photos.names == tuple(map(str, range(11)))
    assert photos.train.labels_and_ids()[0].max() == 10, "what a submission holds"
    assert "are called by their labels, 0 to 10" in str(photos)


def test_labels_up_to_103_are_said_to_be_taken_for_the_competitions(write, tmp_path):
    data = write("train.tfrec", [standard(n, **{"class": n % 104}) for n in range(104)])
    write("val.tfrec", [standard(200 + n, **{"class": 1}) for n in range(2)])
    settings = {"data": data, "image_size": SIZE, "limit": 0, "validation": "val"}
    photos = find_dataset(settings, tmp_path / "run")
    assert photos.names[0] == "pink primrose"
    assert "taken for those of the competition's 104 flowers" in str(photos)


def test_labels_that_count_no_classes_are_refused(write):
    data = write("train.tfrec", [standard(n, **{"class": 10**9}) for n in range(4)])
    with pytest.raises(DataError, match="labels up to 1,000,000,000, so these do not count"):
        _ = find_source(data, SIZE).class_names


def test_sources_with_other_lists_of_classes_are_not_mixed(write, tmp_path):
    for name in ("a", "b"):
        data = write(f"{name}/x.tfrec", map(standard, range(2)))
        (tmp_path / "data" / name / "classes.json").write_text(f'["{name}", "z", "y"]')
    with pytest.raises(DataError, match=r"a/classes.json and .*differ: give each"):
        _ = find_source(data, SIZE).class_names
    (tmp_path / "data/b/classes.json").write_text('["a", "z", "y"]')
    assert find_source(data, SIZE).class_names == ("a", "z", "y")


DEEP = tf.io.encode_png(np.full((SIZE, SIZE, 3), 4000, np.uint16)).numpy()
CLEAR = saved(np.zeros((SIZE, SIZE, 4), np.uint8))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"class": [0, 1, 0]}, r"it has class \(3 int64\)"),
        ({"class": b"rose"}, r"it has class \(bytes\)"),
        ({"class": 0.5}, r"it has class \(float\)"),
        ({"image": [b"x", b"y"]}, r"image \(2 bytes\)"),
        ({"image": DEEP}, "its image is a PNG with 16 bits a value or with transparency"),
        ({"image": CLEAR}, "its image is a PNG with 16 bits a value or with transparency"),
        ({"image": bytes(range(48))}, "its image is of no known format, such as raw pixels"),
        ({"image": saved(np.zeros((9, 9, 3), np.uint8), "WEBP")}, "its image is a WebP: write"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(write, other, message):
    data = write("train.tfrec", [standard(0, **other), standard(1)])
    with pytest.raises(DataError, match=message) as raised:
        find_source(data, SIZE).splits(SIZE)["train"].labels_and_ids()
    assert "\n" not in str(raised.value)
    assert "damaged" not in str(raised.value)


def test_compressed_files_are_to_be_written_again(write):
    for place in ("train.tfrecord.gz", "tfrecords-jpeg-32x32/train/00-32x32-6.tfrec"):
        data = write(place, map(standard, range(6)), "GZIP")
        with pytest.raises(DataError, match="is not a TFRecord file but compressed with gzip"):
            find_source(data, SIZE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid", "but a Git LFS pointer"),
        (b"PK\3\4" + bytes(50), "but a zip archive"),
        (b"<!DOCTYPE html><html>404</html>", "but a page of HTML"),
        (b"hello, this is no record of anything", "record 0 is damaged"),
        (b"", "has no train photos"),
    ],
)
def test_a_file_of_another_kind_is_told_as_what_it_is(write, tmp_path, content, message):
    data = write("train.tfrecord", [])
    (tmp_path / "data" / "train.tfrecord").write_bytes(content)
    with pytest.raises(DataError, match=message):
        find_source(data, SIZE).splits(SIZE)


def test_a_damaged_record_is_told_with_its_number(write, tmp_path):
    data = write("train.tfrecord", map(standard, range(4)))
    path = Path(data, "train.tfrecord")
    content = bytearray(path.read_bytes())
    content[-20] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"train\.tfrecord: record 3 is damaged"):
        find_source(data, SIZE).splits(SIZE)["train"].labels_and_ids()

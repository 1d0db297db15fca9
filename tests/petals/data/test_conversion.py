"""TFRecords as people share them, read through `find_source`."""

import io
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image
from records import jpeg

from petals.data.source import find_source
from petals.errors import DataError

SIZE = 32


def feature(value):
    values = value if isinstance(value, list) else [value]
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def record(**values):
    """A record; `__` in a name stands for `/`."""
    named = {name.replace("__", "/"): feature(value) for name, value in values.items()}
    return tf.train.Example(features=tf.train.Features(feature=named)).SerializeToString()


def picture(number, size=SIZE, kind="JPEG"):
    if kind == "JPEG":
        return jpeg(number, size)
    buffer = io.BytesIO()
    Image.open(io.BytesIO(jpeg(number, size))).save(buffer, kind)
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


def examples(source, split="train"):
    return list(source.splits(SIZE)[split].examples())


def labels(source, split="train"):
    return [example.label for example in examples(source, split)]


def standard(number, **other):
    values = {"image": picture(number), "id": b"id%d" % number, "class": number % 3}
    return record(**values | other)


def test_all_sources_of_one_dataset_are_used_counted_and_linked(write, capsys, tmp_path):
    for begin, name in enumerate(("imagenet", "openimage", "tf_flowers")):
        numbers = range(10 * begin, 10 * begin + 6)
        place = f"{name}/tfrecords-jpeg-32x32/00-32x32-6.tfrec"
        data = write(place, [standard(number) for number in numbers])
    source = find_source(data, SIZE)
    told = capsys.readouterr().out
    assert "3 sources, all of which are used: imagenet 6, openimage 6, tf_flowers 6 photos" in told
    assert sorted(labels(source)) == [0] * 6 + [1] * 6 + [2] * 6
    files = list((tmp_path / source.root).rglob("*.tfrec"))
    assert all(file.is_symlink() for file in files), "nothing is copied"
    assert (str(source), source.name) == (f"folder {data}", "data")


def raw(number):
    """Pixels without a format, as many MNIST-like sets have them."""
    pixels = bytes((17 * number + place) % 256 for place in range(48))
    return {"image_raw": pixels, "height": 4, "width": 4, "depth": 3}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (lambda n: {"image": picture(n), "class": n % 2}, "the ids of labelled photos are missing"),
        (
            lambda n: {"image__encoded": picture(n), "image__class__label": n % 2},
            "image from image/encoded, class from image/class/label",
        ),
        (
            lambda n: {"image": picture(n), "image_name": b"x%d" % n, "target": n % 2},
            "class from target, id from image_name",
        ),
        (lambda n: {"image_raw": picture(n), "label": n % 2, "id": n}, "image from image_raw, cl"),
        (lambda n: {"image": picture(n), "label": float(n % 2), "id": n}, "class from label"),
        (lambda n: {**raw(n), "label": n % 2}, "image from image_raw, class from label"),
        (lambda n: {"image": picture(n), "class": [1 - n % 2, n % 2]}, "their numbers, 0 to 1"),
        (lambda n: {"image": picture(n), "label": [1.0 - n % 2, float(n % 2)]}, "class from label"),
        (lambda n: {"image": picture(n, kind="WEBP"), "class": n % 2}, "names no classes"),
        (lambda n: {"image": picture(n, 50), "class": n % 2}, "names no classes"),
    ],
)
def test_other_names_types_and_images_are_read(write, capsys, schema, told):
    data = write("train.tfrecord", [record(**schema(n)) for n in range(8)])
    source = find_source(data, SIZE)
    assert told in capsys.readouterr().out
    assert labels(source) == [0, 1] * 4
    assert len({example.id for example in examples(source)}) == 8
    assert source.splits(SIZE)["train"].sample(8).images.shape == (8, SIZE, SIZE, 3)


def test_one_hot_labels_have_as_many_classes_as_values(write, tmp_path):
    rows = [record(image=picture(n), label=[int(n % 2 == at) for at in range(3)]) for n in range(4)]
    data = write("train.tfrec", rows)
    assert find_source(data, SIZE).class_names == ("0", "1", "2")
    names = tmp_path / "data" / "classes.json"
    names.write_text('["rose", "daisy", "tulip"]')
    source = find_source(data, SIZE)
    assert (source.class_names[1], labels(source)) == ("daisy", [0, 1, 0, 1])
    names.write_text('["rose", "daisy"]')
    with pytest.raises(DataError, match="labels of 3 values, and its list names 2 classes"):
        find_source(data, SIZE)


def test_files_that_are_missing_from_a_set_are_counted(write, capsys):
    for number in (0, 3):
        name = f"a-train.tfrecord-{number:05}-of-00005"
        data = write(name, [record(image=picture(number), label=number, id=number)])
    find_source(data, SIZE)
    assert "3 of the 5 files a-train.tfrecord-…-of-00005 are missing" in capsys.readouterr().out


def test_validation_photos_alone_are_nothing_to_train_on(write):
    data = write("val.tfrec", [record(image=picture(n), label=n) for n in range(3)])
    with pytest.raises(DataError, match="data holds no photos to train on"):
        find_source(data, SIZE)


def test_ids_that_are_numbers_are_kept(write):
    data = write("train.tfrec", [record(image=picture(n), id=100 + n, label=n) for n in range(3)])
    assert [example.id for example in examples(find_source(data, SIZE))] == ["100", "101", "102"]


def test_ids_of_test_photos_are_kept_where_those_of_others_are_not_unique(write):
    for split in ("train", "val", "test"):
        records = [standard(n, image=picture(n + len(split) * 10)) for n in range(4)]
        data = write(f"{split}/a.tfrec", records)
    source = find_source(data, SIZE)
    assert [example.id for example in examples(source, "test")] == ["id0", "id1", "id2", "id3"]
    assert [example.id for example in examples(source, "val")] == [
        f"val/a.tfrec:{n}" for n in range(4)
    ]
    assert labels(source, "test") == [-1] * 4


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_compressed_files_are_read(write, capsys, kind):
    data = write("tfrecords-jpeg-32x32/train/00-32x32-6.tfrec", map(standard, range(6)), kind)
    assert labels(find_source(data, SIZE)) == [0, 1, 2] * 2
    assert f"compressed with {kind}" in capsys.readouterr().out


def test_records_that_are_standard_are_left_where_they_are(write):
    data = write("tfrecords-jpeg-32x32/train/00-32x32-6.tfrec", map(standard, range(6)))
    Path(data, "classes.json").write_text('["a", "b", "c"]')
    assert find_source(data, SIZE).root == data


def test_photos_of_the_nearest_size_are_resized(write, capsys):
    for size in (24, 48, 64):
        rows = [record(image=picture(n, size), label=n % 2) for n in range(4)]
        data = write(f"s/tfrecords-jpeg-{size}x{size}/00-{size}x{size}-4.tfrec", rows)
    source = find_source(data, SIZE)
    assert "photos of 48 px resized to 32 px" in capsys.readouterr().out
    assert source.splits(SIZE)["train"].sample(4).images.shape == (4, SIZE, SIZE, 3)


def test_columns_that_cannot_be_guessed_are_named(write):
    data = write("a.tfrec", [record(pic=picture(n), kind=n % 2, who=b"%d" % n) for n in range(4)])
    with pytest.raises(DataError, match=r"record 0: .* the features kind \(int64\), pic \(bytes\)"):
        find_source(data, SIZE)
    source = find_source(f"{data}?image=pic&class=kind&id=who", SIZE)
    assert [example.id for example in examples(source)] == ["0", "1", "2", "3"]
    assert labels(source) == [0, 1, 0, 1]
    with pytest.raises(DataError, match="record 0: no feature 'photo' for image"):
        find_source(f"{data}?image=photo", SIZE)
    for query in ("?", "?picture=pic", "?image"):
        with pytest.raises(DataError, match=r"name features as in .*\?image=NAME"):
            find_source(data + query, SIZE)


@pytest.mark.parametrize(
    ("schema", "names", "submitted"),
    [
        (lambda n: {"label": (b"rose", b"daisy")[n % 2]}, ("daisy", "rose"), None),
        (lambda n: {"label": (b"10", b"2")[n % 2]}, ("2", "10"), ("2", "10")),
        (lambda n: {"label": (b"010", b"002")[n % 2]}, ("002", "010"), ("002", "010")),
        (
            lambda n: {"class": n % 2, "label": (b"rose", b"daisy")[n % 2]},
            ("rose", "daisy"),
            ("0", "1"),
        ),
        (
            lambda n: {"class": (2, 10)[n % 2], "class_name": (b"rose", b"daisy")[n % 2]},
            ("rose", "daisy"),
            ("2", "10"),
        ),
        (
            lambda n: {"image__class__label": 1 + n % 2, "image__class__text": (b"b", b"a")[n % 2]},
            ("b", "a"),
            ("1", "2"),
        ),
        (lambda n: {"label": 1 + n % 2}, ("1", "2"), ("1", "2")),
        (lambda n: {"class": n % 2, "label": b"flower"}, ("0", "1"), ("0", "1")),
    ],
)
def test_classes_are_called_and_submitted_as_the_records_call_them(write, schema, names, submitted):
    data = write("all.tfrec", [record(image=picture(n), **schema(n)) for n in range(6)])
    source = find_source(data, SIZE)
    assert source.class_names == names
    assert sorted(labels(source)) == [0, 0, 0, 1, 1, 1]
    assert source.submitted == submitted
    assert source.is_numbered == (names == submitted)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("classes.json", '["oak", "elm"]'),
        ("labels.txt", "0:oak\n1:elm\n"),
        ("label.labels.txt", "oak\nelm\n"),
    ],
)
def test_a_list_of_names_beside_the_records_is_used(write, tmp_path, file, text):
    data = write("v1/train.tfrecord", [record(image=picture(n), label=n % 2) for n in range(4)])
    (tmp_path / "data" / "v1" / file).write_text(text)
    assert find_source(data, SIZE).class_names == ("oak", "elm")


def test_labels_outside_the_list_are_told(write, tmp_path):
    data = write("train.tfrecord", [record(image=picture(n), label=n) for n in range(4)])
    (tmp_path / "data" / "classes.json").write_text('["oak", "elm"]')
    with pytest.raises(DataError, match="the label 2 is not one of the 2 classes"):
        find_source(data, SIZE)


def test_labels_that_begin_with_1_are_told(write, tmp_path):
    data = write("a.tfrec", [record(image=picture(n), label=1 + n % 3) for n in range(6)])
    (tmp_path / "data/classes.json").write_text('["x", "y", "z"]')
    with pytest.raises(
        DataError, match=r"label 3 is not one of the 3 classes.*begin with 1 and the"
    ):
        find_source(data, SIZE)


def test_of_several_features_that_can_be_the_class_the_one_taken_is_said(write, capsys):
    records = [record(image=picture(n), label=n % 2, target=n % 3) for n in range(6)]
    data = write("a.tfrec", records)
    find_source(data, SIZE)
    assert "label is taken as the class; for target write data=…?class" in capsys.readouterr().out
    assert labels(find_source(f"{data}?class=target", SIZE)) == [0, 1, 2] * 2
    assert "is taken as" not in capsys.readouterr().out


def test_sources_with_other_lists_of_classes_are_not_mixed(write, tmp_path):
    for name in ("a", "b"):
        data = write(f"{name}/x.tfrec", [record(image=picture(n), label=n) for n in range(2)])
        (tmp_path / "data" / name / "classes.json").write_text(f'["{name}", "z"]')
    with pytest.raises(DataError, match=r"different lists of classes \(a and b\): .*by name"):
        find_source(data, SIZE)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"image": b"x", "class": [1, 2]}], r"record 0: class holds 2 values where one is needed"),
        ([{"image": b"x", "class": [1, 0, 1]}], "record 0: class holds 3 values, 2 of which are 1"),
        ([{"image": b"x", "class": [0.7, 0.3]}], "record 0: class holds 2 values where one is"),
        (
            [{"image": b"x", "class": 2}, {"image": b"x", "class": [0, 1]}],
            "has labels of 1 and of 2 values",
        ),
        ([{"image": b"x", "class": 1}, {"image": b"x"}], "record 1: class holds no value where"),
        ([{"image": [b"x", b"y"], "class": 1}], "record 0: image holds 2 values"),
        ([{"image": b"x", "class": -1}], "record 0: the label is -1, which is not a class"),
        ([{"image": b"x", "label": 0.5}], "record 0: the label is 0.5, which is not a class"),
        (
            [{"image": b"x", "score": 0.5}],
            r"record 0: nothing that looks like a label; .* score \(f",
        ),
        ([{"text": b"x"}], r"record 0: nothing that looks like an image; it has .* text \(bytes\)"),
        ([{"image": b"no picture", "label": 0}], "record 0: its image is of no known format"),
        ([], "holds no records|is empty"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(write, records, message):
    data = write("train.tfrecord", [record(**values) for values in records])
    with pytest.raises(DataError, match=message) as raised:
        find_source(data, SIZE)
    assert "\n" not in str(raised.value)
    assert "damaged" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid", "but a Git LFS pointer"),
        (b"PK\3\4" + bytes(50), "but a zip archive"),
        (b"<!DOCTYPE html><html>404</html>", "but a page of HTML"),
        (b"hello, this is no record of anything", "record 0 is damaged, or not a TFRecord file"),
        (b"", "is empty"),
    ],
)
def test_a_file_of_another_kind_is_told_as_what_it_is(write, tmp_path, content, message):
    data = write("train.tfrecord", [])
    (tmp_path / "data" / "train.tfrecord").write_bytes(content)
    with pytest.raises(DataError, match=message):
        find_source(data, SIZE)


def test_a_damaged_record_is_told_with_its_number(write, tmp_path):
    data = write("train.tfrecord", [record(image=picture(n), label=n) for n in range(4)])
    path = tmp_path / "data" / "train.tfrecord"
    content = bytearray(path.read_bytes())
    content[-20] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"train\.tfrecord: record 3 is damaged"):
        find_source(data, SIZE)


def test_a_record_that_differs_from_the_first_is_read_or_told(write):
    rows = [record(image=picture(n), label=n % 2) for n in range(3)]
    rows += [record(image=picture(n, kind="WEBP"), label=n % 2) for n in range(3, 6)]
    source = find_source(write("train.tfrecord", rows), SIZE)
    assert source.splits(SIZE)["train"].sample(6).images.shape == (6, SIZE, SIZE, 3)


def deep_png(value, kind=np.uint16):
    return tf.io.encode_png(np.full((SIZE, SIZE, 3), value, kind)).numpy()


def means(source):
    """The mean value of each image, as the input pipeline decodes it."""
    images = source.splits(SIZE)["train"].sample(4).images
    return images.mean(axis=(1, 2, 3)).tolist()


@pytest.mark.parametrize("place", ["train.tfrec", "tfrecords-jpeg-32x32/train/00-32x32-4.tfrec"])
def test_photos_of_12_bits_inside_records_have_one_scale(write, capsys, place):
    values = (4000, 3000, 2000, 1000)
    data = write(place, [standard(n, image=deep_png(v)) for n, v in enumerate(values)])
    source = find_source(data, SIZE)
    assert "photos of more than 8 bits: 4,095 is white in all of them" in capsys.readouterr().out
    assert means(source) == pytest.approx([value / 4095 * 255 for value in values], abs=2)


def test_a_later_record_of_12_bits_is_never_read_as_black(write, tmp_path):
    """Where the first record is a plain JPEG, the others are seen when all are read."""
    records = [standard(n) for n in range(3)] + [standard(3, image=deep_png(4000))]
    data = write("tfrecords-jpeg-32x32/train/00-32x32-4.tfrec", records)
    (tmp_path / "data/classes.json").write_text('["a", "b", "c"]')
    split = find_source(data, SIZE).splits(SIZE)["train"]
    with pytest.raises(DataError, match=r"image id3: its image is a PNG with .*16 bits a value"):
        split.labels_and_ids()


def saved(pixels, kind="PNG", **options):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def test_pictures_that_decoders_disagree_on_are_converted(write):
    """Hidden colours, frames, a turned photo: as in a folder of photos."""
    red = np.zeros((SIZE, SIZE, 4), np.uint8)
    red[:, :16] = (255, 0, 0, 255)
    red[:, 16:] = (0, 0, 255, 0)  # a blue that nobody sees
    solid = red[..., :3].copy()
    frames = {"save_all": True, "append_images": [Image.new("RGB", (SIZE, SIZE), "green")]}
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    images = [saved(red), saved(solid, "GIF", **frames), saved(solid, "JPEG", exif=exif)]
    data = write("a.tfrec", [record(image=image, label=n) for n, image in enumerate(images)])
    pictures = find_source(data, SIZE).splits(SIZE)["train"].sample(3).images.astype(int)
    clear, moving, turned = ((p[:, :14].mean((0, 1)), p[:, 18:].mean((0, 1))) for p in pictures)
    assert clear == (pytest.approx([254, 0, 0], abs=6), pytest.approx([255, 255, 255], abs=6))
    assert moving == (pytest.approx([254, 0, 0], abs=6), pytest.approx([0, 0, 254], abs=6))
    assert turned == (pytest.approx([0, 0, 254], abs=6), pytest.approx([254, 0, 0], abs=6))


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(99), "a HEIC, which cannot be decoded"),
        (saved(np.zeros((64, 64, 3), np.uint8), "JPEG")[:300], "a JPEG, which cannot be decoded"),
        (b"hello", "of no known format, which cannot be decoded"),
    ],
)
def test_an_image_that_no_decoder_reads_is_told_in_one_line(write, image, why):
    data = write("a.tfrec", [record(image=image, label=n) for n in range(2)])
    with pytest.raises(DataError, match=f"record 0: its image is {why}"):
        find_source(data, SIZE)


def test_a_second_run_finds_what_the_first_one_converted(write, capsys):
    data = write("train.tfrecord", [record(image=picture(n), label=n) for n in range(3)])
    first, told = find_source(data, SIZE), capsys.readouterr().out
    assert find_source(data, SIZE) == first
    assert capsys.readouterr().out == told
    write("train.tfrecord", [record(image=picture(n), label=n) for n in range(4)])
    assert find_source(data, SIZE).root != first.root

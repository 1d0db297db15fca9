import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from petals.data import shards
from petals.errors import DataError, SettingError, StorageError
from petals.prepare import ingest
from petals.prepare.ingest import Summary, encode, make_tfrecords
from petals.prepare.photos import Photo


def records(root, split, size=32):
    try:
        paths = shards.shard_paths(root, size, split)
    except DataError:
        return {}
    return {e.id: e for path in paths for e in shards.read_shard(path)}


def test_every_photo_lands_in_one_split(photos, tmp_path):
    summary = make_tfrecords(photos, tmp_path / "out", sizes=(32, 16))
    splits_read = {split: records(tmp_path / "out", split) for split in shards.SPLITS}
    assert all(splits_read.values())
    assert sum(map(len, splits_read.values())) == len(set().union(*splits_read.values())) == 60
    assert all(e.label in (0, 1, 2) for e in splits_read["train"].values())
    assert all(e.label == shards.UNLABELLED for e in splits_read["test"].values())
    assert {s: sum(c.values()) for s, c in summary.images.items()} == {
        s: len(r) for s, r in splits_read.items()
    }
    assert json.loads((tmp_path / "out/classes.json").read_text()) == ["blue", "red", "yellow"]
    for split in shards.SPLITS:
        assert set(records(tmp_path / "out", split, 16)) == set(splits_read[split])
    image = Image.open(io.BytesIO(next(iter(splits_read["train"].values())).image))
    assert (image.size, image.mode, image.format) == ((32, 32), "RGB", "JPEG")


def test_a_photo_never_changes_sides(photos, tmp_path):
    make_tfrecords(photos, tmp_path / "before", sizes=(32,))
    for number, path in enumerate(sorted(photos.glob("*/*.jpg"))):
        if number % 3 == 0:
            path.unlink()
    (photos / "red").rename(photos / "crimson")
    make_tfrecords(photos, tmp_path / "after", sizes=(32,))
    sides = [
        {id_: split for split in shards.SPLITS for id_ in records(tmp_path / when, split)}
        for when in ("before", "after")
    ]
    assert [len(side) for side in sides] == [60, 40]
    assert sides[1].items() <= sides[0].items()


def test_each_class_is_divided_by_the_shares(tmp_path):
    digests = [f"{i:032x}" for i in range(0, 2**128, 2**128 // 997)]
    members = [Photo(tmp_path, i % 2, d[::-1]) for i, d in enumerate(digests)]
    settings = ingest.IngestSettings(val=0.2, test=0.1)
    plan = ingest._Ingest(settings, Summary(tmp_path, ["a", "b"]), None, None)._plan(members)
    for label in (0, 1):
        shares = [
            sum(p.label == label for shard in plan if shard.split == split for p in shard.photos)
            for split in ("train", "val", "test")
        ]
        assert np.allclose(np.array(shares) / sum(shares), (0.7, 0.2, 0.1), atol=0.05)


@pytest.fixture
def odd(photos):
    """All that people's folders hold besides plain photos."""
    folder = photos / "red"
    rgb = Image.open(folder / "00.jpg")
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "notes.jpg").write_text("not a photo")
    (folder / "cut.jpg").write_bytes((folder / "01.jpg").read_bytes()[:700])
    shutil.copy(folder / "02.jpg", folder / "again.jpg")
    shutil.copy(folder / "03.jpg", photos / "yellow" / "wrong.jpg")
    rgb.convert("L").save(folder / "grey.png")
    rgb.convert("CMYK").save(folder / "print.jpg")
    Image.fromarray(np.linspace(0, 65535, 48 * 48).reshape(48, 48).astype(np.uint16)).save(
        folder / "deep.png"
    )
    rgb.convert("RGBA").save(folder / "clear.png")
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(np.zeros((60, 30, 3), np.uint8) + 90).save(folder / "turned.jpg", exif=turned)
    return photos


def test_odd_photos_are_handled_and_the_rest_named(odd, tmp_path):
    summary = make_tfrecords(odd, tmp_path / "out", sizes=(32,))
    why = {"/".join(path.split("/")[-2:]): reason for path, reason in summary.left_out.items()}
    assert why.keys() == {
        "red/empty.jpg",
        "red/notes.jpg",
        "red/cut.jpg",
        "red/again.jpg",
        "yellow/wrong.jpg",
    }
    for name in ("empty", "notes", "cut"):
        assert "not a whole image" in why[f"red/{name}.jpg"]
    assert "same bytes as" in why["red/again.jpg"]
    assert "ANOTHER class" in why["yellow/wrong.jpg"]
    assert all(name in str(summary) for name in why)
    assert sum(map(len, (records(tmp_path / "out", s) for s in shards.SPLITS))) == 65

    moved = make_tfrecords(odd.rename(tmp_path / "moved"), tmp_path / "out", sizes=(32,))
    assert (moved.shards_written, moved.images) == (0, summary.images)
    assert moved.left_out.keys() == {
        p.replace(str(odd), f"{tmp_path}/moved") for p in summary.left_out
    }


def test_a_photo_that_may_not_be_read_is_left_out(photos, tmp_path, monkeypatch):
    read = Path.read_bytes

    def refused(path):
        if path.name == "00.jpg":
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refused)
    summary = make_tfrecords(photos, tmp_path / "out", sizes=(32,))
    assert set(summary.left_out.values()) == {"cannot be read (Permission denied)"}
    assert sum(counts.total() for counts in summary.images.values()) == 57


def test_exif_rotation_is_undone(tmp_path):
    turned = Image.Exif()
    turned[0x0112] = 6  # the camera was held a quarter turn
    pixels = np.zeros((40, 40, 3), np.uint8)
    pixels[:20] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=turned)
    (encoded,) = encode(tmp_path / "a.png", [40])
    image = np.asarray(Image.open(io.BytesIO(encoded))).mean(axis=2)
    assert image[:, 30:].mean() > 240  # what was on top is on the right
    assert image[:, :10].mean() < 15


def test_sixteen_bits_keep_their_brightness(tmp_path):
    Image.fromarray(np.full((8, 8), 32768, np.uint16)).save(tmp_path / "a.png")
    (encoded,) = encode(tmp_path / "a.png", [8])
    assert abs(int(np.asarray(Image.open(io.BytesIO(encoded))).mean()) - 127) <= 2


def test_the_middle_square_is_kept(tmp_path):
    pixels = np.zeros((20, 40, 3), np.uint8)
    pixels[:, :10] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    (jpeg,) = encode(tmp_path / "a.png", [20])
    assert np.asarray(Image.open(io.BytesIO(jpeg))).mean() < 10


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(ingest, "FEWEST_IN_A_SHARD", 4)


def test_a_second_call_writes_nothing_and_a_third_only_what_is_missing(
    photos, tmp_path, small_shards
):
    first = make_tfrecords(photos, tmp_path / "out", sizes=(32,))
    again = make_tfrecords(photos, tmp_path / "out", sizes=(32,))
    assert first.shards_written > 6
    assert again.shards_written == 0
    assert again.images == first.images
    next((tmp_path / "out").glob("*/train/*.tfrec")).unlink()
    assert make_tfrecords(photos, tmp_path / "out", sizes=(32,)).shards_written == 1


def test_shards_of_photos_that_are_gone_go_too(photos, tmp_path):
    make_tfrecords(photos, tmp_path / "out", sizes=(32,))
    shutil.rmtree(photos / "red")
    summary = make_tfrecords(photos, tmp_path / "out", sizes=(32,))
    assert sum(len(records(tmp_path / "out", s)) for s in shards.SPLITS) == 40
    assert summary.class_names == ["blue", "yellow"]


def test_interrupted_it_keeps_whole_shards_and_goes_on(photos, tmp_path, small_shards):
    def stop(what, done, total):
        if what == "writing" and done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_tfrecords(photos, tmp_path / "out", sizes=(32,), progress=stop)
    shards_left = list((tmp_path / "out").rglob("*.tfrec"))
    assert shards_left
    assert not any("part" in path.name for path in (tmp_path / "out").rglob("*"))
    summary = make_tfrecords(photos, tmp_path / "out", sizes=(32,))
    every = list((tmp_path / "out").rglob("*.tfrec"))
    assert summary.shards_written == len(every) - len(shards_left)


def test_it_says_which_classes_lack_photos(photos, tmp_path):
    for path in sorted((photos / "red").iterdir())[1:]:
        path.unlink()
    summary = make_tfrecords(photos, tmp_path / "out", sizes=(32,))
    assert "so add some: red" in str(summary)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": ()}, "give one or more"),
        ({"sizes": (4,)}, "from 8 to 4096"),
        ({"val": 0.6, "test": 0.5}, "less than 1 in sum"),
        ({"val": 0.9}, "val 0.9 and test 0.2"),
    ],
)
def test_settings_out_of_range(photos, tmp_path, settings, message):
    with pytest.raises(SettingError, match=message):
        make_tfrecords(photos, tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()


def test_folders_without_photos(photos, tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        make_tfrecords(tmp_path / "none", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no class folders"):
        make_tfrecords(tmp_path / "empty", tmp_path / "out")
    (tmp_path / "text" / "a").mkdir(parents=True)
    (tmp_path / "text" / "a" / "a.txt").write_text("")
    with pytest.raises(DataError, match="no usable photo"):
        make_tfrecords(tmp_path / "text", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_output_that_cannot_be_written(photos, tmp_path):
    (tmp_path / "out").write_text("a file, no folder")
    with pytest.raises(StorageError, match="cannot write"):
        make_tfrecords(photos, tmp_path / "out", sizes=(32,))


@pytest.fixture
def labelled(photos, tmp_path):
    """The photos in one folder, and a CSV of their labels."""
    rows = ["file,label"]
    (tmp_path / "flat" / "more").mkdir(parents=True)
    for number, path in enumerate(sorted(photos.glob("*/*.jpg"))):
        name = f"{'more/' if number % 2 else ''}{number}.jpg"
        shutil.copy(path, tmp_path / "flat" / name)
        rows.append(f"{name},{path.parent.name}")
    (tmp_path / "labels.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "flat", tmp_path / "labels.csv"


def test_a_csv_of_labels_gives_what_class_folders_give(photos, labelled, tmp_path):
    folder, table = labelled
    make_tfrecords(photos, tmp_path / "a", sizes=(32,))
    summary = make_tfrecords(folder, tmp_path / "b", sizes=(32,), labels=table)
    assert summary.class_names == ["blue", "red", "yellow"]
    for split in shards.SPLITS:
        assert records(tmp_path / "a", split) == records(tmp_path / "b", split)


def test_a_csv_as_people_save_them(labelled, tmp_path):
    folder, table = labelled
    rows = table.read_text().replace("file,label", "id,label,file").splitlines()
    quoted = [
        rows[0],
        *(
            f'{n},"{row.split(",")[1]}, dark", {row.split(",")[0]}'
            for n, row in enumerate(rows[1:])
        ),
    ]
    table.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(quoted).encode())
    summary = make_tfrecords(folder, tmp_path / "out", sizes=(32,), labels=table)
    assert summary.class_names == ["blue, dark", "red, dark", "yellow, dark"]
    assert sum(map(len, (records(tmp_path / "out", s) for s in shards.SPLITS))) == 60


def test_labels_that_are_numbers_keep_their_order(labelled, tmp_path):
    folder, table = labelled
    text = table.read_text()
    for name, number in (("blue", "10"), ("red", "2"), ("yellow", "0")):
        text = text.replace(f",{name}", f",{number}")
    table.write_text(text)
    summary = make_tfrecords(folder, tmp_path / "out", sizes=(32,), labels=table)
    assert summary.class_names == ["0", "2", "10"]


def test_bad_rows_of_a_csv_are_named_and_nothing_is_written(labelled, tmp_path):
    folder, table = labelled
    table.write_text(
        "file,label\n0.jpg,blue\nnone.jpg,red\n2.jpg,\n,red\n0.jpg,red\n"
        "more/1.jpg,\x1b[2Jred\n\n" + "n" * 300 + ".jpg,red\n6.jpg\n"
    )
    with pytest.raises(DataError) as raised:
        make_tfrecords(folder, tmp_path / "out", sizes=(32,), labels=table)
    head, *lines = str(raised.value).splitlines()
    assert head == f"{table}: 7 bad of 8 rows; nothing was written"
    assert lines[:5] == [
        f"  no file 'none.jpg' in {folder}",
        "  '2.jpg' has the label ''",
        f"  no file '' in {folder}",
        "  '0.jpg' is listed twice",
        "  'more/1.jpg' has the label '\\x1b[2Jred'",
    ]
    assert lines[5].startswith("  no file 'nnn")
    assert lines[6] == "  '6.jpg' has the label ''"
    assert not (tmp_path / "out").exists()


def test_only_the_first_bad_rows_are_shown(labelled, tmp_path):
    folder, table = labelled
    table.write_text("file,label\n" + "".join(f"x{n}.jpg,red\n" for n in range(500)))
    with pytest.raises(DataError, match="500 bad of 500 rows") as raised:
        make_tfrecords(folder, tmp_path / "out", labels=table)
    assert len(str(raised.value).splitlines()) == 21


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bad of 0 rows"),
        (b"file,label\n", "0 bad of 0 rows"),
        (b"file;label\na;b\n", "'file'.*whose first line names the columns"),
        (b"file,class\na,b\n", "'label'"),
        ("file,label\n0.jpg,ros\u00e9".encode("latin-1"), "codec can't decode.*in UTF-8"),
        (b'file,label\n0.jpg,"red\n', "unexpected end of data"),
        (b"file,label\n0.jpg,red,dark\n", "'0.jpg' has the label 'red' and more"),
    ],
)
def test_files_that_are_no_csv_of_labels(labelled, tmp_path, content, message):
    folder, table = labelled
    table.write_bytes(content)
    with pytest.raises(DataError, match=message):
        make_tfrecords(folder, tmp_path / "out", labels=table)
    assert not (tmp_path / "out").exists()


def test_places_that_are_not_there(labelled, tmp_path):
    folder, table = labelled
    (tmp_path / "empty").mkdir()
    for options, message in (
        ({"labels": tmp_path / "none.csv"}, r"cannot read .*none\.csv"),
        ({"labels": folder}, "cannot read .*flat"),
        ({"labels": table, "test_photos": tmp_path / "none"}, "no such folder: .*none"),
        (
            {"labels": table, "test_photos": tmp_path / "empty"},
            "no files without a label in .*empty",
        ),
    ):
        with pytest.raises(DataError, match=message):
            make_tfrecords(folder, tmp_path / "out", **options)
    with pytest.raises(DataError, match=r"no such folder: .*nowhere"):
        make_tfrecords(tmp_path / "nowhere", tmp_path / "out", labels=table)
    assert not (tmp_path / "out").exists()


def test_test_photos_of_ones_own(photos, tmp_path):
    own = photos / "unknown"  # beside the class folders, of which it is none
    (own / "more").mkdir(parents=True)
    fresh = [own / "a.png", own / "more" / "b.png", own / "again.png"]
    for number, path in enumerate(fresh):
        Image.fromarray(np.full((40, 40, 3), 20 + min(number, 1), np.uint8)).save(path)
    (own / "notes.txt").write_text("no photo")
    shutil.copy(photos / "red" / "00.jpg", own / "seen.jpg")
    (own / "a.png").rename(own / "\udce9.png")  # a name in Latin-1
    summary = make_tfrecords(photos, tmp_path / "out", sizes=(32,), test_photos=own)
    assert summary.class_names == ["blue", "red", "yellow"]
    splits_read = {split: records(tmp_path / "out", split) for split in shards.SPLITS}
    assert {split: len(examples) for split, examples in splits_read.items() if split == "test"} == {
        "test": 3
    }
    assert all(example.label == shards.UNLABELLED for example in splits_read["test"].values())
    # All other photos are there to learn from: none that is in the test, and no share goes there.
    assert len(splits_read["train"]) + len(splits_read["val"]) == 59
    left = str(photos / "red" / "00.jpg")
    assert summary.left_out[left] == f"same bytes as {own / 'seen.jpg'}"
    # Each file's row of a submission can be told.
    lines = (tmp_path / "out" / "test_photos.csv").read_text().splitlines()
    rows = dict(line.split(",")[::-1] for line in lines[1:])
    assert lines[0] == "id,file"
    assert sorted(rows) == ["\\udce9.png", "again.png", "more/b.png", "seen.jpg"]
    assert set(rows.values()) == set(splits_read["test"])
    assert rows["again.png"] == rows["more/b.png"]

    make_tfrecords(photos, tmp_path / "out", sizes=(32,), test_photos=own)
    shutil.rmtree(own)
    make_tfrecords(photos, tmp_path / "out", sizes=(32,))
    assert not (tmp_path / "out" / "test_photos.csv").exists()


def test_the_rest_of_a_folder_can_be_the_test_photos(labelled, tmp_path):
    folder, table = labelled
    rows = table.read_text().splitlines()
    table.write_text("\n".join(rows[:-5]) + "\n")
    make_tfrecords(folder, tmp_path / "out", sizes=(32,), labels=table, test_photos=folder)
    splits_read = {split: records(tmp_path / "out", split) for split in shards.SPLITS}
    assert len(splits_read["test"]) == 5
    assert len(splits_read["train"]) + len(splits_read["val"]) == 55
    with pytest.raises(DataError, match="no files without a label"):
        table.write_text("\n".join(rows) + "\n")
        make_tfrecords(folder, tmp_path / "none", labels=table, test_photos=folder)

import io
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from petals.data import shards
from petals.errors import DataError, SettingError
from petals.prepare import ingest
from petals.prepare.ingest import Summary, encode, make_tfrecords
from petals.prepare.photos import Photo

QUARTER_TURN = Image.Exif()
QUARTER_TURN[0x0112] = 6  # how the camera was held


@pytest.fixture
def make(photos, tmp_path):
    """Makes `out` from the class folders, or from another folder."""

    def make(folder=photos, output="out", **options):
        return make_tfrecords(folder, tmp_path / output, **{"sizes": (32,)} | options)

    return make


@pytest.fixture
def written(tmp_path):
    """The examples of each split by their ids."""

    def written(output="out", size=32):
        splits = {}
        for split in shards.SPLITS:
            paths = Path(shards.folder(tmp_path / output, size, split)).glob("*.tfrec")
            splits[split] = {e.id: e for path in paths for e in shards.read_shard(path)}
        return splits

    return written


def count(splits):
    return sum(map(len, splits.values()))


def test_every_photo_lands_in_one_split(make, written, tmp_path):
    summary = make(sizes=(32, 16))
    splits = written()
    assert all(splits.values())
    assert count(splits) == len(set().union(*splits.values())) == 60
    assert all(e.label in (0, 1, 2) for e in splits["train"].values())
    assert all(e.label == shards.UNLABELLED for e in splits["test"].values())
    assert {s: n.total() for s, n in summary.images.items()} == {s: len(splits[s]) for s in splits}
    assert json.loads((tmp_path / "out/classes.json").read_text()) == ["blue", "red", "yellow"]
    assert {s: set(e) for s, e in written(size=16).items()} == {s: set(splits[s]) for s in splits}
    image = Image.open(io.BytesIO(next(iter(splits["train"].values())).image))
    assert (image.size, image.mode, image.format) == ((32, 32), "RGB", "JPEG")


def test_a_photo_never_changes_sides(make, written, photos):
    make(output="before")
    for path in sorted(photos.glob("*/*.jpg"))[::3]:
        path.unlink()
    (photos / "red").rename(photos / "crimson")
    make(output="after")
    before, after = (
        {id_: split for split, examples in written(output).items() for id_ in examples}
        for output in ("before", "after")
    )
    assert (len(before), len(after)) == (60, 40)
    assert after.items() <= before.items()


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
    deep = np.linspace(0, 65535, 48 * 48).reshape(48, 48).astype(np.uint16)
    Image.fromarray(deep).save(folder / "deep.png")
    rgb.convert("RGBA").save(folder / "clear.png")
    turned = Image.fromarray(np.zeros((60, 30, 3), np.uint8) + 90)
    turned.save(folder / "turned.jpg", exif=QUARTER_TURN)
    return photos


def test_odd_photos_are_handled_and_the_rest_named(make, written, odd, tmp_path):
    summary = make()
    why = {"/".join(path.split("/")[-2:]): reason for path, reason in summary.left_out.items()}
    for name in ("empty", "notes", "cut"):
        assert "not a whole image" in why.pop(f"red/{name}.jpg")
    assert "same bytes as" in why.pop("red/again.jpg")
    assert "ANOTHER class" in why.pop("yellow/wrong.jpg")
    assert why == {}
    assert all(path in str(summary) for path in summary.left_out)
    assert count(written()) == 65

    moved = make(odd.rename(tmp_path / "moved"))
    assert (moved.shards_written, moved.images) == (0, summary.images)
    assert {path.replace("/moved/", "/photos/") for path in moved.left_out} == set(summary.left_out)


def test_a_photo_that_may_not_be_read_is_left_out(make, monkeypatch):
    read = Path.read_bytes

    def refused(path):
        if path.name == "00.jpg":
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refused)
    summary = make()
    assert set(summary.left_out.values()) == {"cannot be read (Permission denied)"}
    assert sum(labels.total() for labels in summary.images.values()) == 57


def test_a_photo_of_more_pixels_than_pillow_decodes_is_named(make, photos, monkeypatch):
    Image.new("L", (100, 100)).save(photos / "red" / "vast.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4000)  # it refuses twice as many
    assert f"left out: {photos}/red/vast.png: more than 179 megapixels" in str(make())


def test_a_photo_of_which_pillow_would_warn_is_read_quietly(tmp_path):
    Image.new("L", (100, 100)).save(tmp_path / "large.png")
    code = (
        "import sys; from pathlib import Path; from PIL import Image\n"
        "Image.MAX_IMAGE_PIXELS = 6000\n"
        "from petals.data.photo_files import squares\n"
        "print(squares(Path(sys.argv[1]), [50])[0].size)"
    )
    command = [sys.executable, "-c", code, tmp_path / "large.png"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("(50, 50)\n", "")


def encoded(path, pixels, size, name="a.png", **options):
    """A picture's grey values after it was saved and made a square."""
    Image.fromarray(pixels).save(path / name, **options)
    (jpeg,) = encode(path / name, [size])
    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("L"))


def test_exif_rotation_is_undone(tmp_path):
    pixels = np.zeros((40, 40, 3), np.uint8)
    pixels[:20] = 255
    image = encoded(tmp_path, pixels, 40, exif=QUARTER_TURN)
    assert image[:, 30:].mean() > 240  # what was on top is on the right
    assert image[:, :10].mean() < 15


@pytest.mark.parametrize(
    ("half", "full"),
    [(np.uint16(2**15), 2**16 - 1), (np.float32(0.5), 1), (np.int32(2**30), 2**31)],
)
def test_more_than_eight_bits_keep_their_brightness(tmp_path, half, full):
    pixels = np.full((8, 8), half)
    pixels[0, 0] = full - (full > 1)
    assert abs(encoded(tmp_path, pixels, 8, "a.tif")[4:].mean() - 127) <= 2


def test_the_middle_square_is_kept(tmp_path):
    pixels = np.zeros((20, 40, 3), np.uint8)
    pixels[:, :10] = 255
    assert encoded(tmp_path, pixels, 20).mean() < 10


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(ingest, "FEWEST_IN_A_SHARD", 4)


def test_a_second_call_writes_nothing_and_a_third_only_what_is_missing(
    make, tmp_path, small_shards
):
    first, again = make(), make()
    assert first.shards_written > 6
    assert again.shards_written == 0
    assert again.images == first.images
    next((tmp_path / "out").glob("*/train/*.tfrec")).unlink()
    assert make().shards_written == 1


def test_shards_of_photos_that_are_gone_go_too(make, written, photos):
    make()
    shutil.rmtree(photos / "red")
    assert make().class_names == ["blue", "yellow"]
    assert count(written()) == 40


def stop_half_way(what, done, total):
    if what == "writing" and done > total // 2:
        raise KeyboardInterrupt


def test_killed_while_it_replaces_the_dataset_it_goes_on(make, written, monkeypatch):
    replace, moved = Path.replace, []

    def killed(path, target):
        if ".new" in path.parts and ".new" not in target.parts:
            moved.append(path)
            if len(moved) == 2:  # the first shard is there in one size
                raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "replace", killed)
        make(sizes=(32, 16))
    make(sizes=(32, 16))
    assert count(written()) == count(written(size=16)) == 60


def test_interrupted_it_leaves_the_dataset_as_it_was_and_goes_on(
    make, written, photos, small_shards
):
    count, before = make().shards_written, written()
    (photos / "red").rename(photos / "a")  # the same photos under other labels
    with pytest.raises(KeyboardInterrupt):
        make(progress=stop_half_way)
    assert written() == before, "labels of two calls are never mixed"
    (photos / "a").rename(photos / "red")
    assert make().shards_written == 0
    (photos / "red").rename(photos / "a")
    with pytest.raises(KeyboardInterrupt):
        make(progress=stop_half_way)
    assert 0 < make().shards_written < count


def test_it_tells_shards_and_how_evenly_photos_are_spread(make, photos):
    for path in sorted((photos / "red").iterdir())[1:]:
        path.unlink()
    (photos / "blue" / "00.jpg").unlink()
    first, again = str(make(sizes=(32, 64))), str(make(sizes=(32, 64)))
    assert "6 of them new\n" in first
    assert "0 of them new\n" in again
    assert "\nfewest photos: red (1); most: yellow (20)\n" in first
    assert "so add some: red" in first


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": ()}, "give one or more"),
        ({"sizes": (4,)}, "from 8 to 4096"),
        ({"val": 0.9}, "val 0.9 and test 0.2"),
    ],
)
def test_settings_out_of_range(make, tmp_path, settings, message):
    with pytest.raises(SettingError, match=message):
        make(**settings)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("empty", "no class folders"),
        ("text", "no usable photo"),
        ("single", r"of one class \(a\)"),
    ],
)
def test_folders_without_photos(make, tmp_path, folder, message):
    (tmp_path / "empty").mkdir()
    for name in ("text/a", "text/b", "single/a"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.txt").write_text("")
    with pytest.raises(DataError, match=message):
        make(tmp_path / folder)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("output", ["photos", "photos/red/out", "own/out"])
def test_an_output_among_the_photos_is_refused(make, photos, tmp_path, output):
    own = shutil.copytree(photos / "red", tmp_path / "own")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DataError, match="is in the photos' folder"):
        make(output=output, test_photos=own)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def table(photos, tmp_path):
    """A CSV of the labels of the photos, which are in the folder `flat`."""
    rows = ["file,label"]
    (tmp_path / "flat" / "more").mkdir(parents=True)
    for number, path in enumerate(sorted(photos.glob("*/*.jpg"))):
        name = f"{'more/' if number % 2 else ''}{number}.jpg"
        shutil.copy(path, tmp_path / "flat" / name)
        rows.append(f"{name},{path.parent.name}")
    (tmp_path / "labels.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "labels.csv"


@pytest.fixture
def make_labelled(make, table, tmp_path):
    return lambda **options: make(tmp_path / "flat", **{"labels": table} | options)


def test_a_csv_of_labels_gives_what_class_folders_give(make, make_labelled, written):
    make(output="a")
    assert make_labelled(output="flat").class_names == ["blue", "red", "yellow"]
    assert written("a") == written("flat"), "only listed files are photos"


def test_a_csv_as_people_save_them(make_labelled, written, table):
    _, *rows = [line.split(",") for line in table.read_text().splitlines()]
    quoted = [f'{n},"{label}, dark", {name}' for n, (name, label) in enumerate(rows)]
    table.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(["id,label,file", *quoted]).encode())
    assert make_labelled().class_names == ["blue, dark", "red, dark", "yellow, dark"]
    assert count(written()) == 60


@pytest.mark.parametrize(
    "form", ["semicolons", "no header", "spaces", "stems", "paths", "mount", "one-hot", "other"]
)
def test_a_csv_as_others_share_them(make_labelled, table, tmp_path, form):
    rows = [line.split(",") for line in table.read_text().splitlines()[1:]]
    separator = ","
    if form == "semicolons":
        separator = ";"
        rows = [["Image", "Species"], *rows]
    elif form == "spaces":
        separator = " "
    elif form == "mount":
        rows = [["path", "label"], *([f"/kaggle/in/x/more/{name}", label] for name, label in rows)]
        (tmp_path / "flat").rename(tmp_path / "more")
        (tmp_path / "flat").mkdir()
        (tmp_path / "more").rename(tmp_path / "flat/more")
    elif form == "stems":
        rows = [["image_id", "label"], *([Path(name).stem, label] for name, label in rows)]
    elif form == "paths":
        rows = [["path", "class"], *([f"C:\\x\\flat\\{name}", label] for name, label in rows)]
    elif form == "one-hot":
        names = ("yellow", "blue", "red")
        rows = [[name, *(f"{float(label == each)}" for each in names)] for name, label in rows]
        rows = [["image", *names], *rows]
    elif form == "other":
        rows = [[name, label, "2020"] for name, label in rows]
        rows = [["which", "breed", "year"], *rows]
    encoding = "utf-16" if form == "semicolons" else "utf-8"
    table.write_text("\n".join(map(separator.join, rows)), encoding)
    summary = make_labelled()
    assert summary.class_names == ["blue", "red", "yellow"]
    assert sum(labels.total() for labels in summary.images.values()) == 60
    said = {
        "semicolons": "the file is taken from Image, the label from Species",
        "no header": "has no line of columns",
        "one-hot": "one of its 3 columns is 1 in each row",
        "spaces": "has no line of columns",
        "other": "the file is taken from which, the label from breed",
    }
    assert said.get(form, "") in str(summary)
    assert (form == "other") == ("other columns are not used: year" in str(summary))


def add_column(table, name, value):
    """Give the table another column; `value` is what a row has there, by its number and cells."""
    head, *rows = table.read_text().splitlines()
    rows = [f"{row},{value(number, *row.split(','))}" for number, row in enumerate(rows)]
    table.write_text("\n".join([f"{head},{name}", *rows]))


def test_a_column_of_splits_gives_the_splits(make_labelled, written, table, tmp_path):
    add_column(table, "data set", lambda number, *row: ("train", "valid", "test")[number % 3])
    summary = make_labelled()
    assert {split: len(examples) for split, examples in written().items()} == {
        "train": 20,
        "val": 20,
        "test": 20,
    }
    assert all(e.label == shards.UNLABELLED for e in written()["test"].values())
    listed_in_test = [line.split(",")[0] for line in table.read_text().splitlines()[3::3]]
    lines = (tmp_path / "out/test_photos.csv").read_text().splitlines()
    assert sorted(line.split(",")[1] for line in lines[1:]) == sorted(listed_in_test)
    assert "the split is taken from data set" in str(summary)


def test_a_column_of_true_and_false_can_be_the_validation_split(make_labelled, written, table):
    add_column(table, "is_valid", lambda number, *row: number % 4 == 0)
    make_labelled()
    assert len(written()["val"]) == 15
    assert not written()["test"], "who divides the photos by himself gets no other split"


def test_rows_of_the_test_split_need_no_label_and_make_no_class(make_labelled, written, table):
    text = table.read_text().replace("0.jpg,blue", "0.jpg,").replace("2.jpg,blue", "2.jpg,unknown")
    table.write_text(text)
    known = ("blue", "red", "yellow")
    add_column(table, "split", lambda number, file, label: "train" if label in known else "test")
    assert make_labelled().class_names == ["blue", "red", "yellow"]
    assert written()["test"]


def test_columns_that_are_not_used_are_told(make_labelled, table):
    add_column(table, "fold", lambda number, *row: number % 5)
    assert "other columns are not used: fold" in str(make_labelled())


def test_labels_that_stand_for_no_value_are_told(make_labelled, table):
    table.write_text(table.read_text().replace("0.jpg,blue", "0.jpg,NaN"))
    assert "photos have the label 'NaN', which is learnt as a class" in str(make_labelled())


def test_absolute_paths_are_photos_of_a_folder_that_is_named_relatively(
    make_labelled, make, table, tmp_path, monkeypatch
):
    rows = [line.split(",") for line in table.read_text().splitlines()[1:]]
    lines = [f"{tmp_path}/flat/{name},{label}" for name, label in rows]
    table.write_text("\n".join(["file,label", *lines]))
    monkeypatch.chdir(tmp_path)
    there = make_labelled().left_out
    named = make(Path("flat"), labels=table).left_out
    assert [Path(path).name for path in named] == [Path(path).name for path in there]


def test_test_photos_in_two_folders_are_named_from_their_own(make, table, tmp_path):
    add_column(table, "split", lambda number, *row: ("train", "val", "test")[number % 3])
    (tmp_path / "apart").mkdir()
    Image.new("RGB", (40, 40), "white").save(tmp_path / "apart/white.png")
    make(tmp_path / "flat", labels=table, test_photos=tmp_path / "apart")
    names = (tmp_path / "out/test_photos.csv").read_text()
    assert ",white.png\n" in names
    assert len(names.splitlines()) == 22


def test_a_csv_never_labels_test_photos_that_have_the_names_of_others(make, table, tmp_path):
    (tmp_path / "flat").rename(tmp_path / "test")
    (tmp_path / "in").mkdir()
    (tmp_path / "test").rename(tmp_path / "in/test")
    with pytest.raises(DataError, match="60 of 60 rows are wrong"):
        make(tmp_path / "in", labels=table)


def test_labels_that_are_made_of_others_are_told(make_labelled, table):
    text = table.read_text()
    table.write_text(text.replace("0.jpg,blue", "0.jpg,blue red"))
    assert "1 labels are made of others, such as 'blue red'" in str(make_labelled())


def test_lists_of_labels_are_told(make_labelled, table):
    head, *rows = table.read_text().splitlines()
    pairs = [row.split(",") for row in rows]
    lines = [f"{name},['{label}']" for name, label in pairs]
    lines[0] = f"{pairs[0][0]},\"['blue', 'red']\""
    table.write_text("\n".join([head, *lines]))
    assert "1 labels are made of others, such as \"['blue', 'red']\"" in str(make_labelled())


@pytest.mark.parametrize(
    ("values", "told"), [(("1.0", "2", "3"), False), (("0.5", "1", "2"), True)]
)
def test_labels_that_are_fractions_are_told(make_labelled, table, values, told):
    text = table.read_text()
    for name, value in zip(("blue", "red", "yellow"), values, strict=True):
        text = text.replace(f",{name}", f",{value}")
    table.write_text(text)
    summary = make_labelled()
    assert len(summary.class_names) == 3
    assert told == ("labels are fractions, such as 0.5" in str(summary))


@pytest.mark.parametrize("numbers", [("0", "2", "10"), ("02", "2", "3")])
def test_labels_that_are_numbers_keep_their_order(make_labelled, table, numbers):
    text = table.read_text()
    for name, number in zip(("blue", "red", "yellow"), numbers, strict=True):
        text = text.replace(f",{name}", f",{number}")
    table.write_text(text)
    assert make_labelled().class_names == sorted(sorted(numbers), key=int)


def test_bad_rows_of_a_csv_are_named_and_nothing_is_written(make_labelled, table, tmp_path):
    folder = tmp_path / "flat"
    table.write_text(
        "file,label\n0.jpg,blue\nnone.jpg,red\n2.jpg,\n,red\n0.jpg,red\n"
        "more/1.jpg,\x1b[2Jred\n\n" + "n" * 300 + ".jpg,red\n6.jpg\n"
    )
    with pytest.raises(DataError) as raised:
        make_labelled()
    head, *lines = str(raised.value).splitlines()
    assert head == f"{table}: 7 of 8 rows are wrong; nothing was written"
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "lists no photos"),
        (b"file,label\n", "lists no photos"),
        (b'[\n {"file": "0.jpg", "label": "red"}]', "is JSON and no CSV"),
        (b'{"file": "0.jpg", "label": "red"}\n', "is JSON and no CSV"),
        (b"PAR1\x15\x04\x15\x10PAR1", "is Parquet and no CSV"),
        (b"PK\x03\x04\x14\x00", "is a zip archive or an Excel file and no CSV"),
        (b"file,label,split\n0.jpg,red,test\n2.jpg,,train\n", "'2.jpg' has the label ''"),
        (b"file;label\na;b\n", "no file 'a' in"),
        (b"one,two,three\na,b,c\n", "columns one, two, three: it cannot be told which"),
        (b"file\n0.jpg\n", "columns file: it cannot be told which"),
        (b"file,a,b\n0.jpg,0,2\n", "columns file, a, b: it cannot be told which"),
        (b"file,a,b\n0.jpg,1,0\n2.jpg,1,1\n", "of 2 rows 1 have 2. Photos of several classes"),
        (b"file,label\n0,red\n", "'0' can be any of 0.jpg, 0.png"),
        ("file,label\n0.jpg,ros\u00e9".encode("latin-1"), "codec can't decode.*in UTF-8"),
        (b'file,label\n0.jpg,"red\n', "unexpected end of data"),
        (b"file,label\n" + 500 * b"none,red\n", r"500 of 500 rows(.*\n){20}[^\n]*\Z"),
        (b"file,label\n0.jpg,red,dark\n", "'0.jpg' has the label 'red' and more"),
    ],
)
def test_files_that_are_no_csv_of_labels(make_labelled, table, tmp_path, content, message):
    table.write_bytes(content)
    shutil.copy(tmp_path / "flat/2.jpg", tmp_path / "flat/0.png")
    with pytest.raises(DataError, match=message):
        make_labelled()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "place", "message"),
    [
        ("labels", "none.csv", r"cannot read .*none\.csv"),
        ("labels", "flat", "cannot read .*flat"),
        ("test_photos", "none", "no such folder: .*none"),
        ("test_photos", "empty", "no files without a label in .*empty"),
    ],
)
def test_places_that_are_not_there(make_labelled, tmp_path, option, place, message):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=message):
        make_labelled(**{option: tmp_path / place})
    assert not (tmp_path / "out").exists()


def test_test_photos_of_ones_own(make, written, photos, tmp_path):
    own = photos / "unknown"  # beside the class folders, of which it is none
    (own / "more").mkdir(parents=True)
    for shade, name in enumerate(("\udce9.png", "more/b.png")):  # the first in Latin-1
        Image.fromarray(np.full((40, 40, 3), 20 + shade, np.uint8)).save(own / name)
    shutil.copy(own / "more/b.png", own / "again.png")
    (own / "notes.txt").write_text("no photo")
    shutil.copy(photos / "red" / "00.jpg", own / "seen.jpg")
    summary = make(test_photos=own)
    assert summary.class_names == ["blue", "red", "yellow"]
    splits = written()
    assert len(splits["test"]) == 3
    assert all(example.label == shards.UNLABELLED for example in splits["test"].values())
    # All other photos are there to learn from: none that is in the test, and no share goes there.
    assert len(splits["train"]) + len(splits["val"]) == 59
    left = str(photos / "red" / "00.jpg")
    assert summary.left_out[left] == f"same bytes as {own / 'seen.jpg'}"
    # Each file's row of a submission can be told.
    head, *lines = (tmp_path / "out" / "test_photos.csv").read_text().splitlines()
    rows = dict(line.split(",")[::-1] for line in lines)
    assert head == "id,file"
    assert sorted(rows) == ["\\udce9.png", "again.png", "more/b.png", "seen.jpg"]
    assert set(rows.values()) == set(splits["test"])
    assert rows["again.png"] == rows["more/b.png"]

    shutil.rmtree(own)
    make()
    assert not (tmp_path / "out" / "test_photos.csv").exists()


def test_the_rest_of_a_folder_can_be_the_test_photos(make_labelled, written, table, tmp_path):
    text = table.read_text()
    table.write_text("".join(text.splitlines(keepends=True)[:-5]))
    make_labelled(test_photos=tmp_path / "flat")
    assert len(written()["test"]) == 5
    assert count(written()) == 60
    table.write_text(text)
    with pytest.raises(DataError, match="no files without a label"):
        make_labelled(test_photos=tmp_path / "flat")


@pytest.fixture
def tree(tmp_path):
    """Makes a folder of photos: {path below it: how many photos}; each photo is another one."""
    numbers = iter(range(10_000))

    def tree(places, name="tree"):
        for place, count in places.items():
            folder = tmp_path / name / place
            folder.mkdir(parents=True, exist_ok=True)
            for _ in range(count):
                number = next(numbers)
                pixels = np.random.default_rng(number).integers(0, 255, (12, 12, 3), np.uint8)
                Image.fromarray(pixels).save(folder / f"{number}.png")
        return tmp_path / name

    return tree


def counts(summary):
    return {split: labels.total() for split, labels in summary.images.items()}


@pytest.mark.parametrize(
    ("val", "test"), [("val", "test"), ("valid", "testing"), ("Validation", "Test")]
)
@pytest.mark.parametrize("inside", ["", "archive/", "a/b/"])
def test_folders_of_splits_become_the_splits(make, written, tree, val, test, inside):
    places = {"train": 12, val: 4, test: 5}
    folder = tree({f"{inside}{s}/{c}": n for s, n in places.items() for c in ("daisy", "rose")})
    summary = make(folder)
    assert summary.class_names == ["daisy", "rose"]
    assert counts(summary) == {"train": 24, "val": 8, "test": 10}
    assert "the folders name the splits: 24 train, 8 val, 10 test" in str(summary)
    assert ("the only folder in" in str(summary)) == bool(inside)
    assert {split: len(rows) for split, rows in written().items()} == counts(summary)
    assert all(example.label == -1 for example in written()["test"].values())


def test_splits_can_be_below_the_classes(make, tree):
    summary = make(tree({f"{c}/{s}": 3 for c in ("daisy", "rose") for s in ("train", "val")}))
    assert summary.class_names == ["daisy", "rose"]
    assert counts(summary) == {"train": 6, "val": 6, "test": 0}


def test_without_a_folder_for_validation_it_is_cut_from_train(make, tree, tmp_path):
    summary = make(tree({"train/daisy": 60, "train/rose": 60, "test": 7}))
    assert counts(summary)["test"] == 7
    assert counts(summary)["train"] + counts(summary)["val"] == 120
    assert 10 <= counts(summary)["val"] <= 40
    rows = (tmp_path / "out/test_photos.csv").read_text().splitlines()
    assert len(rows) == 8
    assert rows[1].split(",")[1].startswith("test/")


def test_a_photo_in_two_splits_stays_where_it_is_not_learnt(make, tree):
    folder = tree({f"{s}/{c}": 4 for s in ("train", "val", "test") for c in ("daisy", "rose")})
    for split in ("train", "val"):
        shutil.copy(next((folder / "test/rose").iterdir()), folder / split / "rose" / "a.png")
    shutil.copy(next((folder / "val/rose").iterdir()), folder / "train/rose" / "b.png")
    summary = make(folder)
    assert counts(summary)["test"] == 8
    assert sorted(Path(path).parts[-3:] for path in summary.left_out)[0][0] == "train"
    assert counts(summary)["val"] == 8


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (
            {"genus/rose": 2, "genus/daisy": 2, "other/tulip": 2},
            r"as 2 classes \(genus, other\), or as those inside them \(daisy, rose, tulip\)",
        ),
        ({"a/red": 2, "b": 2}, r"as 2 classes \(a, b\), or as those inside them \(red\)"),
        (
            {"prueba/rosa": 2, "prueba/lirio": 2, "entrenar/rosa": 2, "entrenar/lirio": 2},
            r"inside them \(lirio, rosa\).*if these are splits, call them train, val and test",
        ),
        ({"train/rose": 2, "Prüfung/rose": 2}, "Call splits train, val and test"),
        (
            {"train/rose": 2, "train/daisy": 2, "extra": 2},
            r"splits \(train\).*of which extra is none",
        ),
        ({"train/rose": 2, "train/daisy": 2, "val": 2}, r"splits \(train\).*of which val is none"),
        ({"train": 2, "test": 2}, "holds test, train: as splits they have no class folders"),
        ({"train": 4, "test1": 2}, "holds test1, train: as splits they have no class folders"),
        ({"train_images": 4, "test_images": 2}, "as splits they have no class folders"),
        ({"images": 4, "masks": 4}, "images, masks, which are names of kinds of files"),
        ({"jpg": 4}, "jpg, which are names of kinds of files"),
        (
            {"train/sea": 2, "train/ice": 2, "test/sea": 2, "pred/pred": 2},
            r"splits \(test, train\).*of which pred is none",
        ),
        ({"train/Rose": 2, "train/tea": 2, "val/rose": 2}, r"Rose \(train\) and rose \(val\)"),
        ({"ro\nse": 2, "tea": 2}, r"the folder 'ro\\nse': give it a name in plain text"),
        ({"a": 2, "b": 2, "flowers/a": 2, "flowers/b": 2}, r"3 classes \(a, b, flowers\)"),
    ],
)
def test_a_tree_that_can_be_read_in_two_ways_is_refused(make, tree, tmp_path, places, message):
    with pytest.raises(DataError, match=message):
        make(tree(places))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("train", ["Train/Train", "training_set/training_set", "train_images"])
@pytest.mark.parametrize("val", ["val-images", "Validation/Validation/validation"])
def test_splits_are_known_by_the_names_that_people_give_them(make, tree, train, val):
    places = {f"{train}/rose": 6, f"{train}/daisy": 5, f"{val}/rose": 2, f"{val}/daisy": 3}
    summary = make(tree(places | {"stage1_test/photos": 4}))
    assert summary.class_names == ["daisy", "rose"]
    assert "photos: only test photos, so it is not a class" in str(summary)
    assert counts(summary) == {"train": 11, "val": 5, "test": 4}


@pytest.mark.parametrize("archive", ["rose.zip", "photos.tar.gz"])
def test_archives_are_to_be_unpacked(make, tmp_path, archive):
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / archive).write_bytes(b"PK")
    with pytest.raises(DataError, match=rf"archives \({archive}\): unpack them first"):
        make(tmp_path / "packed")
    with pytest.raises(DataError, match="is an archive: unpack it"):
        make(tmp_path / "packed" / archive)
    (tmp_path / "packed/notes.txt").write_text("")
    with pytest.raises(DataError, match="is a file: give the folder"):
        make(tmp_path / "packed/notes.txt")


def test_a_class_may_be_called_like_a_split(make, tree):
    assert make(tree({"rose": 5, "test": 5})).class_names == ["rose", "test"]


def test_photos_below_a_class_folder_with_photos_are_of_that_class(make, tree):
    assert counts(make(tree({"rose": 5, "rose/more": 3, "daisy": 4}), test=0)).get("test") == 0


def test_what_systems_and_editors_leave_is_no_photo_and_no_class(make, tree):
    folder = tree(
        {
            "in/daisy": 8,
            "in/rose": 8,
            "in/__MACOSX/daisy": 2,
            "__MACOSX/in/rose": 2,
            "in/daisy/.ipynb_checkpoints": 2,
            "in/.cache": 2,
            "in/rose/@eaDir": 1,
        }
    )
    for name in ("._1.png", "Thumbs.db", "desktop.ini", ".DS_Store"):
        (folder / "in/daisy" / name).write_bytes(b"\0\5\x16\7")
    summary = make(folder)
    assert summary.class_names == ["daisy", "rose"]
    assert sum(counts(summary).values()) == 16
    assert summary.left_out == {}


def test_every_photo_that_is_not_used_is_named(make, tree, tmp_path, monkeypatch):
    folder = tree({"": 1, "in": 2, "in/daisy": 8, "in/rose": 8, "in/notes": 0})
    (folder / "in/notes/readme.txt").write_text("no photo")
    summary = make(folder)
    assert sorted(summary.left_out.values()) == ["beside the class folders, so it has no class"] * 3
    assert f"{folder}/in/notes: a folder without photos, so it is not a class" in str(summary)
    assert len((tmp_path / "out/left_out.csv").read_text().splitlines()) == 4
    monkeypatch.setattr(ingest, "MOST_LEFT_OUT", 1)
    assert "left out: 2 more files, see" in str(summary)


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (("1", "2", "10"), ["1", "2", "10"]),
        (("1.0", "2.0", "10.0"), ["1.0", "2.0", "10.0"]),
        (("002", "10", "1"), ["1", "002", "10"]),
        (("1", "10", "2b"), ["1", "10", "2b"]),
        (("class_1", "class_10", "class_2"), ["class_1", "class_2", "class_10"]),
        (("1. tea", "10. oak", "2. ash"), ["1. tea", "2. ash", "10. oak"]),
        (("a1", "b10", "b2"), ["a1", "b10", "b2"]),
    ],
)
def test_names_that_are_numbers_are_in_their_order(make, tree, tmp_path, names, order):
    folder = tree(dict.fromkeys(names, 4))
    assert make(folder).class_names == order
    rows = [f"{path.relative_to(folder)},{path.parent.name}" for path in folder.rglob("*.png")]
    (tmp_path / "labels.csv").write_text("\n".join(["file,label", *rows]))
    assert make(folder, labels=tmp_path / "labels.csv").class_names == order


def test_links_are_followed_and_those_to_nothing_named(make, tree, tmp_path):
    folder = tree({"rose": 8, "daisy": 8})
    (tmp_path / "more").mkdir()
    for path in list(folder.glob("rose/*"))[:3]:
        path.rename(tmp_path / "more" / path.name)
    (folder / "rose/more").symlink_to(tmp_path / "more")
    (folder / "rose/up").symlink_to(folder)
    (folder / "rose/gone.png").symlink_to("../.git/annex/objects/gone")
    summary = make(folder)
    assert sum(labels.total() for labels in summary.images.values()) == 16
    (why,) = summary.left_out.values()
    assert why == "a link to ../.git/annex/objects/gone, which is not there"


def test_archives_and_unlabelled_photos_beside_what_is_read_are_named(make, tree):
    splits = {f"seg_{split}/seg_{split}/{name}": 4 for split in ("train", "test") for name in "ab"}
    folder = tree({**splits, "seg_pred/seg_pred": 2})
    (folder / "more.zip").write_bytes(b"PK")
    summary = make(folder)
    assert (counts(summary)["test"], summary.class_names) == (8, ["a", "b"])
    whys = sorted(why.split(",")[0] for why in summary.left_out.values())
    assert whys == ["an archive", *2 * ["in a folder beside the splits that has no class folders"]]


def test_classes_that_are_called_nearly_the_same_are_told(make, tree):
    summary = make(tree({"sweet pea": 6, "Sweet_Pea": 6, "tea": 6, "-1": 6, "1": 6}))
    assert len(summary.class_names) == 5
    assert str(summary).count("are different classes: if they mean the same") == 1
    assert "'Sweet_Pea' and 'sweet pea' are different classes" in str(summary)


def test_photos_of_one_class_alone_are_refused_before_anything_changes(make, photos, tmp_path):
    make()
    before = sorted(tmp_path.joinpath("out").rglob("*"))
    for path in [*photos.glob("red/*"), *photos.glob("blue/*")]:
        path.write_bytes(b"")
    with pytest.raises(DataError, match=r"outside the test split are of one class \(yellow\)"):
        make()
    after = [
        path for path in sorted(tmp_path.joinpath("out").rglob("*")) if ".new" not in str(path)
    ]
    assert after == before


def test_a_submission_holds_what_the_labels_say(make, make_labelled, tmp_path):
    assert "a submission holds positions: 0 for blue to 2 for yellow" in str(make())
    assert json.loads((tmp_path / "out/submission.json").read_text()) == {"label": "position"}
    assert "a submission holds the data's own labels, such as blue" in str(make_labelled())
    assert json.loads((tmp_path / "out/submission.json").read_text()) == {"label": "name"}


def test_names_that_are_equal_after_normalisation_are_one_class(make, tree, tmp_path):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    folder = tree({composed: 4, decomposed: 3, "tea": 5})
    summary = make(folder)
    assert summary.class_names == [composed, "tea"]
    assert f"{composed}: 2 folders with this name are one class" in str(summary)
    rows = []
    for number, path in enumerate(sorted(folder.rglob("*.png"))):
        name = str(path.relative_to(folder))  # of a file, as another system writes it
        other = name.replace(decomposed, composed) if number % 2 else name
        rows.append(f"{other},{path.parent.name}")
    (tmp_path / "labels.csv").write_text("\n".join(["file,label", *rows]))
    assert make(folder, labels=tmp_path / "labels.csv").class_names == [composed, "tea"]


def test_photos_that_the_csv_does_not_list_are_named(make_labelled, table, tmp_path):
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:-5]))
    left_out = make_labelled().left_out
    assert len(left_out) == 5
    assert set(left_out.values()) == {f"not listed in {table}"}


def test_photos_of_more_than_eight_bits_have_one_scale(make, tree, written):
    folder = tree({"bright": 0, "dark": 0})
    for name, value in (("bright", 4000), ("dark", 200)):  # 12 bits, stored in 16
        for number in range(4):
            pixels = np.full((16, 16), value + number, np.uint16)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    summary = make(folder, val=0.0, test=0.0)
    assert "photos of more than 8 bits: 4,095 is white in all of them" in str(summary)
    means = {0: [], 1: []}
    for example in written()["train"].values():
        means[example.label].append(np.asarray(Image.open(io.BytesIO(example.image))).mean())
    assert np.mean(means[0]) == pytest.approx(4001.5 / 4095 * 255, abs=2)
    assert np.mean(means[1]) == pytest.approx(201.5 / 4095 * 255, abs=2)


def colour_png(value, opaque=65535):
    """A PNG of 16 bits a value: red of that value, half as much green, no blue."""
    pixels = np.zeros((16, 16, 4), np.uint16)
    pixels[...] = (value, value // 2, 0, opaque)
    return tf.io.encode_png(pixels if opaque < 65535 else pixels[..., :3]).numpy()


def colour_tiff(value):
    """A TIFF of 16 bits a value, in one strip: red of that value, no other colour."""
    pixels = np.zeros((16, 16, 3), "<u2")
    pixels[..., 0] = value
    # (tag, type, count, value): width, height, bits, compression, RGB, strip, samples, rows, bytes
    tags = [(256, 3, 1, 16), (257, 3, 1, 16), (258, 3, 3, 8), (259, 3, 1, 1), (262, 3, 1, 2)]
    tags += [(273, 4, 1, 14), (277, 3, 1, 3), (278, 3, 1, 16), (279, 4, 1, pixels.nbytes)]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
    strip = pixels.tobytes()
    bits = struct.pack("<HHH", 16, 16, 16)
    header = b"II*\0" + struct.pack("<IHHH", 14 + len(strip), 16, 16, 16)
    return header + strip + directory + bytes(4) + bits


def colours(written, split="train"):
    """The mean colour of each class."""
    values = {}
    for example in written()[split].values():
        rgb = np.asarray(Image.open(io.BytesIO(example.image))).mean(axis=(0, 1))
        values.setdefault(example.label, []).append(rgb)
    return {label: np.mean(rows, axis=0) for label, rows in values.items()}


def test_colours_of_more_than_eight_bits_have_one_scale_with_grey_ones(make, tree, written):
    folder = tree({"bright": 0, "clear": 0, "grey": 0})
    for number in range(3):
        (folder / f"bright/{number}.png").write_bytes(colour_png(4000 + number))
        (folder / f"clear/{number}.png").write_bytes(colour_png(2000 + number, opaque=0))
        grey = np.full((16, 16), 1000 + number, np.uint16)
        Image.fromarray(grey).save(folder / f"grey/{number}.png")
    summary = make(folder, val=0.0, test=0.0)
    assert "photos of more than 8 bits: 4,095 is white in all of them" in str(summary)
    means = colours(written)
    assert means[0] == pytest.approx([249, 124, 0], abs=4)  # 12 bits, stored in 16
    assert means[1] == pytest.approx([0, 0, 0], abs=4)  # nothing to be seen
    assert means[2] == pytest.approx([62, 62, 62], abs=2)


def test_photos_of_fewer_bits_than_the_others_of_their_set_are_counted(make, tree):
    folder = tree({"deep": 0, "dark": 0})
    for number in range(3):
        (folder / f"deep/{number}.png").write_bytes(colour_png(65000 + number))
        (folder / f"dark/{number}.png").write_bytes(colour_png(4000 + number))
    said = str(make(folder, val=0.0, test=0.0))
    assert "65,535 is white" in said
    assert "3 of these photos have no value above a sixteenth of that" in said


def test_a_tiff_of_16_bits_a_colour_is_read_if_all_of_them_are_used_and_named_if_not(
    make, tree, written
):
    folder = tree({"a": 0, "b": 0})
    for number in range(3):
        (folder / f"a/{number}.tif").write_bytes(colour_tiff(65000 + number))
        (folder / f"b/{number}.tif").write_bytes(colour_tiff(20000 + number))
    assert not make(folder, val=0.0, test=0.0).left_out
    assert colours(written)[0] == pytest.approx([253, 0, 0], abs=5)
    assert colours(written)[1] == pytest.approx([78, 0, 0], abs=5)
    for value, path in enumerate(sorted(folder.rglob("*.tif")), 4000):
        path.write_bytes(colour_tiff(value))
    Image.new("RGB", (16, 16), "red").save(folder / "a/red.png")
    Image.new("RGB", (16, 16), "blue").save(folder / "b/blue.png")
    left_out = make(folder, val=0.0, test=0.0).left_out
    assert len(left_out) == 6
    assert all("16 bits a colour" in why and "save it as a PNG" in why for why in left_out.values())


HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(99)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (HEIC, "a HEIC, which cannot be read here: save it as a JPEG"),
        (HEIC.replace(b"ftypheic", b"ftypisom"), "no photo but a video"),
        (b"", "not a whole image (it is empty)"),
        (b"version https://git-lfs.github.com/spec/v1", "no photo but a Git LFS pointer, in the"),
        (b"<!doctype html>", "no photo but a page of HTML or XML"),
        (b"hello", "not a whole image (of no known format)"),
    ],
)
def test_what_is_no_photo_is_told_as_what_it_is(make, tree, content, why):
    folder = tree({"a": 3, "b": 3})
    (folder / "a/strange.heic").write_bytes(content)
    (told,) = make(folder).left_out.values()
    assert told.startswith(why)
    assert "0x" not in told


def test_a_class_of_heic_photos_alone_stays_a_class_without_photos(make, tree):
    folder = tree({"a": 3, "b": 3, "c": 0})
    (folder / "c/strange.heic").write_bytes(HEIC)
    said = str(make(folder, val=0.0, test=0.0))
    assert "no photo in train, so add some: c" in said


def test_photos_of_all_kinds_in_one_set_look_as_they_should(make, tree, written):
    """The left half is red, the right one blue; a JPEG of the picture lying on its side."""
    pixels = np.zeros((64, 64, 3), np.uint8)
    pixels[:, :32, 0], pixels[:, 32:, 2] = 255, 255
    folder, picture = tree({"a": 0, "b": 3}), Image.fromarray(pixels)
    hidden = picture.convert("RGBA")
    hidden.putalpha(Image.fromarray(np.where(pixels[..., 0] > 0, 255, 0).astype(np.uint8)))
    frames = [picture, Image.new("RGB", (64, 64), "green")]
    for kind in ("jpg", "png", "webp", "bmp", "gif", "tif", "avif"):
        picture.save(folder / f"a/plain.{kind}")
    picture.convert("CMYK").save(folder / "a/print.jpg")
    picture.quantize(8).save(folder / "a/palette.png")
    hidden.save(folder / "a/hidden.png")
    frames[0].save(folder / "a/moving.gif", save_all=True, append_images=frames[1:])
    picture.rotate(90).save(folder / "a/turned.jpg", exif=QUARTER_TURN)
    (folder / "a/cut.jpg").write_bytes((folder / "a/plain.jpg").read_bytes()[:-80])
    summary = make(folder, val=0.0, test=0.0)
    assert [Path(path).name for path in summary.left_out] == ["cut.jpg"]
    own = [example for example in written()["train"].values() if example.label == 0]
    assert len(own) == 12
    white = 0
    for example in own:
        got = np.asarray(Image.open(io.BytesIO(example.image)).convert("RGB")).astype(int)
        left, right = got[:, :14].mean(axis=(0, 1)), got[:, 18:].mean(axis=(0, 1))
        assert left == pytest.approx([253, 0, 0], abs=12)
        if right[0] > 240:
            white += 1
        else:
            assert right == pytest.approx([0, 0, 254], abs=12)
    assert white == 1, "transparent places alone"


def test_what_a_run_needs_is_said(make):
    said = str(make(val=0.0, test=0.0))
    assert "no val photos: train with validation=fold:1/5, or with validation=none" in said
    assert "no test photos: a run writes no submission" in said
    assert "so add some" not in said


def test_folders_that_are_called_by_numbers_are_submitted_as_these(make, tree, tmp_path):
    summary = make(tree({"10": 6, "2": 5, "1": 5}))
    assert summary.class_names == ["1", "2", "10"]
    assert json.loads((tmp_path / "out/submission.json").read_text()) == {"label": "name"}

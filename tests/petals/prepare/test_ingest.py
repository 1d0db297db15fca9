import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from petals.data import records, shards, writing
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
            paths = Path(writing.folder(tmp_path / output, size, split)).glob("*.tfrec")
            splits[split] = {e.id: e for path in paths for e in records.read(path)}
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
    assert all(e.label == records.UNLABELLED for e in splits["test"].values())
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
    Image.fromarray(np.full((48, 48), 4000, np.uint16)).save(folder / "deep.png")
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
    assert "more than 8 bits a value" in why.pop("red/deep.png")
    assert why == {}
    assert all(path in str(summary) for path in summary.left_out)
    assert count(written()) == 64

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
        ("empty", "it holds no folders with photos"),
        ("text", "it holds no folders with photos"),
        ("broken", "no usable photo"),
        ("single", r"of one class \(a\)"),
    ],
)
def test_folders_without_photos(make, tmp_path, folder, message):
    (tmp_path / "empty").mkdir()
    for name in ("text/a", "text/b", "single/a"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.txt").write_text("")
    for name in ("broken/a", "broken/b", "single/a"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "a.jpg").write_text("")
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


def test_two_columns_of_any_names_are_the_file_and_the_label(make_labelled, written, table):
    _, *rows = table.read_text().splitlines()
    table.write_text("\n".join(["image_id\tbreed", *(row.replace(",", "\t") for row in rows)]))
    assert make_labelled().class_names == ["blue", "red", "yellow"]
    assert count(written()) == 60


def test_of_more_columns_two_are_named(make_labelled, written, table):
    _, *rows = [line.split(",") for line in table.read_text().splitlines()]
    lines = [f"{label},{number},{name}" for number, (name, label) in enumerate(rows)]
    table.write_text("\n".join(["breed,fold,image", *lines]))
    with pytest.raises(DataError, match=r"it has the columns breed, fold, image\. A table is"):
        make_labelled()
    assert make_labelled(file_column="image", label_column="breed").class_names[0] == "blue"
    assert count(written()) == 60
    with pytest.raises(DataError, match="it has no column kind, only breed, fold, image"):
        make_labelled(file_column="image", label_column="kind")


def test_files_are_named_with_or_without_their_ending(make_labelled, written, table):
    _, *rows = table.read_text().splitlines()
    table.write_text("\n".join(["file,label", *(row.replace(".jpg", "") for row in rows)]))
    assert make_labelled().class_names == ["blue", "red", "yellow"]
    assert count(written()) == 60


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
        "more/1.jpg,\x1b[2Jred\n\n" + "n" * 300 + ".jpg,red\n"
    )
    with pytest.raises(DataError) as raised:
        make_labelled()
    head, *lines = str(raised.value).splitlines()
    assert head == f"{table}: 6 of 7 rows are wrong; nothing was written"
    assert lines[:5] == [
        f"  no file 'none.jpg' in {folder}",
        "  '2.jpg' has the label ''",
        f"  no file '' in {folder}",
        "  '0.jpg' is listed twice",
        "  'more/1.jpg' has the label '\\x1b[2Jred'",
    ]
    assert lines[5].startswith("  no file 'nnn")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b"file,label\n", "lists no photos"),
        (b"0.jpg,red\n2.jpg,blue\n", r"its first line is a photo's \(0.jpg\)"),
        (b"PAR1\x15\x04\x15\x10PAR1\xff", "cannot be read.*A table is a CSV in UTF-8"),
        (b"file;label\na;b\n", "no file 'a' in"),
        (b"one,two,three\na,b,c\n", "it has the columns one, two, three"),
        (b"file\n0.jpg\n", "it has the columns file"),
        (b"file,label\n0,red\n", "'0' can be any of 0.jpg, 0.png"),
        ("file,label\n0.jpg,ros\u00e9".encode("latin-1"), "codec can't decode.*in UTF-8"),
        (b'file,label\n0.jpg,"red\n', "unexpected end of data"),
        (b"file,label\n" + 500 * b"none,red\n", r"500 of 500 rows(.*\n){20}[^\n]*\Z"),
        (b"file,label\n0.jpg,red,dark\n", "1 rows have not 2 cells, such as row 2"),
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
        ("labels", "none.csv", r"none\.csv: it cannot be read"),
        ("labels", "flat", "flat: it cannot be read"),
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
    assert all(example.label == records.UNLABELLED for example in splits["test"].values())
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
            "nearly class folders, but genus, other holds folders and no photos of its own",
        ),
        (
            {"rose/train": 2, "daisy/train": 2},
            "nearly class folders, but daisy, rose holds folders",
        ),
        ({"a/red": 2, "b": 2}, "nearly class folders, but a holds folders"),
        (
            {"Train_set/rosa": 2, "Test_set/rosa": 2},
            "if these are splits, call them train, val and",
        ),
        ({"train/rose": 2, "Prüfung/rose": 2}, "nearly such splits, but Prüfung is none"),
        ({"train/rose": 2, "extra": 2}, "nearly such splits, but extra is none"),
        ({"rose": 5, "test": 5}, "nearly such splits, but rose is none"),
        ({"train/rose": 2, "val": 2}, "not all of train, val hold class folders"),
        ({"train": 2, "test": 2}, "not all of test, train hold class folders"),
        ({"": 2}, "it holds no folders with photos"),
        ({"ro\nse": 2, "tea": 2}, r"the class folder 'ro\\nse': give it a name in plain text"),
    ],
)
def test_a_tree_that_is_not_as_the_rule_says_is_refused(make, tree, tmp_path, places, message):
    with pytest.raises(DataError, match=message) as raised:
        make(tree(places))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_splits_folder_may_be_within_it_under_the_same_name(make, tree):
    places = {"Train/Train/rose": 6, "Train/Train/daisy": 5, "val/val/rose": 2, "val/val/daisy": 3}
    summary = make(tree(places | {"test/test/unknown": 4}))
    assert summary.class_names == ["daisy", "rose"]
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
    folder = tree({"": 1, "in": 2, "in/daisy": 8, "in/rose": 8, "in/rose/more": 1})
    (folder / "in/more.zip").write_bytes(b"PK")
    summary = make(folder)
    why = "not directly in a class folder, so it has no class"
    packed = "an archive, which is not unpacked, so its photos are not used"
    assert sorted(summary.left_out.values()) == [packed, *[why] * 4]
    assert len((tmp_path / "out/left_out.csv").read_text().splitlines()) == 6
    monkeypatch.setattr(ingest, "MOST_LEFT_OUT", 1)
    assert "left out: 4 more files, see" in str(summary)


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (("1", "2", "10"), ["1", "2", "10"]),
        (("1.0", "2.0", "10.0"), ["1.0", "2.0", "10.0"]),
        (("002", "10", "1"), ["1", "002", "10"]),
        (("1", "10", "2b"), ["1", "10", "2b"]),
        (("class_1", "class_10", "class_2"), ["class_1", "class_10", "class_2"]),
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
    for path in list(folder.glob("rose/*"))[:3]:
        moved = path.rename(tmp_path / path.name)
        path.symlink_to(moved)
    (folder / "up").symlink_to(folder)
    (folder / "rose/gone.png").symlink_to("../.git/annex/objects/gone")
    summary = make(folder)
    assert sum(labels.total() for labels in summary.images.values()) == 16
    (why,) = summary.left_out.values()
    assert why == "a link to ../.git/annex/objects/gone, which is not there"


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


def test_names_that_are_equal_after_normalisation_are_one_class(make, tree):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    folder = tree({f"train/{composed}": 4, f"val/{decomposed}": 3, "train/tea": 5, "val/tea": 2})
    assert make(folder).class_names == [composed, "tea"]


def test_photos_that_the_csv_does_not_list_are_named(make_labelled, table, tmp_path):
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:-5]))
    left_out = make_labelled().left_out
    assert len(left_out) == 5
    assert set(left_out.values()) == {f"not listed in {table}"}


HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(99)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (HEIC, "not a whole image (a HEIC): save the photo as a JPEG"),
        (HEIC.replace(b"ftypheic", b"ftypisom"), "not a whole image (a video)"),
        (b"", "not a whole image (it is empty)"),
        (
            b"version https://git-lfs.github.com/spec/v1",
            "not a whole image (a Git LFS pointer",
        ),
        (b"<!doctype html>", "not a whole image (a page of HTML or XML)"),
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

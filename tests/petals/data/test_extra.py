import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from petals.data import shards
from petals.data.extra import more_to_train_on
from petals.data.shards import Split
from petals.data.source import Source, find_sources
from petals.errors import DataError

SIZE = 64
NAMES = ("blue", "red ", "yellow")


def picture(seed, quality=90):
    """A smooth picture of its own: coarse noise, scaled up."""
    coarse = np.random.default_rng(seed).integers(30, 200, (6, 6, 3)).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(coarse).resize((SIZE, SIZE)).save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def write(root, names=None, **splits):
    """A source of {split: [(seed, label)]}; the seed makes the picture and the id."""
    for split, rows in splits.items():
        quality = 90 if names is None else 60  # of another set the same photo has other bytes
        examples = [
            shards.Example(picture(seed, quality), f"{seed:09x}", label) for seed, label in rows
        ]
        path = Path(shards.folder(root, SIZE, split))
        shards.write_shard(path / shards.shard_name(0, SIZE, len(rows)), examples)
    (root / "classes.json").write_text(json.dumps(names or NAMES))
    return Source(str(root), "folder")


@pytest.fixture
def main(tmp_path):
    source = write(
        tmp_path / "main",
        train=[(n, n % 3) for n in range(12)],
        val=[(n, n % 3) for n in range(12, 18)],
        test=[(n, -1) for n in range(18, 24)],
    )
    return {part: Split.find(source.root, SIZE, part) for part in ("train", "val", "test")}


OTHER = ["Yellow", "red"]  # in another order, and fewer
ROWS = [(n, n % 2) for n in (*range(100, 110), 18, 19, 12, 0)]  # two of test, one of val and train


def add(main, tmp_path, rows=ROWS, names=OTHER):
    other = write(tmp_path / "other", names, train=rows[:-3], val=rows[-3:])
    return more_to_train_on([other], NAMES, main, tmp_path / "cache")


def test_classes_are_matched_by_name_and_twins_left_out(main, tmp_path):
    (added,) = add(main, tmp_path)
    assert added.added == 10
    assert added.summary()["twins"] == {"test": 2, "val": 1, "train": 1}
    assert "10 of 14 photos added; 2 are also in test; 1 are also in val" in str(added)
    assert added.twins[0][1:] == ["test", "000000012"]
    train = Split.of(added.paths, SIZE)
    labels, ids = train.labels_and_ids()
    assert train.count == added.added == 10
    label_of = dict(zip(ids.tolist(), labels.tolist(), strict=True))
    assert label_of[f"{100:09x}"] == 2  # Yellow is the first there and the last here
    assert label_of[f"{101:09x}"] == 1


def test_a_photo_of_test_that_is_in_train_too_counts_as_one_of_test(main, tmp_path):
    both = write(tmp_path / "main", train=[(18, 0), (1, 1)], test=[(n, -1) for n in range(18, 24)])
    splits = {part: Split.find(both.root, SIZE, part) for part in ("train", "test")}
    (added,) = add(splits, tmp_path)
    assert added.summary()["twins"] == {"test": 2, "train": 1}


def test_a_source_that_is_the_test_set_is_refused(main, tmp_path):
    rows = [(n, 0) for n in (*range(18, 24), 100, 101, 102)]
    with pytest.raises(DataError, match="is the test set: 6 of its 9 photos") as error:
        add(main, tmp_path, rows)
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "cache").rglob("*.tfrec"))


def test_a_source_of_other_classes_is_refused(main, tmp_path):
    with pytest.raises(DataError, match="first source lacks: oak, elm") as error:
        add(main, tmp_path, names=["oak", "elm"])
    assert "\n" not in str(error.value)


def test_a_second_run_finds_the_written_photos(main, tmp_path):
    first = add(main, tmp_path)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "cache").rglob("*.tfrec")}
    assert add(main, tmp_path) == first
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "cache").rglob("*.tfrec")} == before


def test_a_source_is_named_once(main, tmp_path):
    write(tmp_path / "other", OTHER, train=ROWS)
    roots = [source.root for source in find_sources(f"{tmp_path}/main, {tmp_path}/other", SIZE)]
    assert roots == [f"{tmp_path}/main", f"{tmp_path}/other"]
    with pytest.raises(DataError, match="twice"):
        find_sources(f"{tmp_path}/main,{tmp_path}/main", SIZE)

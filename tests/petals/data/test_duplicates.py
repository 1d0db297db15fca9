import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from petals import storage
from petals.data import classes, duplicates, shards
from petals.data.shards import Split


def picture(seed, quality=90, brighter=0, size=64):
    """A smooth picture of its own: coarse noise, scaled up."""
    coarse = np.random.default_rng(seed).integers(30, 200, (6, 6, 3)).astype(np.uint8)
    image = Image.fromarray(coarse).resize((size, size), Image.Resampling.BICUBIC)
    image = Image.fromarray((np.asarray(image).astype(int) + brighter).clip(0, 255).astype("uint8"))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


@pytest.fixture
def written(tmp_path):
    """Splits of given (picture, label) lists."""

    def write(**parts):
        number, found = 0, {}
        for split, pictures in parts.items():
            examples = []
            for data, label in pictures:
                examples.append(shards.Example(data, f"{number:09x}", label))
                number += 1
            folder = Path(shards.folder(tmp_path, 64, split))
            shards.write_shard(folder / shards.shard_name(0, 64, len(examples)), examples)
            found[split] = Split.find(str(tmp_path), 64, split)
        storage.write_json(tmp_path / classes.FILE_NAME, ["blue", "red", "yellow"])
        return found

    return write


def test_twins_are_found_across_splits_and_labels(written):
    splits = written(
        train=[(picture(n), n % 3) for n in range(8)],
        val=[(picture(2), 2), (picture(3, quality=60), 1), (picture(20), 0)],
        test=[(picture(4, brighter=6), -1), (picture(21), -1)],
    )
    prints = duplicates.Fingerprints.of(splits)
    pairs = duplicates.find_pairs(prints)

    assert [(p.first, p.second) for p in pairs] == [(2, 8), (3, 9), (4, 11)]
    assert [p.same_bytes for p in pairs] == [True, False, False]
    assert [p.disagree for p in pairs] == [False, True, False]
    assert all(p.across for p in pairs)
    rows = {row["splits"]: row for row in duplicates.summary(pairs)}
    assert rows["train and val"]["same bytes"] == 1
    assert rows["train and val"]["nearly the same"] == 1
    assert rows["train and val"]["under two labels"] == 1
    assert rows["train and test"]["under two labels"] == 0


def test_twins_are_found_past_the_first_chunk(written, monkeypatch):
    monkeypatch.setattr(duplicates, "_CHUNK", 4)
    splits = written(train=[(picture(n), 0) for n in (*range(9), 1)])
    pairs = duplicates.find_pairs(duplicates.Fingerprints.of(splits))
    assert [(p.first, p.second) for p in pairs] == [(1, 9)]


def test_different_pictures_are_no_twins(splits):
    train, val, test = splits
    prints = duplicates.Fingerprints.of({"train": train, "val": val, "test": test})
    assert len(prints) == 84
    assert prints.hashes.shape == (84, duplicates.BITS)
    assert prints.labels[-1] == -1
    assert duplicates.find_pairs(prints) == []


def test_flat_pictures_of_two_colours_are_no_twins(written):
    def flat(colour):
        buffer = io.BytesIO()
        Image.new("RGB", (64, 64), colour).save(buffer, "JPEG")
        return buffer.getvalue()

    splits = written(train=[(flat("red"), 0), (flat("blue"), 1)])
    assert duplicates.find_pairs(duplicates.Fingerprints.of(splits)) == []


def test_a_picture_that_does_not_decode_is_compared_by_its_bytes(written):
    splits = written(train=[(b"no jpeg", 0), (picture(1), 0), (b"no jpeg", 1)])
    pairs = duplicates.find_pairs(duplicates.Fingerprints.of(splits))
    assert [(p.first, p.second, p.same_bytes) for p in pairs] == [(0, 2, True)]


def test_pictures_of_any_size_have_a_hash():
    small, large = (duplicates._thumbnail(picture(1, size=size)) for size in (48, 331))
    assert duplicates._alike(small, large)
    assert (duplicates._hashes(small[None]) != duplicates._hashes(large[None])).sum() <= 5


def test_each_image_has_its_twin_among_others_mirrored_or_stored_anew(written):
    def mirrored(data):
        buffer = io.BytesIO()
        image = Image.open(io.BytesIO(data)).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        image.save(buffer, "JPEG", quality=80)
        return buffer.getvalue()

    main = [(picture(n), 0) for n in range(6)]
    other = [
        (picture(9), 0),
        (picture(4, quality=60), 0),
        (mirrored(picture(2)), 1),
        (picture(5), 0),
        (picture(8), 0),
        (picture(5, quality=70), 0),
    ]
    splits = written(train=main, val=other)
    prints = [duplicates.Fingerprints.of({name: splits[name]}) for name in ("val", "train")]
    assert duplicates.twins_of(*prints).tolist() == [-1, 4, 2, 5, -1, 5]

import io

import pytest
from PIL import Image

from petals.data import duplicates


@pytest.fixture
def written(tmp_path, write_split):
    """Splits of given (picture, label) lists."""

    def write(**parts):
        def rows(split):
            return [(data, f"{split}{n}", label) for n, (data, label) in enumerate(parts[split])]

        return {split: write_split(tmp_path, split, rows(split)) for split in parts}

    return write


def pairs_in(splits):
    return duplicates.find_pairs(duplicates.Fingerprints.of(splits))[0]


def test_twins_are_found_across_splits_and_labels(written, picture):
    splits = written(
        train=[(picture(n), n % 3) for n in range(8)],
        val=[(picture(2), 2), (picture(3, quality=60), 1), (picture(20), 0)],
        test=[(picture(4, brighter=6), -1), (picture(21), -1), (picture(6, size=192), -1)],
    )
    pairs = pairs_in(splits)
    assert [(p.first, p.second) for p in pairs] == [(2, 8), (3, 9), (4, 11), (6, 13)]
    assert [p.same_bytes for p in pairs] == [True, False, False, False]
    assert [p.disagree for p in pairs] == [False, True, False, False]
    assert all(p.across for p in pairs)
    rows = [tuple(row.values()) for row in duplicates.summary(pairs)]
    assert rows == [("train and test", 0, 2, 0), ("train and val", 1, 1, 1)]


def test_twins_are_found_past_the_first_chunk(written, picture, monkeypatch):
    monkeypatch.setattr(duplicates, "_CHUNK", 4)
    splits = written(train=[(picture(n), 0) for n in (*range(9), 1)])
    assert [(p.first, p.second) for p in pairs_in(splits)] == [(1, 9)]


def test_many_copies_are_all_joined_by_as_few_pairs(written, picture):
    shades = [0, 20, *[10] * 40]  # the last are like both others, which are not like each other
    splits = written(train=[(picture(1, brighter=n), n) for n in shades])
    pairs, groups = duplicates.find_pairs(duplicates.Fingerprints.of(splits))
    assert [pair.second for pair in pairs] == [*range(2, 42), 2]  # of 860 pairs
    assert not groups.any()


def test_flat_pictures_are_told_apart_and_what_does_not_decode_is_compared_by_its_bytes(written):
    def flat(colour):
        buffer = io.BytesIO()
        Image.new("RGB", (64, 64), colour).save(buffer, "JPEG")
        return buffer.getvalue()

    data = flat("red"), flat("black"), b"no jpeg", b"no jpeg", b"", b"neither"
    splits = written(train=[(image, label) for label, image in enumerate(data)])
    assert [(p.first, p.second, p.same_bytes) for p in pairs_in(splits)] == [(2, 3, True)]
    other = written(val=[(image, 0) for image in (b"none", flat("black"), b"no jpeg")])
    prints = [duplicates.Fingerprints.of(split) for split in (other, splits)]
    assert duplicates.twins_of(*prints).tolist() == [-1, 1, 2]


def test_each_image_has_its_twin_among_others_mirrored_or_stored_anew(written, picture):
    main = [picture(n) for n in range(6)]
    other = [
        picture(9),
        picture(4, quality=60),
        picture(2, quality=80, mirrored=True),
        picture(5),
        picture(8),
        picture(5, quality=70),
    ]
    splits = written(train=[(data, 0) for data in main], val=[(data, 1) for data in other])
    prints = [duplicates.Fingerprints.of({name: splits[name]}) for name in ("val", "train")]
    assert duplicates.twins_of(*prints).tolist() == [-1, 4, 2, 5, -1, 5]

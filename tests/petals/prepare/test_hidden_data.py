"""Training images become a hidden test set: new ids, no labels, the answers apart."""

import csv

import pytest

from petals.data import records, shards, writing
from petals.data.records import Example
from petals.data.shards import Split
from petals.errors import DataError
from petals.prepare import hidden_data

JPEG = b"\xff\xd8"  # what its files begin with


def image(label, number, size):
    return JPEG + f" of {label}-{number} in {size}".encode()


@pytest.fixture
def public(tmp_path):
    """A competition in two sizes: 5 classes, 20 training, 2 validation and 1 test image of each."""
    root = tmp_path / "public"
    for size in (8, 16):
        for split, each in (("train", 20), ("val", 2), ("test", 1)):
            examples = []
            for number in range(each):
                for label in range(5):
                    known = records.UNLABELLED if split == "test" else label
                    one = f"{split}{label}{number:02d}"
                    examples.append(Example(image(label, number, size), one, known))
            place = writing.folder(root, size, split)
            writing.write_shards(tmp_path / place, size, len(examples), examples)
    (root / "sample_submission.csv").write_text("id,label\ntest000,0\n")
    (root / "classes.json").write_text('["a", "b", "c", "d", "e"]')
    return root


def made(public, rows=0):
    folder, answers = public.with_name("hidden"), public.with_name("answers.csv")
    number = hidden_data.make(public, folder, answers, rows)
    with answers.open(newline="") as file:
        solved = {row["id"]: int(row["label"]) for row in csv.DictReader(file)}
    assert len(solved) == number
    return folder, solved


def examples(root, size, split):
    return list(Split.of(writing.shard_paths(root, size, split), size).examples())


def test_hidden_images_have_new_ids_no_labels_and_their_answers_apart(public):
    folder, solved = made(public)
    known = {one.id for split in shards.SPLITS for one in examples(public, 8, split)}
    for size in (8, 16):
        tested = examples(folder, size, "test")
        assert [one.id for one in tested] == list(solved)
        assert {one.label for one in tested} == {records.UNLABELLED}
        assert not {one.id for one in tested} & known
        for one in tested:
            assert one.image.startswith(JPEG + f" of {solved[one.id]}-".encode())


@pytest.mark.long
@pytest.mark.parametrize(("rows", "hidden"), [(0, 20), (30, 30)])
def test_by_default_at_most_a_fifth_is_hidden(public, rows, hidden):
    _, solved = made(public, rows)
    assert len(solved) == hidden


def test_every_class_gives_the_same_share(public):
    _, solved = made(public)
    labels = list(solved.values())
    assert [labels.count(label) for label in range(5)] == [4] * 5


def test_hidden_images_are_taken_out_of_the_training_images_in_all_sizes(public):
    folder, _ = made(public, rows=30)
    for size in (8, 16):
        left = {one.image for one in examples(folder, size, "train")}
        hidden = {one.image for one in examples(folder, size, "test")}
        assert (len(left), len(hidden)) == (70, 30)
        assert not left & hidden
        assert examples(folder, size, "val") == examples(public, size, "val")
    assert (folder / "classes.json").read_text() == (public / "classes.json").read_text()


def test_the_sample_submission_names_the_hidden_images(public):
    folder, solved = made(public)
    lines = (folder / "sample_submission.csv").read_text().splitlines()
    assert lines == ["id,label", *(f"{one},0" for one in solved)]


def test_the_same_images_are_hidden_every_time(public, tmp_path):
    _, first = made(public)
    hidden_data.make(public, tmp_path / "again", tmp_path / "again.csv")
    with (tmp_path / "again.csv").open(newline="") as file:
        assert {row["id"]: int(row["label"]) for row in csv.DictReader(file)} == first


def test_too_few_images_and_sizes_that_differ_are_said(public, capsys):
    with pytest.raises(DataError, match="has 100 training images: too few for 100 hidden ones"):
        made(public, rows=100)
    other = writing.shard_paths(public, 16, "train")[0]
    writing.write_shard(other, [Example(JPEG, "other", 0)])
    arguments = [str(public), str(public.with_name("h")), str(public.with_name("a.csv")), "0"]
    with pytest.raises(SystemExit) as left:
        hidden_data.main(arguments)
    assert left.value.code == DataError.exit_code
    assert "another size has" in capsys.readouterr().err

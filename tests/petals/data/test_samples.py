from pathlib import Path

import pytest

from petals.data import records, writing
from petals.data.records import Example
from petals.data.samples import sample_of
from petals.data.shards import Split
from petals.errors import DataError


def test_a_sample_is_of_the_positions_asked_for(splits):
    labels, _ = splits[1].labels_and_ids()
    sample = sample_of(splits[1], [20, 3, 11])
    assert sample.images.shape == (3, 32, 32, 3)
    assert sample.labels.tolist() == labels[[20, 3, 11]].tolist()
    assert len(sample_of(splits[1], 100).labels) == 21


def test_a_sample_names_an_image_that_does_not_decode(copied):
    path = Path(writing.shard_paths(copied, 32, "train")[0])
    writing.write_shard(
        path, [Example(b"\xff\xd8no picture", "bad", 1), *list(records.read(path))[1:]]
    )
    with pytest.raises(
        DataError,
        match="the image with id bad cannot be shown: its image cannot be decoded; make its file",
    ):
        sample_of(Split.find(str(copied), 32, "train"), 3)

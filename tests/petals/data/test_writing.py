from pathlib import Path

import pytest
import tensorflow as tf

from petals.data import writing
from petals.data.records import Example
from petals.errors import StorageError


def test_names_carry_number_size_and_count():
    assert writing.shard_name(3, 192, 798) == "03-192x192-798.tfrec"


@pytest.mark.parametrize(
    ("kind", "method", "error"),
    [
        (Path, "replace", OSError(28, "No space left on device")),
        (tf.io.TFRecordWriter, "write", tf.errors.ResourceExhaustedError(None, None, "No space l")),
    ],
)
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, kind, method, error):
    def full(*_):
        raise error

    monkeypatch.setattr(kind, method, full)
    with pytest.raises(StorageError, match="No space l"):
        writing.write_shard(tmp_path / "00-32x32-1.tfrec", [Example(b"a", "a", 0)])
    assert list(tmp_path.iterdir()) == []

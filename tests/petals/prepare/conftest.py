"""A small set in place of the repository's drawn flowers."""

import pytest

from draw_flowers.dataset import write_dataset
from petals.prepare import drawn_flowers


@pytest.fixture
def few(monkeypatch, tmp_path):
    """A set of one flower of 16 pixels for each class and split."""
    folder = tmp_path / "few"
    write_dataset(folder, 16, 75, {"train": 1, "val": 1, "test": 1})
    monkeypatch.setattr(drawn_flowers, "FOLDER", folder)
    return folder

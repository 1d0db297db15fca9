"""A local Kaggle that needs a moment for each upload."""

import pytest


@pytest.fixture
def kaggle(serve):
    return serve(dataset_seconds=0.2)


def contents(folder):
    """The bytes of all files below a folder, by their paths there."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}

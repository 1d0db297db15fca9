"""A local Kaggle that needs a moment for each upload."""

import pytest

from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle


@pytest.fixture
def kaggle(tmp_path):
    limits = ServerLimits(dataset_seconds=0.2)
    with LocalKaggle(tmp_path / "kaggle", limits=limits) as server, server.attach():
        yield server

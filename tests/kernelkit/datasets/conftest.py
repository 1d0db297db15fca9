"""A local Kaggle that needs a moment for each upload."""

import pytest

from kernelkit.kaggle_api.client import Kaggle
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle


@pytest.fixture
def kaggle(tmp_path):
    limits = ServerLimits(dataset_seconds=0.2)
    with LocalKaggle(tmp_path / "kaggle", limits=limits) as server, server.attach():
        yield server


@pytest.fixture
def other_lengths(monkeypatch):
    """Every file is listed with another length than it has."""
    once = Kaggle.once

    def other(self, method, service="kernels", **fields):
        answer = once(self, method, service, **fields)
        if method == "ListDatasetFiles":
            for file in answer.dataset_files:
                file.total_bytes = 17
        if method == "ListModelInstanceVersionFiles":
            for file in answer.files:
                file.size = 17
        return answer

    monkeypatch.setattr(Kaggle, "once", other)

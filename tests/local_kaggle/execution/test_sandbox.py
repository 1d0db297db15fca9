from __future__ import annotations

import pytest

from local_kaggle.execution.sandbox import Sandbox


@pytest.fixture
def box(tmp_path):
    made = Sandbox(tmp_path / "session", tmp_path / "image", internet=True)
    yield made
    made.discard()


@pytest.mark.parametrize(
    ("kind", "marker", "devices"),
    [
        ("cpu", None, None),
        ("gpu", "gpu", None),
        ("tpu", "tpu", "--xla_force_host_platform_device_count=8"),
    ],
)
def test_a_session_is_told_what_it_rehearses(box, kind, marker, devices):
    box.runs_on = kind
    environment = box.environment()
    assert environment.get("KAGGLE_REHEARSAL") == marker
    assert environment.get("XLA_FLAGS") == devices
    assert ("CUDA_VISIBLE_DEVICES" in environment) == (kind != "gpu")
    assert environment["KAGGLE_KERNEL_RUN_TYPE"] == "Batch"


def test_home_and_temporary_files_are_gone_afterwards(box):
    assert (box.scratch / "home").is_dir()
    box.discard()
    assert not box.scratch.exists()
    assert box.working.is_dir()

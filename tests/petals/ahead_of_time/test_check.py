"""What surrounds the compiler, without one: its environment, its refusals, the shared batch."""

import os
from types import SimpleNamespace

import pytest

from petals.ahead_of_time import check
from petals.ahead_of_time.check import Compiler
from petals.errors import SettingError

CHIPS = {"topology": "v5e:2x4", "bounds": [2, 4, 1], "accelerator_type": "v5litepod-8"}


def test_no_tpu_is_looked_for_and_two_checks_may_run_at_once(monkeypatch):
    monkeypatch.setattr(os, "environ", {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"})
    check.prepare_environment(CHIPS)
    assert os.environ["TPU_SKIP_MDS_QUERY"] == "1"
    assert os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] == "1"
    assert os.environ["JAX_PLATFORMS"] == "cpu"
    assert os.environ["TPU_ACCELERATOR_TYPE"] == "v5litepod-8"
    assert "XLA_FLAGS" not in os.environ


@pytest.mark.parametrize(
    ("message", "needed", "available"),
    [
        (  # as libtpu 0.0.42 refuses MobileNet at 512 px with 8,192 images
            "Ran out of memory on HBM, the total memory required for HLO temporaries "
            "(26.32G) exceeds available HBM (15.75G)\n\n  many more lines\n  of buffers",
            round(26.32 * 2**30),
            round(15.75 * 2**30),
        ),
        ("XLA:TPU compile permanent error. Used 1.50M of 3.50K hbm.", 3 << 19, 3584),
        (
            "Allocation (size=19327352832) would exceed memory (size=17179869184) :: #alloc",
            19327352832,
            2**34,
        ),
    ],
)
def test_a_refusal_for_memory_has_its_figures(message, needed, available):
    refusal = check.refusal(f"RESOURCE_EXHAUSTED: {message}")
    assert refusal["reason"] == "memory"
    assert (refusal["needed_bytes"], refusal["available_bytes"]) == (needed, available)
    assert refusal["message"].startswith(f"RESOURCE_EXHAUSTED: {message.splitlines()[0]}")


def test_another_refusal_is_the_compilers():
    message = "UNIMPLEMENTED: no such op"
    assert check.refusal(message) == {"message": message, "reason": "compiler"}


def test_a_batch_that_the_devices_cannot_share_says_so():
    eight = Compiler.__new__(Compiler)
    eight.devices = 8
    program = SimpleNamespace(name="training step", images=12)
    with pytest.raises(SettingError, match=r"a batch of 12 images cannot be shared by 8 devices"):
        eight.lower(program)


def test_the_peak_counts_a_donated_state_once():
    sizes = {"argument": 100, "output": 80, "alias": 70, "temp": 30, "generated_code": 5}
    analysis = {f"{name}_size_in_bytes": size for name, size in sizes.items()}
    found = check._memory(SimpleNamespace(**analysis))
    assert found["peak_bytes"] == 140

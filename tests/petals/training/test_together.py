"""On JAX: several steps in one program, and trainings that were cut off, end as any other."""

import json
from pathlib import Path

import pytest

pytest.importorskip("jax")
PROGRAM = Path(__file__).parent / "together_program.py"
NAMES = ("loss", "accuracy", "val_loss", "val_macro_f1", "learning_rate")


@pytest.mark.long
@pytest.mark.parametrize("devices", [1, 2])
def test_steps_together_and_resumed_ones_give_the_same_numbers(python, dataset, tmp_path, devices):
    out = tmp_path / "result.json"
    python(
        PROGRAM,
        dataset,
        out,
        KAGGLE_REHEARSAL="tpu",
        JAX_PLATFORMS="cpu",
        XLA_FLAGS=f"--xla_force_host_platform_device_count={devices}",
        PETALS_CACHE=str(tmp_path / "cache"),
    )
    results = json.loads(out.read_text())
    single = results["single"]
    assert len(single["history"]) == 2
    for name in ("together", "resumed", "late"):
        assert results[name]["weights"] == pytest.approx(single["weights"], rel=1e-4)
        for row, expected in zip(results[name]["history"], single["history"], strict=True):
            for column in NAMES:
                assert row[column] == pytest.approx(expected[column], rel=1e-3), column
    assert results["resumed"]["weights"] == results["together"]["weights"]
    assert results["late"]["weights"] == single["weights"]

"""Each program is compiled once, however many devices share its batches."""

import json
from pathlib import Path

import pytest

pytest.importorskip("jax")
PROGRAM = Path(__file__).parent / "compiling_program.py"
RESUMING = Path(__file__).parent / "resuming_program.py"


@pytest.fixture
def train(python, dataset, tmp_path):
    """Two epochs with validation on so many devices of JAX; returns what was compiled."""

    def train(devices, program=PROGRAM, before=(), **variables):
        out = tmp_path / "result.json"
        variables |= {
            "KAGGLE_REHEARSAL": "tpu",
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
            "PETALS_CACHE": str(tmp_path / "cache"),
        }
        python(program, dataset, *before, out, **variables)
        result = json.loads(out.read_text())
        assert result["devices"] == devices
        return result

    return train


@pytest.mark.long
@pytest.mark.parametrize("devices", [1, 2, 8])
def test_two_epochs_with_validation_compile_each_program_once(train, devices):
    result = train(devices)
    assert len(result["history"]) == 2
    assert result["compiled"]["train_step"] == 1
    assert result["compiled"]["predict_step"] == 1
    assert result["waits"] == [False]  # the device may be steps behind


@pytest.mark.long
@pytest.mark.parametrize("devices", [1, 2, 8])
def test_the_head_and_the_features_of_both_splits_are_compiled_once(train, devices):
    result = train(devices, HEAD="3")
    assert len(result["history"]) == 3
    assert result["compiled"]["steps"] == 1  # so many at a time
    assert result["compiled"]["predict_step"] == 1
    assert result["waits"] == [False]


@pytest.mark.long
def test_the_first_epoch_says_how_much_was_compiling_and_the_next_run_finds_it(train, tmp_path):
    first = train(1, KEEP=str(tmp_path / "kept"))
    again = train(1, KEEP=str(tmp_path / "kept"))
    for result in (first, again):
        before, later = result["history"]
        assert 0 < before["compile_seconds"] < before["seconds"]
        assert later["compile_seconds"] < before["compile_seconds"]
    assert "train_step" not in first["found"]
    assert again["found"]["train_step"] == 1
    assert again["found"]["predict_step"] == 1
    for before, after in zip(first["history"], again["history"], strict=True):
        assert (before["loss"], before["val_loss"]) == (after["loss"], after["val_loss"])


@pytest.mark.long
@pytest.mark.parametrize("devices", [1, 8])
def test_a_run_that_was_killed_in_mid_epoch_compiles_once_and_ends_alike(train, tmp_path, devices):
    result = train(devices, RESUMING, [tmp_path / "run"])
    assert result["begins"] % result["steps"]  # in mid-epoch
    for compiled in result["compiled"]:
        assert compiled["train_step"] == 1
        assert compiled["predict_step"] == 1
    assert result["difference"] == 0
    for whole, resumed in zip(*result["histories"], strict=True):
        for name in ("val_loss", "val_macro_f1", "learning_rate"):
            assert resumed[name] == whole[name]
        # The mean of an epoch in two parts is rounded in another order.
        assert resumed["loss"] == pytest.approx(whole["loss"], rel=1e-6)
        assert resumed["accuracy"] == pytest.approx(whole["accuracy"], rel=1e-6)

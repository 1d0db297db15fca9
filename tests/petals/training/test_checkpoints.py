"""Cut off and gone on: the same numbers to the bit, and nothing lost to a bad file."""

import json
import math
import time

import numpy as np
import pytest
from tuning import fine_tune, untrained

from petals import storage
from petals.accelerators import cluster
from petals.augment.augmentation import augmentation
from petals.errors import CheckpointError, StorageError
from petals.models.build import set_trainable
from petals.training import callbacks
from petals.training.callbacks import Training
from petals.training.checkpoints import FOLDER, SETTINGS, Checkpoints
from petals.training.optimization import set_seed

STEPS, EPOCHS = 5, 3


class CutOff(BaseException):
    """As a kill would: no callback and no last words after it."""


@pytest.fixture
def cut_at(monkeypatch):
    """Set the step after which a training is cut off."""
    hooks = "on_train_batch_begin", "on_epoch_end"
    whole = {hook: getattr(callbacks.Epochs, hook) for hook in hooks}

    def choose(step):
        def begin(self, batch, logs=None):
            whole["on_train_batch_begin"](self, batch, logs)
            if self._epoch * STEPS + self._before + batch == step:
                raise CutOff

        def end(self, epoch, logs):
            if (epoch + 1) * STEPS == step:
                raise CutOff
            whole["on_epoch_end"](self, epoch, logs)

        monkeypatch.setattr(callbacks.Epochs, "on_train_batch_begin", begin)
        monkeypatch.setattr(callbacks.Epochs, "on_epoch_end", end)

    return choose


@pytest.fixture(autouse=True)
def saved_at_each_step(monkeypatch, narrow):
    monkeypatch.setattr(callbacks, "SAVE_EVERY", 0.0)


def tune(splits, run, *, cache=True, deadline=math.inf):
    """Fine-tune from the checkpoint there is; returns (history, weights)."""
    set_seed(0)
    model = untrained(dropout=0.3)
    set_trainable(model, "all", freeze_batch_norm=False)
    kept = Checkpoints(run, {"seed": 0})
    training = Training(kept.newest.history, checkpoints=kept, deadline=deadline)
    change = augmentation("light")
    fine_tune(model, splits, EPOCHS, training, change=change, cache=cache, weight_decay=1e-3)
    return training.history, model.model.get_weights()


def assert_same(one, other):
    for first, second in zip(one[0], other[0], strict=True):
        for name in ("epoch", "val_loss", "val_accuracy", "val_macro_f1", "learning_rate"):
            assert first[name] == second[name], name
        for name in ("loss", "accuracy"):
            assert first[name] == pytest.approx(second[name], rel=1e-6)
    assert all((a == b).all() for a, b in zip(one[1], other[1], strict=True))


@pytest.mark.long
@pytest.mark.parametrize(("dtype", "cache"), [("float32", False), ("mixed_float16", True)])
def test_cut_off_twice_it_ends_as_one_left_alone(
    splits, tmp_path, cut_at, capsys, policy, dtype, cache
):
    policy(dtype)
    cut_at(None)
    alone = tune(splits, tmp_path / "alone", cache=cache)
    for step in (3, 10):  # within an epoch, and after the last step of one
        cut_at(step)
        with pytest.raises(CutOff):
            tune(splits, tmp_path / "cut", cache=cache)
    cut_at(None)
    capsys.readouterr()
    assert_same(tune(splits, tmp_path / "cut", cache=cache), alone)
    # The tenth was being saved with its epoch's scores.
    assert "fine-tune, step 9" in capsys.readouterr().out


@pytest.mark.long
def test_out_of_time_is_gone_on_from_and_once_finished_only_scored_again(splits, tmp_path):
    alone = tune(splits, tmp_path / "alone")
    short, _ = tune(splits, tmp_path / "short", deadline=time.monotonic())
    assert len(short) == 1  # scored all the same
    assert_same(tune(splits, tmp_path / "short"), alone)
    assert_same(tune(splits, tmp_path / "short", deadline=time.monotonic()), alone)


def saved(folder, steps=(1,), settings=None, **facts):
    kept = Checkpoints(folder, settings or {"a": 1}, resume="never")
    for step in steps:
        kept.save("fine-tune", step, [np.full(3, step), np.zeros(())], history=[], **facts)
    return kept


def test_the_two_newest_stay(tmp_path):
    kept = saved(tmp_path, range(1, 6))
    (kept.folder / ".1-000000006.4711.part.npz").write_bytes(b"half")  # of a killed process
    newest = Checkpoints(tmp_path, {"a": 1}).newest
    assert (newest.phase, newest.step, newest.arrays[0].tolist()) == ("fine-tune", 5, [5, 5, 5])
    kept.save("head", 900, [], history=[])  # an earlier phase
    names = sorted(path.name for path in kept.folder.iterdir())
    assert names == ["1-000000004.npz", "1-000000005.npz", SETTINGS]
    kept.clear()
    assert not (tmp_path / FOLDER).exists()


def test_a_run_may_go_on_elsewhere_and_under_another_limit(tmp_path):
    saved(tmp_path, settings={"a": 1, "output": "x", "time_limit": 1.0})
    again = Checkpoints(tmp_path, {"a": 1, "output": "y", "time_limit": 0.0, "resume": "auto"})
    assert (again.newest.phase, again.newest.resumed) == ("fine-tune", 1)
    assert again.newest.seconds > 0


def damage(path):
    path.write_bytes(path.read_bytes()[:-40])


def write_older(path):
    facts = json.dumps({"version": 1, "all else": "is named otherwise"})
    np.savez(path, facts=np.frombuffer(facts.encode(), np.uint8))


@pytest.mark.parametrize(
    ("harm", "problem"), [(damage, "is damaged"), (write_older, "another version")]
)
def test_a_bad_file_leaves_the_one_before(tmp_path, capsys, harm, problem):
    path = saved(tmp_path, [1, 2]).folder / "1-000000002.npz"
    harm(path)
    assert Checkpoints(tmp_path, {"a": 1}).newest.step == 1
    assert problem in capsys.readouterr().out
    with pytest.raises(CheckpointError, match=problem):
        Checkpoints(tmp_path, {"a": 1}, resume=str(path))


def test_other_settings_are_named_and_left_alone(tmp_path, capsys):
    saved(tmp_path)
    assert Checkpoints(tmp_path, {"a": 2, "b": 0}).newest.phase == ""
    told = capsys.readouterr().out
    assert "a: 1 there, 2 here; b: None there, 0 here): training starts again" in told
    with pytest.raises(CheckpointError, match="other settings"):
        Checkpoints(tmp_path, {"a": 2}, resume=str(tmp_path))
    assert Checkpoints(tmp_path, {"a": 1}, resume="never").newest.phase == ""
    assert Checkpoints(tmp_path / "b", {"a": 1}, resume=str(tmp_path)).newest.step == 1


def test_all_hosts_end_with_the_error_of_a_checkpoint_that_is_not_there(tmp_path, monkeypatch):
    sent, errors = [], []
    monkeypatch.setattr(cluster, "_exchange", lambda data, hosts: sent.append(data) or sent[:hosts])
    for index in range(2):
        monkeypatch.setattr(cluster, "_here", cluster.Hosts(index, 2))
        with pytest.raises(CheckpointError, match=r"no checkpoint in .*nowhere: give") as error:
            Checkpoints(tmp_path, {"a": 1}, resume=str(tmp_path / "nowhere"))
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_it_is_looked_for_in_attached_outputs(tmp_path, monkeypatch, capsys):
    (tmp_path / "inputs/notebooks/me/mine").mkdir(parents=True)
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(tmp_path / "inputs"))
    assert Checkpoints(tmp_path / "working", {"a": 1}).newest.phase == ""
    assert "no checkpoint in the attached outputs: training starts again" in capsys.readouterr().out
    saved(tmp_path / "inputs/notebooks/me/mine", [7])
    saved(tmp_path / "working", [2])
    assert Checkpoints(tmp_path / "working", {"a": 1}).newest.step == 7


def test_without_space_training_goes_on(tmp_path, monkeypatch, capsys):
    kept = saved(tmp_path, [1])

    def full(path):
        raise StorageError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(storage, "replacing", full)
    kept.save("fine-tune", 2, [], history=[])
    told = capsys.readouterr().out
    assert "the checkpoint of step 2 was not saved; the earlier ones stay: cannot write" in told
    monkeypatch.undo()
    assert Checkpoints(tmp_path, {"a": 1}).newest.step == 1


def test_another_model_is_refused_before_anything_changes(splits, tmp_path):
    saved(tmp_path, settings={"seed": 0}, best_f1=0.0, partial={})
    with pytest.raises(CheckpointError, match="of another model"):
        tune(splits, tmp_path)

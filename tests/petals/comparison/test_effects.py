import pytest

from petals.comparison import effects, runs
from petals.plots import compare


@pytest.fixture
def read(tmp_path):
    return lambda: runs.read(str(tmp_path / "runs" / "*"))[0]


def test_runs_that_differ_in_one_axis_are_compared(write_run, read):
    for seed in range(3):
        write_run(f"low-{seed}", 0.6, seed, dropout=0.0)
        write_run(f"high-{seed}", 0.98, seed, dropout=0.5)
    effect = effects.effect(read(), "regularisation")
    assert effect.fair
    assert effect.settings == ["dropout 0.0", "dropout 0.5"]
    assert effect.largest_difference > 0.2
    assert effects.verdict(effect)["what follows"] == "it matters"
    assert [row[3] for row in effects.summary([effect]).rows] == [3, 3]
    compare.effects([effect]).canvas.draw()


def lines_of(effect):
    return [line.get_linewidth() > 0 for line in compare.effects([effect]).axes[0].lines]


def test_numbers_are_in_their_order_and_joined_by_a_line(write_run, read):
    for rate, skill in ((0.01, 0.7), (0.003, 0.98), (0.001, 0.5)):
        write_run(f"rate-{rate}", skill, learning_rate=rate)
    effect = effects.effect(read(), "learning rate")
    assert effect.settings == [f"learning_rate {rate}" for rate in (0.001, 0.003, 0.01)]
    assert effects.verdict(effect)["best"] == "learning_rate 0.003"
    assert lines_of(effect) == [True]


def test_categories_are_in_the_order_of_their_scores_and_not_joined(write_run, read):
    for level, skill in (("light", 0.98), ("strong", 0.5), ("none", 0.7)):
        write_run(level, skill, augment=level)
    effect = effects.effect(read(), "augmentation")
    assert effect.settings == ["augment strong", "augment none", "augment light"]
    assert lines_of(effect) == [False]


def test_how_a_run_was_cut_up_is_no_difference_and_long_numbers_are_shortened(write_run, read):
    write_run("a", 0.6, dropout=0.123456789, resume="auto", time_limit=5.0)
    write_run("b", 0.9, dropout=0.5, resume="never", time_limit=1.0)
    effect = effects.effect(read(), "regularisation")
    assert effect.fair
    assert effect.settings == ["dropout 0.1235", "dropout 0.5"]


def test_an_axis_in_which_all_are_alike_says_nothing(write_run, read):
    write_run("a", 0.6)
    write_run("b", 0.9, seed=1)
    assert all(effects.effect(read(), axis) is None for axis in effects.AXES)


def test_runs_that_differ_in_two_axes_prove_nothing(write_run, read):
    write_run("a", 0.6, dropout=0.0, augment="none")
    write_run("b", 0.9, dropout=0.5, augment="strong")
    effect = effects.effect(read(), "augmentation")
    assert not effect.fair
    assert "no two runs differ only in it" in effects.verdict(effect)["what follows"]
    compare.effects([effect]).canvas.draw()


def test_noise_and_single_runs_are_called_so(write_run, read):
    write_run("a", 1.0, schedule="ramp")
    write_run("b", 1.0, schedule="cosine")
    assert "repeats" in effects.verdict(effects.effect(read(), "learning rate"))["what follows"]
    write_run("c", 0.5, schedule="constant")
    assert "hint" in effects.verdict(effects.effect(read(), "learning rate"))["what follows"]


def test_weights_belong_to_their_backbone_but_having_none_is_another_recipe(write_run, read):
    write_run("a", 0.7, backbone="VGG16", weights="vgg.h5")
    write_run("b", 0.9, backbone="Xception", weights="xception.h5")
    assert effects.effect(read(), "backbone").fair
    write_run("c", 0.4, backbone="SmallNet", weights="none")
    assert len(effects.effect(read(), "backbone").groups[0]) == 2

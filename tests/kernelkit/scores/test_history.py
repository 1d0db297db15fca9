"""What a run's history says of its epochs."""

from kernelkit.scores import history


def test_the_curve_is_the_score_on_validation_as_far_as_it_is_written(tmp_path):
    (tmp_path / "history.csv").write_text(
        "phase,loss,val_f1\nhead,2,\nhead,1,0.5\ntune,1,\ntune,1,0.7\ntune,1,0.x"
    )
    assert history.curve(tmp_path, "f1") == [0.5, 0.7]


def test_an_epoch_without_a_score_is_left_out_of_the_curve(tmp_path):
    (tmp_path / "history.csv").write_text('val_f1\n""\n0.5\n')
    assert history.curve(tmp_path, "f1") == [0.5]


def test_without_the_score_the_curve_is_the_loss_or_nothing(tmp_path):
    (tmp_path / "history.csv").write_text("phase,loss\nhead,2\n")
    assert history.curve(tmp_path, "mae") == [2]
    assert history.curve(tmp_path, "mae", otherwise=()) == []

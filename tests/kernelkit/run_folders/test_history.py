"""What a run's history says of its epochs."""

from kernelkit.run_folders import history


def test_the_curve_is_the_scores_on_validation_first(tmp_path):
    (tmp_path / "history.csv").write_text("phase,loss,val_f1\nhead,2,0.5\nhead,1,\ntune,1,0.7\nt")
    assert history.curve(tmp_path, "f1") == ("val_f1", [0.5, 0.7])
    assert history.curve(tmp_path, "mae")[0] == "loss"
    assert history.curve(tmp_path, "mae", ()) == ("", [])


def test_phases_are_where_the_word_changes(tmp_path):
    (tmp_path / "history.csv").write_text("epoch,phase\n1,head\n2,head\n1,fine-tune\n")
    assert history.phases(history.read(tmp_path)) == [(2, "fine-tune")]
    assert history.phases(history.read(tmp_path / "nowhere")) == []


def test_a_line_that_is_half_written_ends_the_numbers():
    assert history.numbers(["1", "2.5", "2.x", "3"]) == [1.0, 2.5]

import numpy as np
import pytest

from petals.evaluation.submission import write_submission


@pytest.mark.parametrize(("submitted", "labels"), [(None, ["1", "0"]), (("7", "12"), ["12", "7"])])
def test_a_row_is_an_id_and_the_likeliest_class(tmp_path, submitted, labels):
    probabilities = np.array([[0.1, 0.9], [0.8, 0.2]])
    assert (
        write_submission(tmp_path / "a.csv", np.array(["x", "y"]), probabilities, submitted).name
        == "a.csv"
    )
    expected = f"id,label\nx,{labels[0]}\ny,{labels[1]}\n"
    assert (tmp_path / "a.csv").read_text() == expected


def test_what_lacks_rows_has_another_name_and_replaces_what_had_them(tmp_path):
    path = tmp_path / "submission.csv"
    write_submission(path, np.array(["x", "y"]), np.eye(2))
    written = write_submission(path, np.array(["x"]), np.eye(2)[:1], complete=False)
    assert written == tmp_path / "submission.partial.csv"
    assert written.read_text() == "id,label\nx,0\n"
    assert not path.exists()
    write_submission(path, np.array(["x", "y"]), np.eye(2))
    assert list(tmp_path.iterdir()) == [path]

import numpy as np
import pytest

from petals.evaluation.submission import write_submission


@pytest.mark.parametrize(("submitted", "labels"), [(None, ["1", "0"]), (("7", "12"), ["12", "7"])])
def test_a_row_is_an_id_and_the_likeliest_class(tmp_path, submitted, labels):
    probabilities = np.array([[0.1, 0.9], [0.8, 0.2]])
    write_submission(tmp_path / "a.csv", np.array(["x", "y"]), probabilities, submitted)
    expected = f"id,label\nx,{labels[0]}\ny,{labels[1]}\n"
    assert (tmp_path / "a.csv").read_text() == expected

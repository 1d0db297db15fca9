import pytest

from kernelkit.errors import ParameterError
from kernelkit.sweep.config import specification
from kernelkit.sweep.store import results


@pytest.fixture
def runs(tmp_path):
    scores = {}
    for number, score in enumerate((0.5, 0.9, 0.7, 0.8)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "model.h5").write_text("weights")
        (folder / "metrics.json").write_text("{}")
        scores[folder] = score
    return scores


@pytest.mark.parametrize(("minimize", "kept"), [(False, ["1", "3"]), (True, ["0", "2"])])
def test_only_the_best_runs_keep_the_file(runs, minimize, kept):
    results.keep_best(runs, {"model.h5": 2}, minimize=minimize)
    left = [folder.name for folder in runs if (folder / "model.h5").is_file()]
    assert left == kept
    assert all((folder / "metrics.json").is_file() for folder in runs)
    assert results.keep_best(runs, {"model.h5": 2}, minimize=minimize) == []


@pytest.mark.parametrize(
    "asked",
    [["model.h5"], {"model.h5": 0}, {"model.h5": True}, {"../model.h5": 1}, {"": 1}],
    ids=str,
)
def test_a_wrong_keep_best_is_refused_in_one_line(asked):
    with pytest.raises(ParameterError, match="keep_best") as error:
        specification.checked_keep_best(asked)
    assert "\n" not in str(error.value)

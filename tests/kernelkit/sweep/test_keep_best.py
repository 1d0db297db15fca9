"""Large files that only the best runs keep."""

import pytest

from kernelkit.errors import ParameterError
from kernelkit.sweep import results, specification
from kernelkit.sweep.records import SweepFolder


@pytest.mark.parametrize(("minimize", "best"), [(False, ["1", "3"]), (True, ["0", "2"])])
def test_only_the_best_runs_keep_the_file(sweeps, minimize, best):
    folder = SweepFolder(sweeps.runs)
    scores = {"0": 0.5, "1": 0.9, "2": 0.7, "3": 0.8}
    for id in scores:
        (folder.path / id).mkdir(parents=True)
        for name in ("model.h5", "metrics.json"):
            (folder.path / id / name).write_text("{}")
    text = f"grid: {{a: [1]}}\nkeep_best: {{model.h5: 2}}\nminimize: {minimize}"
    sweep = specification.read(sweeps.write(text))

    for _ in range(2):
        results.keep_best(folder, scores, sweep)
        assert sorted(path.parent.name for path in folder.path.glob("*/model.h5")) == best
    assert len(list(folder.path.glob("*/metrics.json"))) == 4


@pytest.mark.parametrize(
    "asked",
    [["model.h5"], {"model.h5": 0}, {"model.h5": True}, {"../model.h5": 1}, {"": 1}],
    ids=str,
)
def test_a_wrong_keep_best_is_refused_in_one_line(asked):
    with pytest.raises(ParameterError, match="keep_best") as error:
        specification.checked_keep_best(asked)
    assert "\n" not in str(error.value)

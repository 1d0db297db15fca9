"""Large files that only the best runs keep."""

import pytest

from kernelkit.errors import ParameterError
from kernelkit.sweep import results, specification
from kernelkit.sweep.records import DONE, Record, SweepFolder
from kernelkit.sweep.specification import PlannedRun


@pytest.mark.parametrize(("minimize", "best"), [(False, ["1", "3"]), (True, ["0", "2"])])
def test_only_the_best_runs_keep_the_file(sweeps, minimize, best):
    folder = SweepFolder(sweeps.runs)
    runs = [PlannedRun(str(number), {}, {}) for number in range(4)]
    for run, score in zip(runs, (0.5, 0.9, 0.7, 0.8), strict=True):
        folder.write(run, Record(DONE))
        (folder.run_folder(run) / "model.h5").touch()
        (folder.run_folder(run) / "metrics.json").write_text(f'{{"macro_f1": {score}}}')
    text = f"grid: {{a: [1]}}\nkeep_best: {{model.h5: 2}}\nminimize: {minimize}"
    sweep = specification.read(sweeps.write(text))

    for _ in range(2):
        results.keep_best(results.gather(folder, sweep, runs), sweep.keep_best)
        assert sorted(path.parent.name for path in folder.path.glob("*/model.h5")) == best
    assert len(list(folder.path.glob("*/metrics.json"))) == 4


@pytest.mark.parametrize(
    "keep_best",
    [["model.h5"], {"model.h5": 0}, {"model.h5": True}, {"../model.h5": 1}, {"": 1}],
    ids=str,
)
def test_a_wrong_keep_best_is_refused_in_one_line(keep_best):
    with pytest.raises(ParameterError, match="keep_best") as error:
        specification.checked_keep_best(keep_best)
    assert "\n" not in str(error.value)

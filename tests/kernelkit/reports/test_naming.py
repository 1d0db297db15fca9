"""Runs are called by their folders, and in a sweep by what differs."""

import json

import pytest

from kernelkit.reports import naming


@pytest.mark.parametrize("file", [".kernelkit/run.json", "metrics.json"])
def test_a_run_of_a_sweep_is_named_by_what_differs(tmp_path, file):
    run = tmp_path / "sweep" / "168de1e41d4f"
    (run / file).parent.mkdir(parents=True)
    parameters = {"size": 3, "rate": 0.0029541004914, "seed": 1}
    (run / file).write_text(json.dumps({"parameters": parameters}))
    assert naming.run_name(run) == (run.name, run.name)
    (tmp_path / "sweep" / "sweep.json").write_text('{"varying": ["rate", "seed"]}')
    assert naming.run_name(run) == ("rate=0.002954 seed=1", "rate=0.002954")

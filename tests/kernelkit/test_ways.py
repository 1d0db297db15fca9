"""A push and a sweep pass through no more modules than a reader can follow."""

import subprocess

import pytest
from ways import Arrived, Way

from kernelkit.commands.console import main
from kernelkit.kaggle_api.client import Kaggle


def arrive(*_, **__):
    raise Arrived


def test_from_a_push_to_its_request(repository, serve, monkeypatch):
    repository.on_cpu()
    monkeypatch.setattr(Kaggle, "save", arrive)
    serve()
    with Way("kernelkit") as way:
        main(["push", "-p", "files=1"], standalone_mode=False)
        pytest.fail("no request was made")
    way.assert_short("pushes/command", "pushes/send", modules=20, rooms=8)


STUDY = """\
# %% tags=["parameters"]
n = 1  # >= 0: n
output = ""  # the run's folder
"""


def test_from_a_sweep_to_the_process_that_runs_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.py").write_text(STUDY)
    (tmp_path / "study.yaml").write_text("notebook: study.py\ngrid: {n: [1]}\n")
    start = subprocess.Popen.__init__

    def started(process, command, *arguments, **options):
        if any("kernelkit.sweep.workers" in str(word) for word in command):
            raise Arrived
        start(process, command, *arguments, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", started)
    with Way("kernelkit") as way:
        main(["sweep", "study.yaml"], standalone_mode=False)
        pytest.fail("no process was started")
    way.assert_short("sweep/command", "sweep/workers/engine", modules=15, rooms=7)

"""A sweep over two sessions of a local Kaggle, the first cut by its time."""

import csv
import json
import shutil

import pytest

from kernelkit.errors import ParameterError
from kernelkit.sweep.backends import on_kaggle

METADATA = {
    "id": "INSERT_USERNAME/tiny-notebook", "title": "Tiny notebook", "code_file": "tiny.ipynb",
    "language": "python", "kernel_type": "notebook", "is_private": True,
    "enable_internet": False, "enable_gpu": False, "enable_tpu": False,
}  # fmt: skip


def rows(sweeps):
    with (sweeps.runs / "results.csv").open(newline="") as lines:
        return {row["a"]: row for row in csv.DictReader(lines)}


def test_the_next_session_goes_on_with_the_last_ones_output(sweeps, monkeypatch):
    (sweeps.folder / "kernel-metadata.json").write_text(json.dumps(METADATA))
    (sweeps.folder / "pyproject.toml").write_text("[tool.kernelkit]\npackages = []\n")
    slower = sweeps.notebook.read_text().replace("time.sleep(0.6)", "time.sleep(8)")
    sweeps.notebook.write_text(slower)
    text = "base: {does: slow}\ngrid: {a: [1, 2, 3, 4]}"
    monkeypatch.setattr(on_kaggle, "SPARE_SHARE", 0.75)  # 30 seconds of two minutes

    sweeps.run(text, kaggle=True, local=True, timeout=2)

    states = [row["state"] for row in rows(sweeps).values()]
    assert states[0] == "done"
    assert states[-1] == "pending"
    assert "left: the same command goes on" in sweeps.message
    shutil.rmtree(sweeps.runs / rows(sweeps)["1"]["id"])  # as if it had never come home
    monkeypatch.setattr(on_kaggle, "SPARE_SHARE", 0.1)
    sweeps.run(text, kaggle=True, local=True, timeout=2)

    assert "were done in an earlier session" in sweeps.message
    assert [row["state"] for row in rows(sweeps).values()] == ["done"] * 4
    assert [row["macro_f1"] for row in rows(sweeps).values()] == ["0.01", "0.02", "0.03", "0.04"]


def test_a_rehearsal_of_nothing_is_refused(sweeps):
    with pytest.raises(ParameterError, match="--local rehearses --kaggle"):
        sweeps.run("grid: {a: [1]}", local=True)


def test_what_rides_along_holds_no_client(sweeps):
    from kernelkit.bundle import packages

    project = on_kaggle._carrying(sweeps.notebook)
    folder = project.package_folder("kernelkit")
    carried = {file.path for file in packages.files(folder, project.leave_out)}

    assert "kernelkit/sweep/backends/in_session.py" in carried
    assert not {p for p in carried if "client" in p or "connection" in p or "push" in p}

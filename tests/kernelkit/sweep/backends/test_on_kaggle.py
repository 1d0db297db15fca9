"""A sweep over two sessions of a local Kaggle, the first cut by its time."""

import csv
import json
import shutil

import pytest

from kernelkit.errors import ParameterError, PreflightError
from kernelkit.sweep.backends import on_kaggle

METADATA = {
    "id": "INSERT_USERNAME/tiny-notebook", "title": "Tiny notebook", "code_file": "tiny.ipynb",
    "language": "python", "kernel_type": "notebook", "is_private": True,
    "enable_internet": False, "enable_gpu": False, "enable_tpu": False,
}  # fmt: skip


def rows(sweeps):
    with (sweeps.runs / "results.csv").open(newline="") as lines:
        return {row["a"]: row for row in csv.DictReader(lines)}


@pytest.mark.long
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


def test_a_dry_run_checks_what_each_run_needs_and_sends_nothing(sweeps):
    (sweeps.folder / "kernel-metadata.json").write_text(json.dumps(METADATA))
    needs = '[tool.kernelkit]\npackages = []\n[tool.kernelkit.needs]\ninternet = ["kind=y"]\n'
    (sweeps.folder / "pyproject.toml").write_text(needs)

    sweeps.run("grid: {a: [1, 2]}", kaggle=True, local=True, dry_run=True)
    assert "nothing was sent" in sweeps.message
    with pytest.raises(PreflightError, match="kind=y needs the internet"):
        sweeps.run("grid: {kind: [x, y]}", kaggle=True, local=True, dry_run=True)
    assert not list(sweeps.runs.glob("rehearsal*"))


def test_what_was_rehearsed_is_not_done_on_kaggle(sweeps, monkeypatch):
    from kernelkit.sweep import command

    asked = []
    monkeypatch.setattr(
        on_kaggle, "run_on_kaggle", lambda sweep_report, *_: asked.append(sweep_report)
    )
    monkeypatch.chdir(sweeps.folder)
    file = sweeps.write("grid: {a: [1]}")

    command.sweep(file, kaggle=True, local=True)
    command.sweep(file, kaggle=True)
    monkeypatch.setenv("KAGGLE_API_ENVIRONMENT", "LOCALHOST")
    command.sweep(file, kaggle=True)

    names = [sweep_report.folder.path.name for sweep_report in asked]
    assert names == ["rehearsal-tiny", "kaggle-tiny", "rehearsal-tiny"]


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


def test_what_rides_along_finds_all_that_it_imports(sweeps):
    from kernelkit.bundle import imports, packages

    project = on_kaggle._carrying(sweeps.notebook)
    files = packages.files(project.package_folder("kernelkit"), project.leave_out)
    carried = {f.path.removesuffix(".py").replace("/", ".") for f in files}
    for file in files:
        if file.path.endswith(".py"):
            for name in imports.imported(file.text):
                module = name if name in carried else name.rpartition(".")[0]
                known = module in carried or f"{module}.__init__" in carried
                assert known or not name.startswith("kernelkit"), f"{file.path} imports {name}"


def test_a_notebook_that_is_not_python_is_not_pushed(sweeps):
    (sweeps.folder / "kernel-metadata.json").write_text(json.dumps(METADATA))
    sweeps.notebook.write_text(sweeps.notebook.read_text() + "\n# %%\nx = = 1\n")
    with pytest.raises(PreflightError, match=r"\[cell \d+\], line 1: invalid syntax"):
        sweeps.run("grid: {a: [1]}", kaggle=True, local=True)

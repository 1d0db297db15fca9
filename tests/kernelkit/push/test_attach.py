"""Folders of the repository travel as private datasets, and a session knows which bytes it has."""

import dataclasses
from contextlib import nullcontext

import pytest

from kernelkit import errors
from kernelkit.push.asked import account
from kernelkit.terminal.events import Events
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

READING = """\
from pathlib import Path
kaggle = Path("/kaggle/input").glob("datasets/*/soil-exp12")
weights = next(kaggle, Path("models/exp12"))
Path("read.txt").write_text((weights / "net.bin").read_text() + (weights / "a/b.txt").read_text())
"""
SLUG = "soil-exp12"


@pytest.fixture
def kaggle(serve, quick_sessions):
    return serve(dataset_seconds=0.2, lag_seconds=0.1)


@pytest.fixture
def garden(repository):
    repository.on_cpu()
    repository.sources(READING, parameters="seed = 0  # >= 0: what is drawn")
    attach(repository, "models/exp12")
    folder = repository.root / "models" / "exp12"
    (folder / "a").mkdir(parents=True)
    (folder / "net.bin").write_text("first")
    (folder / "a" / "b.txt").write_text(" below")
    repository.weights = folder / "net.bin"
    return repository


def attach(repository, *folders):
    (repository.root / "pyproject.toml").write_text(
        f'[project]\nname = "Soil"\n[tool.kernelkit]\npackages = []\nattach = {[*folders]}\n'
    )


def versions(kaggle):
    return sorted(path.name for path in (kaggle.root / "datasets/tester").glob(f"{SLUG}/*"))


def test_a_folder_is_uploaded_once_and_read_at_its_own_name(kaggle, garden):
    assert (garden.push() / "read.txt").read_text() == "first below"
    sent = kaggle.faults.calls["Upload"]
    garden.push("seed=1")
    assert kaggle.faults.calls["Upload"] == sent
    assert f"tester/{SLUG} version 1 has these bytes already" in garden.message
    assert versions(kaggle) == ["1"]


def test_files_that_change_between_the_check_and_the_upload_are_not_sent(
    kaggle, garden, monkeypatch
):
    def ask(*arguments):
        garden.weights.write_text("second")  # as while the rest of a chain runs
        return account.ask(*arguments)

    with monkeypatch.context() as changing:
        changing.setattr("kernelkit.push.push_kernel.ask", ask)
        with pytest.raises(errors.StorageError, match=r"net\.bin changed after it was read"):
            garden.push()
    assert versions(kaggle) == []
    garden.push(wait=False)
    assert versions(kaggle) == ["1"]


def test_an_identical_push_is_taken_up(kaggle, garden):
    garden.push()
    garden.push(once=True)
    assert kaggle.faults.calls["SaveKernel"] == 1


def test_weights_of_the_same_names_and_sizes_are_another_version_and_another_push(kaggle, garden):
    garden.push()
    garden.weights.write_text("other")
    assert (garden.push() / "read.txt").read_text() == "other below"
    assert versions(kaggle) == ["1", "2"]


def test_a_session_with_the_former_version_stops_before_the_notebooks_cells(kaggle, garden):
    garden.push()
    garden.weights.write_text("other")
    kaggle.faults = FaultSchedule([Fault("SaveKernel", 1, FaultKind.FORMER_VERSION)])
    stale = f"{SLUG} is not mounted in the version that was pushed"
    with pytest.raises(errors.RunFailedError, match=stale):
        garden.push()
    assert (garden.push() / "read.txt").read_text() == "other below"
    assert versions(kaggle) == ["1", "2"]


def test_a_rehearsal_mounts_the_folder_without_an_upload(garden, quick_sessions):
    home = garden.push(local=True)
    assert (home / "read.txt").read_text() == "first below"
    assert f"models/exp12 is mounted as datasets/tester/{SLUG}" in garden.message
    assert not (garden.runs / "local_kaggle/datasets").exists()
    assert sorted(path.name for path in garden.weights.parent.iterdir()) == ["a", "net.bin"]


def test_a_rehearsal_has_what_the_folder_holds_now(garden, quick_sessions):
    garden.push(local=True)
    (garden.weights.parent / "a" / "b.txt").unlink()
    garden.sources("import os; print('has', sorted(os.listdir(f'/kaggle/input/soil-exp12')))")
    garden.push(local=True)
    assert "'net.bin']" in garden.message


def test_a_folder_that_takes_long_to_hash_is_told_on_the_live_line(garden, monkeypatch):
    shown = []

    def moving(_, state):
        shown.append(state())
        return nullcontext()

    monkeypatch.setattr(Events, "moving", moving)
    with pytest.raises(errors.ParameterError):
        garden.push(local=True, ignore=["none of the checks"])
    (line,) = shown
    assert line.startswith("hashing models/exp12: ")


def test_a_dry_run_shows_the_dataset_and_sends_nothing(kaggle, garden):
    garden.push(dry_run=True)
    assert f"dataset_data_sources = ['tester/{SLUG}']" in garden.message
    assert versions(kaggle) == []


@pytest.mark.parametrize("folder", ["/srv/models", "../models", ".", "models/../.."])
def test_only_folders_below_the_projects_are_taken(garden, folder):
    attach(garden, folder)
    with pytest.raises(errors.PreflightError, match=r"attach in .* takes a list of folders"):
        garden.plan()


def test_a_folder_that_is_not_there_or_empty_is_named(garden):
    attach(garden, "models/exp13")
    with pytest.raises(errors.PreflightError, match="names models/exp13, and there is no folder"):
        garden.plan()
    (garden.root / "models" / "exp13").mkdir()
    with pytest.raises(errors.PreflightError, match=r"exp13.* holds no file"):
        garden.plan()


def test_two_folders_of_one_name_are_refused(garden):
    (garden.root / "old" / "exp12").mkdir(parents=True)
    (garden.root / "old" / "exp12" / "net.bin").touch()
    attach(garden, "models/exp12", "old/exp12")
    with pytest.raises(errors.PreflightError, match="would be one dataset, soil-exp12"):
        garden.plan()


def test_a_link_that_leads_out_of_the_repository_is_refused(garden, tmp_path_factory):
    outside = tmp_path_factory.mktemp("home") / "id_rsa"
    outside.write_text("key")
    (garden.weights.parent / "more").symlink_to(outside)
    with pytest.raises(errors.PreflightError, match="more leads out of the repository"):
        garden.plan()


def test_credentials_are_not_uploaded(garden):
    (garden.weights.parent / "kaggle.json").touch()
    with pytest.raises(errors.PreflightError, match=r"refusing to upload credentials"):
        garden.plan()


class KilledError(BaseException):
    """The end of a process, as far as the code in it is concerned."""


@pytest.mark.parametrize("step", ["_send", "await_ready"])
def test_a_push_that_is_killed_and_repeated_makes_no_second_version(
    kaggle, garden, monkeypatch, step
):
    kaggle.limits = dataclasses.replace(kaggle.limits, dataset_seconds=2.0)

    def killed(*arguments, **options):
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(f"kernelkit.kaggle.uploading.versions.{step}", killed)
        with pytest.raises(KilledError):
            garden.push()
    assert (garden.push() / "read.txt").read_text() == "first below"
    assert versions(kaggle) == ["1"]

"""Packages that the image lacks travel with a push: found, uploaded once, attached, installed."""

import io
import json
import re

import pytest

from kernelkit import errors
from kernelkit.push.asked import wheels
from kernelkit.push.known import session_images
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

USING = """\
import pathlib, bloom_of_a_wheel, stem_of_a_wheel
versions = [bloom_of_a_wheel.VERSION, stem_of_a_wheel.VERSION]
pathlib.Path("versions.txt").write_text(" ".join(versions))
"""


@pytest.fixture
def kaggle(serve, quick_sessions):
    return serve(dataset_seconds=0.2, lag_seconds=0.1)


@pytest.fixture
def garden(repository, index):
    """A notebook that imports two packages, one of which only the other one requires."""
    index.add("bloom-of-a-wheel", requires=["stem-of-a-wheel>=1", "pytest"])
    index.add("stem-of-a-wheel", "1.5")
    repository.on_cpu()
    repository.sources(USING, parameters="seed = 0  # >= 0: what is drawn")
    pin(repository, "bloom-of-a-wheel==1.0")
    return repository


def pin(repository, *pins):
    (repository.root / "pyproject.toml").write_text(
        '[project]\nname = "Soil & moisture"\n'
        f"[tool.kernelkit]\npackages = []\nwheels = {json.dumps(pins)}\n"
    )


def uploaded(kaggle):
    """Each dataset's name and versions."""
    folders = (kaggle.root / "datasets").glob("tester/*")
    return {folder.name: [path.name for path in folder.iterdir()] for folder in folders}


@pytest.mark.long
def test_they_are_installed_in_the_session_and_uploaded_once(kaggle, garden):
    home = garden.push()

    assert (home / "versions.txt").read_text() == "1.0 1.5"
    ((name, versions),) = uploaded(kaggle).items()
    assert re.fullmatch("soil-moisture-wheels-[0-9a-f]{8}", name)  # a hash of the files
    assert versions == ["1"]
    assert f"attached as your dataset {name}" in garden.message
    assert "the image of CPU sessions does not have" not in garden.message

    sent = kaggle.faults.calls["Upload"]
    home = garden.push("seed=1")
    assert (home / "versions.txt").read_text() == "1.0 1.5"
    assert kaggle.faults.calls["Upload"] == sent
    assert len(uploaded(kaggle)) == 1


def test_a_dry_run_shows_them_and_what_they_lack_and_uploads_nothing(kaggle, garden):
    garden.sources("import stem_of_a_wheel, thorns_of_a_rose")
    garden.push(dry_run=True)
    assert "bloom-of-a-wheel 1.0, stem-of-a-wheel 1.5 for this machine's Python" in garden.message
    assert "dataset_data_sources = ['tester/soil-moisture-wheels-" in garden.message
    assert uploaded(kaggle) == {}
    (warning,) = [line for line in garden.message.splitlines() if "it is not known" in line]
    assert "thorns_of_a_rose" in warning


@pytest.mark.long
@pytest.mark.usefixtures("no_account")
def test_a_dry_run_without_an_account_looks_at_them_too(garden, index):
    index.add("bloom-of-a-wheel", requires=["stem-of-a-wheel>=1"])
    garden.push(dry_run=True)
    assert "dataset_data_sources = ['INSERT_USERNAME/soil-moisture-wheels-" in garden.message
    pin(garden, "blom-of-a-wheel==1.0")
    with pytest.raises(errors.PreflightError, match=r"no wheel of blom-of-a-wheel"):
        garden.push(dry_run=True)


@pytest.fixture
def choice(garden, index):
    """Chooses wheels for Kaggle; returns their Pythons. Its context is what the choice reads."""
    for python in ("cp312", "cp313"):
        index.add("leaf-of-a-wheel", tag=f"{python}-{python}-manylinux_2_28_x86_64")
    pin(garden, "leaf-of-a-wheel==1.0")
    context = PushContext.in_project(garden.root, runs=garden.runs, stream=io.StringIO())

    def choose():
        planned = garden.plan()
        return [wheel.path.name.split("-")[2] for wheel in wheels.find(context, planned).wheels]

    choose.context = context
    choose.content = lambda: wheels.with_wheels(context, garden.plan()).content
    return choose


def with_manifest_of_a_session(context):
    """A push to the CPU whose session has shown its Python and its modules."""
    push = context.ledger.begin(Push("me/blossom", "c", "", "cpu"))
    push = context.ledger.update(push, version=1)
    folder = context.folder(push) / ".kernelkit"
    folder.mkdir(parents=True)
    written = {"push": push.number, "files": [], "python": "3.13.1", "modules": ["soils"]}
    (folder / "manifest.json").write_text(json.dumps(written))
    return push


def test_wheels_are_for_both_pythons_until_a_session_tells_its_own(choice):
    assert choice() == ["cp312", "cp313"]
    push = with_manifest_of_a_session(choice.context)
    assert choice() == ["cp313"]
    assert session_images.modules_seen(choice.context.runs, "cpu") == ["soils"]
    choice.context.ledger.update(push, accelerator="tpu")  # another machine has its own image
    assert choice() == ["cp312", "cp313"]


def test_a_push_stays_the_same_once_its_session_has_shown_its_python(choice, garden, index):
    before = choice.content()
    with_manifest_of_a_session(choice.context)
    assert choice() == ["cp313"]
    assert choice.content() == before
    index.add("leaf-of-a-wheel", "1.1", tag="cp313-cp313-manylinux_2_28_x86_64")
    pin(garden, "leaf-of-a-wheel==1.1")
    assert choice.content() != before


def test_wheels_for_one_of_both_pythons_alone_are_a_warning(choice, index):
    index.clear()
    index.add("leaf-of-a-wheel", tag="cp312-cp312-manylinux_2_28_x86_64")
    assert choice() == ["cp312"]
    warning = choice.context.events.stream.getvalue()
    assert "the run fails if Kaggle's machine has this Python" in warning
    assert "for Kaggle's Python 3.13" in warning


@pytest.mark.long
def test_an_upload_pushes_nothing_until_it_gets_through_and_then_makes_one_version(kaggle, garden):
    kaggle.faults = FaultSchedule([Fault("StartBlobUpload", 0, FaultKind.ERROR_503)])
    with pytest.raises(errors.NetworkError):
        garden.push()
    assert "SaveKernel" not in kaggle.faults.calls
    faults = [
        Fault("GetDatasetStatus", 1, FaultKind.ERROR_503),
        Fault("Upload", 1, FaultKind.ERROR_503),
        Fault("CreateDataset", 1, FaultKind.LOST_ANSWER),
        Fault("GetDatasetStatus", 2, FaultKind.THROTTLED),
    ]
    kaggle.faults = FaultSchedule(faults)
    assert (garden.push() / "versions.txt").is_file()
    assert len(kaggle.faults.fired) == 4
    assert [*uploaded(kaggle).values()] == [["1"]]


def test_a_push_that_kaggle_would_refuse_uploads_none(kaggle, garden):
    pin(garden)
    garden.sources("import time; time.sleep(90)")
    garden.push(wait=False)
    pin(garden, "bloom-of-a-wheel==1.0")
    garden.sources(USING)
    with pytest.raises(errors.KernelBusyError):
        garden.push()
    assert uploaded(kaggle) == {}


def test_the_manifest_of_another_push_in_its_folder_says_nothing(choice):
    with_manifest_of_a_session(choice.context)
    (manifest,) = choice.context.runs.glob("*/.kernelkit/manifest.json")
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"push": "a1"}))
    assert choice() == ["cp312", "cp313"]

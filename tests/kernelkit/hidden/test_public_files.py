"""The public files of an `input/` folder are those that a hidden run compares and makes from."""

import pytest

from kernelkit.errors import ParameterError
from kernelkit.hidden.hidden_run import _show_public_files, rehearse_hidden_run
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.request import PushRequest


@pytest.fixture
def place(repository):
    """Where the catalogue has the competition's files, which lie in the `input/` folder."""
    (repository.root / "input/soil").mkdir(parents=True)
    (repository.root / "input/soil/train.csv").write_text("own")
    repository.on_cpu()
    repository.describe(competition_sources=["soil"])
    return repository.runs / "local_kaggle/catalogue/competitions/soil"


def show(repository, place):
    plan = repository.plan()
    context = PushContext.in_project(plan.project, local=True)
    _show_public_files(context, plan, place)


def test_they_are_shown_in_the_catalogue(repository, place):
    for _ in range(2):
        show(repository, place)
    assert (place / "train.csv").read_text() == "own"


def test_files_of_the_catalogues_own_are_kept(repository, place):
    place.mkdir(parents=True)
    (place / "train.csv").write_text("made")
    show(repository, place)
    assert (place / "train.csv").read_text() == "made"


def test_they_are_downloaded_before_the_hidden_data_is_looked_for(
    repository, serve, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    there = serve().catalogue / "competitions/soil"
    there.mkdir(parents=True)
    (there / "train.csv").write_text("of Kaggle")
    repository.on_cpu()
    repository.describe(competition_sources=["soil"])
    request = PushRequest.of(metadata=repository.metadata, download=2.0)
    with pytest.raises(ParameterError, match="there is no hidden data"):
        repository.run(rehearse_hidden_run, request)
    place = repository.runs / "local_kaggle/catalogue/competitions/soil"
    assert (place / "train.csv").read_text() == "of Kaggle"

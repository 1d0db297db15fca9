"""What a run here had loaded is compared with what a push would bring."""

import json

import pytest

from kernelkit.push.checks import preflight
from kernelkit.push.checks.findings import PROBABLE
from kernelkit.push.checks.modules import own_modules
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import PushRequest
from kernelkit.runs import kit_folder, run_state
from kernelkit.runs.run_state import RunState

CELL = "import sys\nfor place in ['../lib']:\n    sys.path.append(place)\nimport far"


@pytest.fixture
def ran(repository):
    """A run of the notebook, whose process had loaded `lib/far.py`."""
    (repository.root / "lib").mkdir()
    (repository.root / "lib" / "far.py").write_text("X = 1\n")
    repository.describe(enable_internet=False, dataset_sources=[], competition_sources=[])

    def ran(cell=CELL, loaded=("lib/far.py",)):
        repository.sources(cell)
        note = {"top": str(repository.root), "files": list(loaded)}
        folder = repository.runs / "some-run"
        run_state.note(folder, RunState(str(repository.notebook)))
        kit_folder.path(folder, kit_folder.LOADED).write_text(json.dumps(note))

    return ran


def found(repository):
    plan = plan_push(PushRequest.of(metadata=repository.metadata))
    return [(each.level, each.rank, each.text) for each in own_modules.own_modules(plan)]


def test_what_a_run_here_needed_and_a_push_lacks_is_a_probable_guess(repository, ran):
    ran()
    ((level, rank, text),) = found(repository)
    assert (level, rank) == ("guess", PROBABLE)
    assert "some-run loaded lib/far.py, which a push would not bring" in text
    assert "packages of [tool.kernelkit]" in text


def test_what_the_bundle_brings_or_is_gone_or_is_left_out_is_nothing(repository, ran):
    ran("sys.path.append('../lib')\nimport far".replace("sys", "__import__('sys')"))
    ran("import sys\nsys.path.append('../lib')\nimport far")
    assert not found(repository)
    ran(loaded=["lib/gone.py", "../elsewhere.py", "notebooks/train.ipynb"])
    assert not found(repository)
    ran()
    repository.configure('leave_out = ["lib/*"]\n')
    assert not found(repository)


def test_what_is_left_out_of_a_package_is_left_out_on_purpose(repository, ran):
    desk = repository.package / "desk"
    desk.mkdir()
    (desk / "__init__.py").touch()
    loaded = (desk / "__init__.py").relative_to(repository.root).as_posix()
    ran("import blossom\nload('desk')", loaded=[loaded])
    assert found(repository)
    repository.configure('leave_out = ["blossom/desk/*"]\n')
    assert not found(repository)


def test_without_a_run_nothing_is_said(repository):
    assert not found(repository)
    assert "own-modules" in preflight.OPTIONAL

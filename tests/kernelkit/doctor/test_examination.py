"""The doctor against the local Kaggle, and against one that differs from what is assumed."""

import importlib.metadata
import io
import json
import sys

import pytest

from kernelkit import errors, files
from kernelkit.doctor import examination
from kernelkit.doctor.assumptions import (
    ASSUMPTIONS,
    HARDWARE,
    OR,
    OTHER,
    SAME,
    UNTRIED,
    judged,
    markdown,
)
from kernelkit.doctor.examination import examine
from kernelkit.project import VERSIONS
from kernelkit.push.known import session_images
from kernelkit.push.known.ledger import Ledger
from local_kaggle import ServerLimits, state
from local_kaggle.execution.sandbox import MountedSource


@pytest.fixture
def doctor(repository, quick_sessions, timing, monkeypatch):
    files.write_text(
        repository.runs / "local_kaggle/catalogue/competitions/garden/test.csv", "id\n"
    )
    repository.describe(competition_sources=["garden"])

    def doctor(limits=None, **options):
        monkeypatch.setattr(state, "ServerLimits", lambda: limits or ServerLimits())
        stream = io.StringIO()
        doctor.told = stream.getvalue
        rows = examine(local=True, stream=stream, timing=timing, **options)
        return {row.key: (row.verdict, row.seen) for row in rows}

    return doctor


def others(rows):
    return {key: seen for key, (verdict, seen) in rows.items() if verdict == OTHER}


def test_the_local_kaggle_is_held_to_the_same_contract(doctor, repository):
    rows = doctor(run=True)
    untried = {key for key, (verdict, _) in rows.items() if verdict == UNTRIED}
    assert untried == {key for key in ASSUMPTIONS if key.startswith((*HARDWARE, "submission."))}
    assert "no quota; leaves the private kernel kernelkit-doctor behind" in doctor.told()
    assert "nothing in the notebook reads" not in doctor.told()
    table = repository.runs / "doctor" / "rehearsal.md"
    assert "| the working folder | /kaggle/working | /kaggle/working | as assumed |" in (
        table.read_text()
    )
    assert not others(doctor(run=True)), "its kernels are there already"


@pytest.mark.long
def test_a_sample_submission_is_submitted_on_request(doctor, repository):
    with pytest.raises(errors.PreflightError, match="not all was examined"):
        doctor(submit="a try")
    assert "has no competition with a sample submission" in doctor.told()
    catalogue = repository.runs / "local_kaggle" / "catalogue"
    solutions = catalogue / "solutions"
    solutions.mkdir()
    (catalogue / "competitions/garden/sample_submission.csv").write_text("id,label\n1,a\n2,a\n")
    rows = doctor(submit="a try")
    assert "does not say how to score this" in others(rows)["submission.result"]
    (solutions / "garden.csv").write_text("id,label\n1,a\n2,b\n")
    (solutions / "garden.toml").write_text('metric = "accuracy"\n')
    rows = doctor(submit="a try")
    assert not others(rows)
    assert "one submission of today, no quota" in doctor.told()


def test_without_a_competition_there_is_nothing_to_submit(doctor, repository):
    repository.describe(competition_sources=[])
    with pytest.raises(errors.ParameterError, match="--submit: name the competition"):
        doctor(submit="a try")
    assert repository.pushes() == []


def test_after_ctrl_c_the_table_holds_what_was_seen_by_then(doctor, repository, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(examination, "push", interrupted)
        with pytest.raises(KeyboardInterrupt):
            doctor(run=True)
    table = repository.runs / "doctor" / "rehearsal.md"
    assert "| TPU hours a week | 20 | 20 | as assumed |" in table.read_text()


def test_a_smaller_examination_erases_nothing(doctor, repository):
    doctor(run=True)
    assert doctor()["cpu.run_type"] == (SAME, "Batch")
    assert "leaves nothing behind" in doctor.told()
    table = repository.runs / "doctor" / "rehearsal.md"
    assert "| KAGGLE_KERNEL_RUN_TYPE | Batch | Batch |" in table.read_text()


def test_the_versions_of_packages_are_noted_for_rehearsals(doctor, repository):
    doctor(run=True)
    facts = files.read_object(repository.runs / "doctor" / "rehearsal.json")["facts"]
    versions = json.loads(facts[VERSIONS.format("cpu")])
    assert versions["pytest"] == importlib.metadata.version("pytest")


def test_another_quota_is_named(doctor):
    limits = ServerLimits(weekly_seconds={"tpu": 9 * 3600, "gpu": 1.8e4})
    assert others(doctor(limits)) == {"quota.tpu": "9", "quota.gpu": "5"}


@pytest.mark.long
def test_inputs_that_are_mounted_elsewhere_are_named(doctor, monkeypatch):
    monkeypatch.setattr(MountedSource, "lead_from_older_place", lambda *_: None)
    assert others(doctor(run=True)) == {"inputs.older": "not there"}
    monkeypatch.setattr(MountedSource, "place", property(lambda source: source.reference))
    assert others(doctor(run=True)) == {"inputs.now": "garden"}


def test_a_step_that_fails_stops_no_other(doctor, repository, monkeypatch):
    push = examination.push

    def refused(request, **options):
        if request.accelerator == "cpu":
            raise errors.RefusedError("no session today")
        return push(request, **options)

    monkeypatch.setattr(examination, "push", refused)
    with pytest.raises(errors.RefusedError, match="not all was examined"):
        doctor(run=True, tpu=True)
    facts = files.read_object(repository.runs / "doctor" / "rehearsal.json")["facts"]
    assert facts["quota.tpu"] == "20"
    assert facts["tpu.folder"] == "/kaggle/working"
    assert "cpu.folder" not in facts
    assert "a step of the examination did not finish: no session today" in doctor.told()
    (pushed,) = Ledger(repository.runs).pushes()
    assert pushed.accelerator == "tpu"


@pytest.mark.parametrize("key", ASSUMPTIONS)
def test_each_assumption_is_judged_by_its_own_fact(key):
    facts = {each: assumed.split(OR)[0] for each, (_, assumed) in ASSUMPTIONS.items()}
    facts[key] = "something | else"
    rows = judged(facts)
    assert [row.key for row in rows if row.verdict == OTHER] == [key]
    assert "something \\| else | different |" in markdown(rows)


def test_its_push_is_in_the_ledger_like_any_other(doctor, repository):
    doctor(run=True)
    doctor(run=True)
    first, second = Ledger(repository.runs).pushes()
    assert (first.kernel, first.state) == ("tester/kernelkit-doctor", "complete")
    assert (first.version, second.version) == (1, 2), "an examination is never identical"


def test_the_checks_know_an_image_by_the_manifest_of_its_push(doctor, repository, monkeypatch):
    assert session_images.python_seen(repository.runs, "cpu") is None
    assert session_images.modules_seen(repository.runs, "cpu") is None
    doctor(run=True)
    own = Ledger.of
    monkeypatch.setattr(
        Ledger, "of", lambda ledger, *_: own(Ledger(ledger.path.parent, rehearsal=True))
    )
    assert session_images.python_seen(repository.runs, "cpu") == sys.version_info[:2]
    assert "json" not in session_images.modules_seen(repository.runs, "cpu")
    assert "pytest" in session_images.modules_seen(repository.runs, "cpu")

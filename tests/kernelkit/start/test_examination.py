"""The doctor against the local Kaggle, and against one that differs from what is assumed."""

import io
import json
from dataclasses import replace

import pytest

from kernelkit import files
from kernelkit.kaggle.client import Kaggle, Stored
from kernelkit.push import wheels
from kernelkit.push.checks import contents
from kernelkit.start import examination
from kernelkit.start.assumptions import (
    ASSUMPTIONS,
    HARDWARE,
    OR,
    OTHER,
    SAME,
    UNTRIED,
    judged,
    markdown,
)
from kernelkit.start.examination import examine
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
        rows = examine(local=True, stream=stream, timing=timing, **options)
        doctor.told = stream.getvalue()
        return {row.key: (row.verdict, row.seen) for row in rows}

    return doctor


def others(rows):
    return {key: seen for key, (verdict, seen) in rows.items() if verdict == OTHER}


def test_the_local_kaggle_is_held_to_the_same_contract(doctor, repository):
    rows = doctor(run=True)
    untried = {key for key, (verdict, _) in rows.items() if verdict == UNTRIED}
    assert untried == {key for key in ASSUMPTIONS if key.startswith((*HARDWARE, "submission."))}
    assert "no quota; leaves kernelkit-doctor-names and kernelkit-doctor behind" in doctor.told
    table = repository.runs / "doctor" / "rehearsal.md"
    assert "| the working folder | /kaggle/working | /kaggle/working | as assumed |" in (
        table.read_text()
    )
    assert not others(doctor(run=True)), "its kernels are there already"


@pytest.mark.long
def test_a_sample_submission_is_submitted_on_request(doctor, repository):
    doctor(submit="a try")
    assert "has no competition with a sample submission" in doctor.told
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
    assert rows["submission.hours"] == (SAME, "1")
    assert "one submission of today, no quota" in doctor.told


def test_after_ctrl_c_the_table_holds_what_was_seen_by_then(doctor, repository, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(examination.Examination, "session", interrupted)
    with pytest.raises(KeyboardInterrupt):
        doctor(run=True)
    table = repository.runs / "doctor" / "rehearsal.md"
    assert "| TPU hours a week | 20 | 20 | as assumed |" in table.read_text()
    assert doctor()["save.text"] == (SAME, "as saved"), "a smaller examination erases nothing"
    assert "leaves nothing behind" in doctor.told
    assert "| the stored text | as saved | as saved |" in table.read_text()


def test_what_an_account_lacks_and_a_save_changes_is_named(doctor, monkeypatch):
    saved = Kaggle.save

    def stored(kaggle, kernel, version=None):
        return version and Stored(version, '{"cells": []}')

    def save(kaggle, fields):
        answer = saved(kaggle, fields | {"slug": "tester/kernelkit-doctor-names"})
        return replace(answer, ref="/code/tester/kernelkit-slug", version=2 * answer.version)

    monkeypatch.setattr(Kaggle, "stored", stored)
    monkeypatch.setattr(Kaggle, "save", save)
    monkeypatch.setattr(examination.Examination, "session", lambda *_: None)
    limits = ServerLimits(weekly_seconds={"tpu": 9 * 3600, "gpu": 1.8e4})
    assert others(doctor(limits, run=True)) == {
        "quota.tpu": "9",
        "quota.gpu": "5",
        "save.slug": "tester/kernelkit-slug",
        "save.version": "2 more",
        "save.text": "changed",
        "save.internet": "switched off",
    }
    assert "verify your phone: https://www.kaggle.com/settings" in doctor.told


@pytest.mark.long
def test_inputs_that_are_mounted_elsewhere_are_named(doctor, monkeypatch):
    monkeypatch.setattr(MountedSource, "lead_from_older_place", lambda *_: None)
    assert others(doctor(run=True)) == {"inputs.older": "not there"}
    monkeypatch.setattr(MountedSource, "place", property(lambda source: source.reference))
    assert others(doctor(run=True)) == {"inputs.now": "garden"}


def test_a_probe_that_fails_stops_no_other(doctor):
    full = ServerLimits(sessions={"tpu": 1, "gpu": 2, "cpu": 0})
    rows = doctor(full, run=True)
    assert rows["save.slug"][0] == SAME
    assert rows["cpu.folder"] == (UNTRIED, "")
    assert "a probe did not finish: SaveKernel: Maximum batch CPU session" in doctor.told


@pytest.mark.parametrize("key", ASSUMPTIONS)
def test_each_assumption_is_judged_by_its_own_fact(key):
    facts = {each: assumed.split(OR)[0] for each, (_, assumed) in ASSUMPTIONS.items()}
    facts[key] = "something | else"
    rows = judged(facts)
    assert [row.key for row in rows if row.verdict == OTHER] == [key]
    assert "something \\| else | other |" in markdown(rows)


def test_the_checks_know_an_image_by_what_it_saw(repository, doctor):
    assert wheels.python_seen(repository.runs, "tpu") is None
    assert contents.held(repository.runs, "tpu") is None
    facts = {"facts": {"tpu.python": "3.13", "tpu.modules": "soils jax"}}
    files.write_text(repository.runs / "doctor" / "doctor.json", json.dumps(facts))
    assert wheels.python_seen(repository.runs, "tpu") == (3, 13)
    assert contents.held(repository.runs, "tpu") == ["soils", "jax"]

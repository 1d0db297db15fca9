"""A run folder belongs to one push; another's is set aside."""

import json

import pytest

from kernelkit import errors
from kernelkit.runs import claims
from kernelkit.runs.claims import Claim

MINE = Claim("me/blossom", 3, source="abc")


def claim(folder, mine=MINE, chosen=False):
    return claims.claim(folder, mine, chosen=chosen)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run" / ".kernelkit").mkdir(parents=True)
    return tmp_path / "run"


@pytest.mark.parametrize("chosen", [True, False])
def test_a_folder_is_its_pushs_and_set_aside_for_another_of_that_version(folder, chosen):
    for _ in range(2):
        assert claim(folder, chosen=chosen) == (folder, None)
        (folder / "metrics.json").write_text("old")
    aside = folder.with_name("run-earlier-1")
    assert claim(folder, Claim("me/blossom", 3, source="other"), chosen) == (folder, aside)
    assert (aside / "metrics.json").read_text() == "old"
    assert not (folder / "metrics.json").exists()


@pytest.mark.parametrize("text", ["{", '{"version": "3"}'])
def test_a_marker_that_cannot_be_read_is_no_claim(folder, text):
    (folder / ".kernelkit" / "push.json").write_text(text)
    assert claim(folder)[0] == folder.with_name("run-2")


def test_a_folder_with_other_things_is_not_taken(folder):
    (folder / "thesis.txt").write_text("precious")
    with pytest.raises(errors.ParameterError, match="--output"):
        claim(folder, chosen=True)
    for _ in range(2):
        assert claim(folder) == (folder.with_name("run-2"), None)
    assert claim(folder, Claim("me/blossom", 4))[0] == folder.with_name("run-3")


def test_a_source_is_known_however_its_json_is_written():
    cell = {"cell_type": "code", "metadata": {}, "source": "a = 1\nb = 2"}
    split = cell | {"metadata": {"tags": []}, "source": ["a = 1\n", "b = 2"]}
    text = json.dumps({"cells": [cell]})
    assert claims.source_of(text) == claims.source_of(json.dumps({"cells": [split]}, indent=2))
    assert claims.source_of(text) != claims.source_of(text.replace("b = 2", "b = 3"))
    assert claims.source_of("a script") != claims.source_of("another")

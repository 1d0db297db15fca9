"""A run folder belongs to one push; another's is set aside."""

import json

import pytest

from kernelkit import errors
from kernelkit.run_folders import claims
from kernelkit.run_folders.claims import Claim

MINE = Claim("me/blossom", 3, source="abc")


def claim(folder, mine=MINE, chosen=False):
    return claims.claim(folder, mine, chosen=chosen)


def test_a_folder_is_taken_again_by_the_same_push(tmp_path):
    assert claim(tmp_path / "run") == (tmp_path / "run", None)
    (tmp_path / "run" / "metrics.json").write_text("{}")
    assert claim(tmp_path / "run") == (tmp_path / "run", None)


@pytest.mark.parametrize("chosen", [True, False])
def test_another_push_of_the_same_version_sets_it_aside(tmp_path, chosen):
    other = Claim("me/blossom", 3, source="other")
    claim(tmp_path / "run")
    (tmp_path / "run" / "metrics.json").write_text("old")
    folder, aside = claim(tmp_path / "run", other, chosen)
    assert folder == tmp_path / "run"
    assert aside == tmp_path / "run-earlier-1"
    assert (aside / "metrics.json").read_text() == "old"
    assert not (folder / "metrics.json").exists()


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"version": "3"}', '{"kernel": null}'])
def test_a_marker_that_cannot_be_read_is_no_claim(tmp_path, text):
    (tmp_path / "run" / ".kernelkit").mkdir(parents=True)
    (tmp_path / "run" / ".kernelkit" / "push.json").write_text(text)
    assert claim(tmp_path / "run")[0] == tmp_path / "run-2"


@pytest.mark.parametrize("chosen", [True, False])
def test_a_folder_whose_claim_was_killed_is_taken(tmp_path, chosen):
    (tmp_path / "run" / ".kernelkit").mkdir(parents=True)
    assert claim(tmp_path / "run", chosen=chosen)[0] == tmp_path / "run"
    marker = tmp_path / "run" / ".kernelkit" / "push.json"
    marker.rename(marker.with_name(".push.json.a1b2c3.part"))
    assert claim(tmp_path / "run", chosen=chosen)[0] == tmp_path / "run"


def test_a_folder_with_other_things_is_not_taken(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(errors.ParameterError, match="--output"):
        claim(tmp_path / "mine", chosen=True)
    assert claim(tmp_path / "mine") == (tmp_path / "mine-2", None)
    assert claim(tmp_path / "mine") == (tmp_path / "mine-2", None)
    assert claim(tmp_path / "mine", Claim("me/blossom", 4))[0] == tmp_path / "mine-3"


def test_a_source_is_known_however_its_json_is_written():
    cells = [{"cell_type": "code", "metadata": {}, "source": "a = 1\nb = 2"}]
    split = [{"cell_type": "code", "metadata": {"tags": []}, "source": ["a = 1\n", "b = 2"]}]
    text, other = (
        json.dumps({"cells": c, "metadata": {}}, indent=n) for c, n in ((cells, None), (split, 2))
    )
    assert claims.source_of(text) == claims.source_of(other)
    assert claims.source_of(text) != claims.source_of(text.replace("b = 2", "b = 3"))
    assert claims.source_of("no notebook") != claims.source_of("another")


def test_a_folder_is_free_where_a_new_one_can_be_made(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(errors.ParameterError, match="not empty"):
        claims.check_free(tmp_path)
    with pytest.raises(errors.ParameterError, match="not empty"):
        claims.check_free(tmp_path / "thesis.txt")
    with pytest.raises(errors.StorageError, match="--output"):
        claims.check_free(tmp_path / "thesis.txt" / "below")
    claims.check_free(tmp_path / "new" / "and" / "below")
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]

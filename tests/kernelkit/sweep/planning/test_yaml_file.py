"""YAML is read as people mean it."""

import pytest

from kernelkit.errors import ParameterError
from kernelkit.sweep.planning import yaml_file


def test_numbers_and_words_are_what_they_look_like(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(
        "rate: 1e-3\nbig: 2.5E6\nflag: true\nother: False\nmix: none\n"
        "words: [on, off, yes, no, y, n]\n1: a\n'1': b\n"
    )

    assert yaml_file.load(path) == {
        "rate": 0.001,
        "big": 2.5e6,
        "flag": True,
        "other": False,
        "mix": "none",
        "words": ["on", "off", "yes", "no", "y", "n"],
        1: "a",
        "1": "b",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", "line 2: 'a' is given twice"),
        ("grid: {b: [1], b: [2]}", "'b' is given twice"),
        ("a: [1", "is not YAML"),
        ("a: 2026-13-01", "is not YAML: month must be in 1..12"),
        ("", "must contain keys"),
        ("base: &b {a: *b}", "is not YAML: .* recursive node .* line 1"),
        ("a: 1\nruns: &r [*r]", "is not YAML: .* recursive node .* line 2"),
        ("grid: {a: {{3}}}", "is not YAML: .* unhashable key"),
        ("[" * 5000, "is not YAML: maximum recursion depth"),
    ],
)
def test_yaml_that_is_no_plain_mapping_is_refused(tmp_path, text, message):
    path = tmp_path / "x.yaml"
    path.write_text(text)

    with pytest.raises(ParameterError, match=message):
        yaml_file.load(path)


def test_an_alias_repeats_a_value(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("base: &b {a: [1]}\nruns: [{<<: *b, c: *b}]\n")
    assert yaml_file.load(path)["runs"] == [{"a": [1], "c": {"a": [1]}}]


def test_a_missing_file_is_reported_with_those_that_are_there(tmp_path):
    (tmp_path / "there.yaml").write_text("")

    with pytest.raises(ParameterError, match=r"has there\.yaml"):
        yaml_file.load(tmp_path / "here.yaml")

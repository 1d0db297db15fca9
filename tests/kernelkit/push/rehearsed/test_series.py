"""Packages that are here in another series than in Kaggle's image."""

import pytest
from packaging.requirements import Requirement

from kernelkit import image


def put(folder, name, version):
    about = folder / f"{name}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_another_major_version_is_one(tmp_path):
    put(tmp_path, "pandas", "3.1.1")
    assert image.of_another_series(["pandas", "json"], tmp_path) == {"pandas": "3.1.1"}


def test_a_later_version_of_the_series_is_none(tmp_path):
    put(tmp_path, "pandas", "2.3.3")
    assert image.of_another_series(["pandas"], tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "theirs", "later"),
    [
        ("lightgbm", "4.6.1", "4.7.0"),  # warns of `eval_set`
        ("scikit-learn", "1.6.9", "1.8.0"),  # refuses `multi_class`
    ],
)
def test_what_is_asked_of_an_index_is_of_the_series(name, theirs, later):
    series = Requirement(image.requirements()[name]).specifier
    assert series.contains(theirs)
    assert not series.contains(later)


def test_a_later_minor_version_is_one_where_minor_versions_refuse_arguments(tmp_path):
    put(tmp_path, "scikit_learn", "1.8.0")
    assert image.of_another_series(["sklearn"], tmp_path) == {"sklearn": "1.8.0"}

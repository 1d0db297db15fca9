"""The list of what Kaggle's images hold, against what pins the same versions."""

import re

import pytest
from checkouts import ROOT

from kernelkit import image


@pytest.mark.parametrize("kind", ["tpu", "gpu", "cpu"])
def test_every_session_has_what_petals_needs(kind):
    needs = {"numpy", "tensorflow", "jax", "h5py", "matplotlib", "sklearn", "PIL", "filelock", "os"}
    assert needs <= image.MODULES[kind]
    assert not {"timm_something", "annoy", "asynchat"} & image.MODULES[kind]


def test_the_image_has_a_module_or_has_it_not_or_that_is_not_known():
    asked = ("duckdb", "umap", "annoy", "timm_something", "kaggle_secrets")
    assert [image.holds(name, "cpu") for name in asked] == [True, True, False, None, True]
    assert [image.holds(name, "tpu") for name in asked[:2]] == [False, False]
    assert [image.holds("cudf", kind) for kind in ("gpu", "cpu")] == [True, None]


def test_only_a_known_distribution_has_a_name_for_pip():
    names = ("kaggle_secrets", "timm_something", "learntools", "umap", "yaml")
    assert [image.distribution(name) for name in names] == ["", "", "", "umap-learn", "pyyaml"]


def test_the_pinned_versions_are_of_one_date_and_name_no_host():
    text = (ROOT / "requirements-kaggle.lock").read_text()
    assert re.match(r"# .* as looked up on 20\d\d-\d\d-\d\d ", text)
    assert "://" not in text
    assert re.search(r"^tensorflow-cpu==2\.20\.0 ", text, re.M)
    assert not re.search(r"^tensorflow==", text, re.M)
    assert len(re.findall(r"--hash=sha256:", text)) > 500


def test_what_pandas_imports_only_for_a_format_is_known_by_the_call():
    assert image.engines(["pandas.read_csv", "frame.groupby().to_parquet"]) == ["pyarrow"]
    assert image.engines(["pandas.read_excel", "read_feather"]) == ["openpyxl", "pyarrow"]
    assert image.engines(["pandas.read_csv", "read_parquets"]) == []


def test_a_module_is_installed_under_the_name_of_its_distribution():
    names = ["grpc", "sklearn", "huggingface_hub", "torch"]
    installed = ["grpcio", "scikit-learn", "huggingface-hub", "torch"]
    assert [image.distribution(name) for name in names] == installed

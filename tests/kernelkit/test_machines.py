"""The list of what Kaggle's images hold, against what pins the same versions."""

import re

import pytest
from checkouts import ROOT

from kernelkit import machines


@pytest.mark.parametrize("kind", ["tpu", "gpu", "cpu"])
def test_every_session_has_what_petals_needs(kind):
    needs = {"numpy", "tensorflow", "jax", "h5py", "matplotlib", "sklearn", "PIL", "filelock", "os"}
    assert needs <= machines.MODULES[kind]
    assert not {"timm_something", "jupytext", "asynchat"} & machines.MODULES[kind]


def test_the_pinned_versions_are_of_one_date_and_name_no_host():
    text = (ROOT / "requirements-kaggle.lock").read_text()
    assert re.match(r"# .* as looked up on 20\d\d-\d\d-\d\d ", text)
    assert "://" not in text
    assert re.search(r"^tensorflow-cpu==2\.20\.0 ", text, re.M)
    assert not re.search(r"^tensorflow==", text, re.M)
    assert len(re.findall(r"--hash=sha256:", text)) > 500


def test_a_module_is_installed_under_the_name_of_its_distribution():
    names = ["grpc", "sklearn", "huggingface_hub", "torch"]
    installed = ["grpcio", "scikit-learn", "huggingface-hub", "torch"]
    assert [machines.distribution(name) for name in names] == installed

"""What a run says of the code that made it."""

import sys
from importlib import metadata

from petals import versions


def test_the_kits_version_is_that_of_the_bundle_or_else_the_installed_one(monkeypatch):
    monkeypatch.delenv("KERNELKIT_PROJECT_VERSION", raising=False)
    assert versions.versions()["petals"] == metadata.version("kernelkit")
    monkeypatch.setenv("KERNELKIT_PROJECT_VERSION", "7.8.9")
    assert versions.versions()["petals"] == "7.8.9"


def test_a_legacy_keras_that_tells_no_version_of_its_own_has_its_packages(monkeypatch):
    monkeypatch.setattr(versions, "keras", object())
    assert versions.versions()["keras"] == metadata.version("tf_keras")


def test_a_run_on_jax_tells_jax_and_its_tpu_compiler(monkeypatch):
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    assert not {"jax", "libtpu"} & set(versions.versions())
    monkeypatch.setitem(sys.modules, "jax", object())
    monkeypatch.setattr(versions, "find_spec", lambda name: True)
    assert versions.versions()["jax"] == metadata.version("jax")
    assert versions.versions()["libtpu"] == "unknown"  # its module, in a package of another name

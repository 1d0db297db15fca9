"""What a run says of the code that made it."""

from importlib import metadata

from petals import versions


def test_a_legacy_keras_that_tells_no_version_of_its_own_has_its_packages(monkeypatch):
    monkeypatch.setattr(versions, "keras", object())
    assert versions.versions()["keras"] == metadata.version("tf_keras")

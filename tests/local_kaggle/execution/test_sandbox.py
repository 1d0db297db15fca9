import pytest

from local_kaggle.execution import network
from local_kaggle.execution.sandbox import Sandbox


@pytest.mark.parametrize(("kind", "marker"), [("cpu", None), ("gpu", "gpu")])
def test_a_session_is_told_what_it_rehearses_and_leaves_its_outputs(tmp_path, kind, marker):
    box = Sandbox(tmp_path / "session", tmp_path / "image", runs_on=kind, internet=True)
    environment = box.environment()
    assert environment.get("KAGGLE_REHEARSAL") == marker
    assert environment["KAGGLE_REHEARSAL_INTERNET"] == "on"
    assert "XLA_FLAGS" not in environment
    # `"gpu" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu"` takes a "-1" for a GPU.
    assert environment.get("CUDA_VISIBLE_DEVICES") == (None if kind == "gpu" else "")
    assert (box.scratch / "home").is_dir()
    box.discard()
    assert not box.scratch.exists()
    assert box.working.is_dir()


def test_a_session_without_the_internet_is_not_told_of_one(tmp_path):
    environment = Sandbox(tmp_path / "session", tmp_path / "image").environment()
    assert "KAGGLE_REHEARSAL_INTERNET" not in environment


def test_a_session_with_internet_reaches_it_as_this_machine_does(tmp_path, monkeypatch):
    bundle = tmp_path / "company.pem"
    bundle.write_text("-----BEGIN CERTIFICATE-----")
    monkeypatch.setenv("PIP_CERT", str(bundle))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://me:password@proxy.example:3128")
    found = network.of_this_machine()
    assert found["PIP_CERT"] == str(bundle)
    assert found["https_proxy"] == "http://proxy.example:3128"
    assert not {"SSL_CERT_FILE", "HTTP_PROXY"} & set(found)
    for internet in (True, False):
        folders = (tmp_path / "session", tmp_path / "image")
        box = Sandbox(*folders, internet=internet, reached_by=found)
        assert (box.environment().get("PIP_CERT") == str(bundle)) is internet
        box.discard()

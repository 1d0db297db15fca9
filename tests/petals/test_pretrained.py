"""What a run does where weights cannot be downloaded."""

import pytest

from petals.errors import WeightsError
from petals.pretrained import downloaded


def fails():
    raise OSError("no network")


def in_a_session(monkeypatch, **more):
    for name, value in {"KAGGLE_KERNEL_RUN_TYPE": "Batch", **more}.items():
        monkeypatch.setenv(name, value)


def test_what_can_be_downloaded_is_there_chosen_or_not():
    assert downloaded(lambda: "network", "VGG16") == "network"
    assert downloaded(lambda: "network", "VGG16", chosen=False) == "network"


def test_at_home_a_run_that_chose_nothing_goes_on_without_weights():
    assert downloaded(fails, "VGG16", chosen=False) is None


def test_chosen_weights_that_are_missing_stop_a_run_at_home():
    with pytest.raises(
        WeightsError, match=r"of VGG16 .* \(OSError\)\. Put v\.h5 into weights/"
    ) as it:
        downloaded(fails, "VGG16", "v.h5")
    assert it.value.exit_code == 11


@pytest.mark.parametrize("chosen", [True, False])
def test_a_session_stops_without_its_weights(monkeypatch, chosen):
    in_a_session(monkeypatch)
    with pytest.raises(WeightsError, match=r"Attach a Kaggle dataset or model with v\.h5"):
        downloaded(fails, "VGG16", "v.h5", chosen=chosen)


def test_a_rehearsal_with_the_internet_on_is_at_the_desk(monkeypatch):
    in_a_session(monkeypatch, KAGGLE_REHEARSAL_INTERNET="on")
    assert downloaded(fails, "VGG16", chosen=False) is None
    with pytest.raises(WeightsError):
        downloaded(fails, "VGG16")

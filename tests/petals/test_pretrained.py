"""What a run does where weights cannot be downloaded."""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from petals import pretrained
from petals.errors import SettingError, WeightsError
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
        WeightsError, match=r"of VGG16 .*downloaded: no network\. Put v\.h5 into weights/"
    ) as it:
        downloaded(fails, "VGG16", "v.h5")
    assert it.value.exit_code == 11


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Exception("URL fetch failure on https://a.b: 404 -- Not Found\nx"), "on https://a.b: 404"),
        (TimeoutError(), "downloaded: TimeoutError. Put"),
    ],
)
def test_a_failed_download_says_why_in_one_line(error, reason):
    def refuse():
        raise error

    with pytest.raises(WeightsError) as failed:
        downloaded(refuse, "VGG16")
    assert reason in str(failed.value)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("chosen", [True, False])
def test_a_setting_that_is_refused_is_told_as_what_it_is(chosen):
    def refuses():
        raise SettingError("image_size=20 is too small")

    with pytest.raises(SettingError, match="image_size=20 is too small"):
        downloaded(refuses, "MobileNet", chosen=chosen)


def test_a_download_that_never_begins_is_not_announced(capsys):
    def offline():
        sys.stdout.write("Downloading data from https://weights.example\n")  # as Keras does
        raise OSError("no network")

    assert downloaded(offline, "VGG16", chosen=False) is None
    assert capsys.readouterr().out == ""


def test_a_download_that_begins_is_announced_with_its_progress(capsys):
    def online():
        sys.stdout.write("Downloading data from https://weights.example\n")  # as Keras does
        print("1 of 9 MB")
        return "network"

    assert downloaded(online, "VGG16") == "network"
    said = capsys.readouterr().out
    assert said == "Downloading data from https://weights.example\n1 of 9 MB\n"


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


@pytest.mark.parametrize("status", [200, 403])
def test_a_server_that_answers_anything_is_there(monkeypatch, status):
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setattr(pretrained, "SERVER", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        thread = Thread(target=server.handle_request)
        thread.start()
        pretrained.ask_for_server()
        thread.join()
    with pytest.raises(OSError, match="refused"):
        pretrained.ask_for_server()

"""A transfer tells how far it is."""

from kernelkit.kaggle.exchange import transfers


def test_progress_says_how_fast_and_how_long(monkeypatch):
    now = 0.0
    monkeypatch.setattr(transfers.time, "monotonic", lambda: now)
    done = 0
    progress = transfers.Progress("sending", 400_000_000, lambda: done)
    assert progress() == "sending 0 bytes of 400.0 MB"
    now, done = 20.0, 100_000_000
    assert progress() == "sending 100.0 MB of 400.0 MB, 5.0 MB/s, 60 s left"
    assert transfers.Progress("downloading", 0, lambda: 7)() == "downloading 7 bytes"

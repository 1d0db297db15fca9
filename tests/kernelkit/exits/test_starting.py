"""A signal that arrives while a block starts its thread leaves no thread to wait for."""

import io
import threading

import pytest

from kernelkit.pages.live import kept_up_to_date
from kernelkit.running.executing.resources import recorded
from kernelkit.terminal.live_line import LiveLine, working

BLOCKS = {
    "the live line": lambda folder: working("waiting", LiveLine(io.StringIO())),
    "what a run uses": recorded,
    "pages": lambda folder: kept_up_to_date(lambda seconds: None),
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("has_started", [True, False])
def test_a_signal_while_a_thread_starts_leaves_none(tmp_path, monkeypatch, block, has_started):
    start = threading.Thread.start
    begun = []

    def interrupted(thread):
        if has_started:
            start(thread)
            begun.append(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), block(tmp_path):
        pass
    for thread in begun:
        thread.join(10.0)
    assert not any(thread.is_alive() for thread in begun)

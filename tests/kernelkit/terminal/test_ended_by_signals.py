"""A signal that ends the process unwinds it first."""

import os
import signal
import threading
import time

import pytest

from kernelkit.terminal import cli


@pytest.mark.parametrize("number", cli.ENDING)
def test_open_resources_are_closed_at_a_signal(number):
    closed = []
    before = signal.getsignal(number)
    signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(cli.EndedBySignal) as ended, cli.unwinding():
            try:
                os.kill(os.getpid(), number)
                time.sleep(5)
            finally:
                os.kill(os.getpid(), number)  # a second one does not cut the closing short
                closed.append(number)
        assert closed == [number]
        assert ended.value.code == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


class InterruptedFinalizer:
    """As JAX's callback of the garbage collector when Ctrl-C comes at that moment."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


def test_ctrl_c_in_a_finalizer_is_not_lost():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job's may be ignored
    try:
        with pytest.raises(KeyboardInterrupt), cli.unwinding():
            resource = InterruptedFinalizer()
            del resource
            time.sleep(5)
    finally:
        signal.signal(signal.SIGINT, before)


def test_signals_with_a_handler_are_left_to_it():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with cli.unwinding():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_is_left_alone():
    entered = []

    def work():
        with cli.unwinding():
            entered.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered

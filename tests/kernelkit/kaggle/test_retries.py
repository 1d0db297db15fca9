"""Asking again is bounded."""

import pytest

from kernelkit.kaggle.retries import Retries
from kernelkit.kaggle.transport.failures import Failure, FailureKind


class Waits:
    """A clock that only notes how long it was to wait."""

    speed = 1.0

    def __init__(self):
        self.time, self.slept = 0.0, []

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.time += seconds

    def wall(self, seconds):
        return seconds


def failing(times, failure):
    calls = []

    def ask():
        calls.append(1)
        if len(calls) <= times:
            raise failure
        return len(calls)

    ask.calls = calls
    return ask


SERVER = Failure(FailureKind.SERVER, "GetKernel", "HTTP 500")


def test_pauses_grow_to_a_limit_with_some_jitter():
    policy = Retries(first=2, longest=60)
    for attempt in range(1, 20):
        pause = policy.pause(attempt, SERVER)
        grown = min(60, 2 * 2 ** (attempt - 1))
        assert grown <= pause <= 1.25 * grown


@pytest.mark.parametrize(
    ("failure", "calls"),
    [
        (SERVER, 5),
        (Failure(FailureKind.CREDENTIALS, "GetKernel", "no"), 1),  # a lasting one
        (Failure(FailureKind.SETUP, "GetKernel", "no", sent=False), 1),
        (Failure(FailureKind.THROTTLED, "GetKernel", "", 86400.0), 1),  # for longer than it waits
    ],
)
def test_it_gives_up_after_its_attempts_or_at_once(failure, calls):
    ask = failing(100, failure)
    with pytest.raises(Failure):
        Retries(attempts=5, clock=Waits()).call(ask)
    assert len(ask.calls) == calls


def test_it_begins_no_pause_that_ends_too_late():
    clock = Waits()
    with pytest.raises(Failure):
        Retries(clock=clock, first=10).call(failing(100, SERVER), until=35.0)
    assert 10 <= clock.time <= 35


def test_a_long_transfer_that_breaks_is_repeated_like_a_short_one():
    clock = Waits()

    def break_off():
        clock.time += 3600.0
        raise SERVER

    with pytest.raises(Failure):
        Retries(attempts=3, clock=clock).call(break_off)
    assert clock.time > 3 * 3600.0


def test_it_comes_back_no_sooner_than_told_and_tells_of_a_long_pause():
    told, clock = [], Waits()
    policy = Retries(clock=clock, tell=lambda failure, seconds: told.append(seconds))
    policy.call(failing(1, SERVER))
    assert told == []
    policy.call(failing(2, Failure(FailureKind.THROTTLED, "GetKernel", "", retry_after=45.0)))
    assert told == clock.slept[1:] == [45.0, 45.0]

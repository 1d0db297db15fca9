"""Asking again is bounded in number and in time, and as late as it is told."""

import pytest

from kernelkit.kaggle_api.answers import Failure, FailureKind
from kernelkit.kaggle_api.retries import Clock, Retries


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


def test_it_asks_until_it_is_answered():
    clock = Waits()
    assert Retries(clock=clock).call(failing(3, SERVER)) == 4
    assert len(clock.slept) == 3
    assert clock.slept == sorted(clock.slept)


def test_pauses_grow_to_a_limit_with_some_jitter():
    retries = Retries(first=2, longest=60)
    for attempt in range(1, 20):
        pause = retries.pause(attempt, SERVER)
        grown = min(60, 2 * 2 ** (attempt - 1))
        assert grown <= pause <= 1.25 * grown


def test_it_comes_back_no_sooner_than_told():
    clock = Waits()
    throttle = Failure(FailureKind.THROTTLED, "GetKernel", "", retry_after=45.0)
    Retries(clock=clock).call(failing(2, throttle))
    assert len(clock.slept) == 2
    assert min(clock.slept) >= 45


def test_it_gives_up_after_its_attempts():
    ask = failing(100, SERVER)
    with pytest.raises(Failure):
        Retries(attempts=5, clock=Waits()).call(ask)
    assert len(ask.calls) == 5


def test_it_begins_no_pause_that_ends_too_late():
    clock = Waits()
    with pytest.raises(Failure):
        Retries(clock=clock, first=10).call(failing(100, SERVER), until=35.0)
    assert 10 <= clock.time <= 35


def test_it_does_not_wait_for_a_day_because_it_is_told_to():
    clock = Waits()
    with pytest.raises(Failure):
        Retries(clock=clock).call(failing(100, Failure(FailureKind.THROTTLED, "Get", "", 86400.0)))
    assert clock.slept == []


def test_a_long_pause_is_told_of():
    told = []
    retries = Retries(clock=Waits(), tell=lambda failure, seconds: told.append(seconds))
    retries.call(failing(1, SERVER))
    assert told == []
    retries.call(failing(1, Failure(FailureKind.THROTTLED, "GetKernel", "", retry_after=45.0)))
    assert told == [45.0]


def test_a_lasting_failure_is_asked_once():
    ask = failing(100, Failure(FailureKind.CREDENTIALS, "GetKernel", "no"))
    with pytest.raises(Failure):
        Retries(clock=Waits()).call(ask)
    assert len(ask.calls) == 1


def test_a_clock_can_run_faster_than_the_wall():
    slept = []
    clock = Clock(speed=10, _sleep=slept.append)
    clock.sleep(5)
    clock.sleep(-5)
    assert slept == [0.5, 0.0]
    assert clock.wall(20) == 2

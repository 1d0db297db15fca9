"""A wait ends: with the run, at a deadline, or with the session gone."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from kernelkit import errors
from kernelkit.exits.signals import EndedBySignal
from kernelkit.kaggle.answers import Outputs, Status
from kernelkit.kaggle.context.timing import PollPolicy, Timing
from kernelkit.kaggle.retries import Retries
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.awaited.ended import Wait
from kernelkit.push.awaited.live_log import LiveLog
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext

from ...kaggle.test_retries import Waits

PUSH = Push("me/blossom", "", "", "tpu", version=7)
DOWN = Failure(FailureKind.SERVER, "GetKernelSessionStatus", "HTTP 503")
LOG = '[{"data": "done"}]'


class Told:
    """A Kaggle that tells what it is told to, the last answer for ever."""

    username = "me"
    connection = Mock(signed_in=False)

    def __init__(self, statuses, log=LOG):
        self.statuses, self.logs = list(statuses), list(log) if isinstance(log, list) else [log]
        self.retries = Retries(clock=Waits())

    def status(self, kernel, version, until):
        assert (kernel, version) == (PUSH.name, 7)
        state = self._next(self.statuses)
        return Status(state) if state else None

    def outputs(self, kernel, version, until):
        return Outputs({}, self._next(self.logs))

    def _next(self, answers):
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Failure):
            raise answer
        return answer


@pytest.fixture
def wait(monkeypatch, tmp_path):
    monkeypatch.setattr(LiveLog, "start", Mock())

    def wait(*statuses, log=LOG, timeout=None, local=None, **patience):
        kaggle = Told(statuses, log)
        wait.message, wait.clock = [], kaggle.retries.clock

        def emit(event, text="", **facts):
            wait.message.append((event, text))

        timing = Timing(patience=replace(PollPolicy(), **patience))
        events = Mock(side_effect=emit, rehearsal=False)
        context = PushContext(tmp_path, events, timing, local)
        context.kaggle = kaggle
        return Wait(context, replace(PUSH, timeout_minutes=timeout), PUSH.number).run()

    return wait


SETUP = Failure(FailureKind.SETUP, "GetKernelSessionStatus", "no host is called api.kaggle.com")


def test_a_wrong_setting_ends_a_wait_at_once_and_a_network_that_changes_does_not(wait):
    with pytest.raises(errors.NetworkError, match="no host is called"):
        wait(SETUP, "complete")
    assert wait("running", SETUP, SETUP, "complete").complete


def test_an_interrupt_says_whether_the_run_goes_on(wait, monkeypatch):
    on_kaggle = "The run continues on Kaggle. Reconnect"
    here = "The local Kaggle and its run stop with this command"
    for interrupt, local, words in (
        (KeyboardInterrupt(), None, on_kaggle),
        (EndedBySignal(15), None, on_kaggle),
        (KeyboardInterrupt(), Path("kaggle"), here),
    ):

        def interrupted(*_, interrupt=interrupt):
            raise interrupt

        monkeypatch.setattr(Waits, "sleep", interrupted)
        with pytest.raises(type(interrupt)):
            wait("queued", local=local)
        event, text = wait.message[-1]
        assert event == "interrupted"
        assert text.startswith(words)


def test_queued_and_running_times_and_the_time_to_the_limit_are_told(wait):
    ended = wait("queued", "queued", "running", "running", "running", "complete", timeout=90)
    assert ended.complete
    assert ended.minutes == {"minutes_queued": 0.5, "minutes_run": 0.75}
    assert ("state", "running") in wait.message
    shown = [text for event, text in wait.message if event == "progress"]
    assert shown[0].startswith("queued for")
    assert shown[-1] == "running for 30 s, 1 h 30 min until its time limit"


def test_it_never_asks_faster_than_every_quarter_of_a_minute(wait):
    wait(*["queued"] * 100, *["running"] * 200, "complete")
    assert min(wait.clock.slept) >= 15
    assert max(wait.clock.slept) == 60


def test_a_queue_has_a_deadline_and_a_run_one_past_its_time_limit(wait):
    with pytest.raises(errors.DeadlineError, match=r"still queued, 2 h 0. min after .* Reconnect"):
        wait("queued", queue=7200.0)
    assert wait.clock.time < 7300
    with pytest.raises(errors.DeadlineError, match="is still running"):
        wait("running", timeout=60)
    assert 3600 + 900 < wait.clock.time < 3600 + 900 + 120


def test_silence_has_a_limit(wait):
    with pytest.raises(errors.NetworkError, match=r"continues on Kaggle\. Reconnect"):
        wait("running", DOWN)
    assert wait.clock.time < 2000


def test_a_throttle_is_honoured_and_pauses_grow_meanwhile(wait):
    throttle = Failure(FailureKind.THROTTLED, "GetKernelSessionStatus", "", retry_after=100.0)
    assert wait("running", throttle, DOWN, DOWN, DOWN, "running", "complete").complete
    assert wait.clock.slept == [15, 100, 30, 60, 120, 15]


def test_the_run_of_a_rehearsal_is_not_said_to_continue(wait):
    failure = Failure(FailureKind.CREDENTIALS, "GetKernelSessionStatus", "no")
    for answer, error in ((DOWN, errors.NetworkError), (failure, errors.CredentialsError)):
        with pytest.raises(error, match="The local Kaggle and its run stop") as raised:
            wait("running", answer, local=Path("kaggle"))
        assert "continues" not in str(raised.value)


def test_a_throttle_for_a_day_is_told_and_does_not_outlast_the_limit_of_silence(wait):
    throttle = Failure(FailureKind.THROTTLED, "GetKernelSessionStatus", "", retry_after=86400.0)
    with pytest.raises(errors.NetworkError, match="continues on Kaggle"):
        wait("running", throttle)
    assert wait.clock.time < 2000
    with pytest.raises(errors.DeadlineError):
        wait("queued", throttle, queue=600.0)
    assert wait.clock.time < 700


def test_credentials_that_end_meanwhile_end_the_wait(wait):
    with pytest.raises(errors.CredentialsError, match=r"continues on Kaggle\. Reconnect"):
        wait("running", Failure(FailureKind.CREDENTIALS, "GetKernelSessionStatus", "no"))
    with pytest.raises(errors.CredentialsError, match=r"ended in complete\. Reconnect"):
        wait("complete", log=Failure(FailureKind.CREDENTIALS, "ListKernelSessionOutput", "no"))


@pytest.mark.parametrize("known", [(), ("complete",), ("running", "complete"), ("running", None)])
def test_a_run_of_which_kaggle_did_not_say_so_last_is_not_said_to_continue(wait, known):
    refused = Failure(FailureKind.CREDENTIALS, "GetKernelSessionStatus", "no")
    with pytest.raises(errors.CredentialsError, match=r"no\W.*\. Reconnect") as raised:
        wait(*known, refused, log="")
    assert "continues" not in str(raised.value)
    with pytest.raises(errors.NetworkError, match=r"has not answered .*\. Reconnect") as raised:
        wait(*known, DOWN, log="")
    assert "continues" not in str(raised.value)


def test_a_session_that_kaggle_no_longer_shows_may_still_run(wait):
    """403, 400 and 404 come of a deleted kernel, and of a Kaggle that refuses for a while."""
    assert wait("running", None, "running", None, None, "complete").complete
    with pytest.raises(errors.RefusedError, match=r"either it was deleted, or .*Reconnect"):
        wait("running", None)


UNLISTED = Failure(FailureKind.SERVER, "ListKernelSessionOutput", "HTTP 500")


def test_outputs_that_cannot_be_listed_are_not_an_empty_list(wait):
    assert wait("error", log=[UNLISTED, UNLISTED, "", LOG]).outputs.log == LOG
    refused = Failure(FailureKind.REFUSED, "ListKernelSessionOutput", "HTTP 403")
    for failure in (UNLISTED, refused):
        ended = wait("running", "complete", log=failure, local=Path("kaggle"))
        assert ended.complete
        assert isinstance(ended.problem, errors.NetworkError)
        assert failure.message in str(ended.problem)
        assert "kernelkit resume me/blossom/7 --local" in str(ended.problem)


def test_a_list_without_files_and_log_is_no_answer_of_a_run_that_reached_its_end(wait):
    ended = wait("running", "complete", log="")
    assert isinstance(ended.problem, errors.OutputsError)
    assert "neither a file nor a log" in str(ended.problem)


def test_an_end_without_a_log_is_asked_for_again(wait):
    """As when the status told is that of the version before; a killed run never gets one."""
    ended = wait("complete", "running", "error", log="")
    assert (ended.state, ended.outputs.log) == ("error", "")
    assert ("state", "running") in wait.message
    assert wait("error", "error", None, "error", log="").state == "error"
    assert len(wait.clock.slept) == 3
    assert wait("error", DOWN, "error", DOWN, "error", log="").state == "error"
    assert ("state", "queued") not in wait.message


def test_a_wait_taken_up_late_knows_the_time_from_the_log(wait):
    ended = wait("complete", log='[{"time": 3.5, "data": "a"}, {"time": 1800.0, "data": "b"}]')
    assert ended.minutes["minutes_run"] == 30


def test_a_running_session_that_prints_nothing_is_said_to(wait):
    wait(*["running"] * 8, "complete")
    told = [text for event, text in wait.message if event == "progress"]
    assert "nothing" not in told[0]
    assert "it has printed nothing yet" in told[-1]


@pytest.mark.parametrize(
    ("signed_in", "words"),
    [
        (True, r"^the sign-in has ended, .*settings/api.*Reconnect with: kernelkit resume"),
        (False, r"^GetKernelSessionStatus: unauthorized .*settings/api.*kernelkit resume"),
    ],
)
def test_a_sign_in_that_ends_during_the_wait_names_the_token_that_does_not(
    wait, monkeypatch, signed_in, words
):
    monkeypatch.setattr(Told, "connection", Mock(signed_in=signed_in))
    refusal = Failure(FailureKind.CREDENTIALS, "GetKernelSessionStatus", "unauthorized")
    with pytest.raises(errors.CredentialsError, match=words) as raised:
        wait("running", refusal)
    assert "\n" not in str(raised.value)

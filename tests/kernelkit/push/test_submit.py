"""A result is entered once and comes back with its score."""

import dataclasses
import datetime
import hashlib
import io
import time
import types
from unittest.mock import Mock

import pytest
import requests

from kernelkit import errors
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.services.competitions import Competitions
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.submit import submit_result
from kernelkit.submissions import submission, submitted_file
from kernelkit.submissions.attempt import Attempt
from kernelkit.submissions.record import submit_and_keep
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule


@pytest.fixture
def submit(serve, open_competition, tmp_path, connect):
    server = serve(score_seconds=0.2, submissions_a_day=2)
    open_competition(server)
    context = connect()
    kaggle = context.kaggle
    (tmp_path / "submission.csv").write_text("id,label\na,0\nb,1\n")

    def submit(*faults):
        server.faults = FaultSchedule(faults)
        return submission.Submission(
            context,
            "garden",
            "a message",
            tmp_path / "submission.csv",
            Kernel("tester", "blossom-train"),
            1,
        ).submit()

    submit.told = context.events.stream.getvalue
    submit.number = lambda: len(kaggle.competitions.list_submissions("garden").submissions)
    return submit


@pytest.mark.parametrize(
    "fault",
    [
        Fault("CreateSubmission", 1, FaultKind.LOST_ANSWER),
        Fault("Upload", 1, FaultKind.RESET),
    ],
)
def test_what_breaks_on_the_way_enters_nothing_twice(submit, fault):
    assert float(submit(fault)) == 1.0
    assert submit.number() == 1


@pytest.fixture
def noted(serve, open_competition, tmp_path, connect):
    """Submits a file to a local Kaggle; gives what the ledger would note."""
    server = serve(score_seconds=0.2, submissions_a_day=5)
    open_competition(server)
    context = connect()
    (tmp_path / "submission.csv").write_text("id,label\na,0\nb,1\n")

    def submit(facts=None, *, once=False):
        facts = {} if facts is None else facts
        made = submission.Submission(
            context,
            "garden",
            "mine",
            tmp_path / "submission.csv",
            earlier=Attempt.of_fields(facts),
            once=once,
            note=facts.update,
        )
        submit_and_keep(made, tmp_path, None, lambda key, fields: None)
        return facts

    submit.server = server
    return submit


def test_nothing_is_noted_before_the_request_that_submits(noted, monkeypatch):
    monkeypatch.setattr(submission.blob_upload, "upload", Mock(side_effect=KeyboardInterrupt))
    facts = {}
    with pytest.raises(KeyboardInterrupt):
        noted(facts)
    assert facts == {}


@pytest.mark.parametrize(("hours", "looks"), [(0, True), (1, False)])
def test_a_request_in_flight_is_waited_for_as_long_as_it_may_take(noted, hours, looks):
    since = time.time() - 3600 * hours
    noted({"submissions_before": [], "submitting_since": since, "message": "mine"})
    assert (noted.server.faults.calls["ListSubmissions"] > 2) == looks


def test_what_kaggle_holds_is_compared_with_the_file(noted, tmp_path):
    facts = noted()
    digest = hashlib.sha256((tmp_path / "submission.csv").read_bytes()).hexdigest()
    assert (facts["submitted_sha256"], facts["compared"]) == (digest, "same")


def test_other_bytes_than_the_files_are_no_result_of_it(noted, monkeypatch):
    def of_others(kaggle, response, most):
        response.close()
        return "0" * 64

    monkeypatch.setattr(submission.transfers, "sha256_of", of_others)
    facts = {}
    with pytest.raises(errors.OutputsError, match="its score is not this file's"):
        noted(facts)
    assert (facts["compared"], facts["score"]) == ("different", submission.NOT_SCORED)
    with pytest.raises(errors.OutputsError, match="its score is not this file's"):
        noted(facts, once=True)
    assert noted.server.faults.calls["CreateSubmission"] == 1


def test_a_submission_of_other_bytes_leaves_the_score_of_the_one_before(noted, monkeypatch):
    facts = noted() | {"score": "0.75", "message": "an earlier one"}
    before = dict(facts)
    monkeypatch.setattr(submission.Submission, "_held", lambda *_: "0" * 64)
    with pytest.raises(errors.OutputsError, match="its score is not this file's"):
        noted(facts)
    assert facts == before


def test_a_page_instead_of_the_file_is_not_compared(noted, monkeypatch):
    page = requests.Response()
    page.status_code, page.raw = 200, io.BytesIO(b"<html>down for maintenance</html>")
    page.headers["Content-Type"] = "text/html; charset=utf-8"
    monkeypatch.setattr(Competitions, "download_submission", lambda *_: page)
    assert noted()["compared"] == "not compared"


def test_a_submission_that_is_not_given_back_is_not_compared(noted, monkeypatch):
    def refuse(*_):
        raise Failure(FailureKind.REFUSED, "DownloadSubmission", "not here")

    monkeypatch.setattr(Competitions, "download_submission", refuse)
    assert noted()["compared"] == "not compared"


def test_an_answer_that_says_nothing_enters_nothing(submit):
    with pytest.raises(errors.NetworkError):
        submit(Fault("CreateSubmission", 1, FaultKind.HTML))
    assert submit.number() == 0


@pytest.mark.parametrize("message", ["", "Successfully submitted to garden"])
def test_an_answer_without_a_number_is_no_refusal_if_the_submission_arrived(
    submit, answers_to, message
):
    def nameless(answer, call):
        answer.ref, answer.message = 0, message

    answers_to("CreateSubmission", nameless)
    assert float(submit()) == 1.0
    assert submit.number() == 1
    assert "submission 1 arrived, although its answer was lost" in submit.told()


@pytest.mark.parametrize(
    ("message", "kind", "told"),
    [
        ("too many today", errors.RefusedError, "did not take the submission: too many today"),
        ("", errors.NetworkError, "is not known whether garden has the submission: the same comm"),
    ],
)
def test_an_answer_without_a_number_is_a_refusal_only_with_a_reason(
    submit, monkeypatch, message, kind, told
):
    answer = types.SimpleNamespace(ref=0, message=message)
    monkeypatch.setattr(Competitions, "create_submission", lambda *_: answer)
    with pytest.raises(kind, match=told):
        submit()


def test_where_kaggle_lists_no_submissions_it_is_said_that_one_may_be_there(noted):
    noted.server.faults = FaultSchedule(
        [Fault("CreateSubmission", 1, FaultKind.LOST_ANSWER)]
        + [Fault("ListSubmissions", call, FaultKind.ERROR_503) for call in range(2, 20)]
    )
    told = "not known whether garden has the submission: the same command looks for it first"
    with pytest.raises(errors.NetworkError, match=told):
        noted()


def test_the_file_to_submit_is_the_only_one_or_the_one_that_the_project_names(tmp_path):
    with pytest.raises(
        errors.OutputsError, match=r"nothing to submit in .* called submission\.csv"
    ):
        submitted_file.output_of(tmp_path, tmp_path)
    for name in ("submission.tar.gz", "submission.parquet", "answers.zip"):
        (tmp_path / name).touch()
    with pytest.raises(errors.OutputsError, match=r"submission\.parquet and submission\.tar\.gz"):
        submitted_file.output_of(tmp_path, tmp_path)
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.kernelkit]\nsubmission = "answers.zip"\n')
    assert submitted_file.output_of(tmp_path, tmp_path).name == "answers.zip"
    settings.write_text('[tool.kernelkit]\nsubmission = "out/answers.xlsx"\n')
    with pytest.raises(errors.PreflightError, match=r"the name of a \.csv, \.parquet"):
        submitted_file.output_of(tmp_path, tmp_path)


def test_a_file_that_lacks_rows_is_refused_by_its_name(tmp_path):
    partial = tmp_path / "submission.partial.csv"
    partial.write_text("id,label\na,0\n")
    told = r"submission\.partial\.csv is not submitted: its name says that it lacks rows"
    for result in (tmp_path, partial):
        with pytest.raises(errors.OutputsError, match=told):
            submit_result(str(result), "a message", competition="garden")
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.kernelkit]\nsubmission = "submission.partial.csv"\n')
    with pytest.raises(errors.OutputsError, match=told):
        submitted_file.output_of(tmp_path, tmp_path)
    settings.unlink()
    (tmp_path / "submission.csv").touch()
    assert submitted_file.output_of(tmp_path, tmp_path).name == "submission.csv"


def test_an_answer_about_another_submission_is_not_its_score(submit, answers_to):
    def another(answer, call):
        if call < 4 and answer.status.name == "COMPLETE":
            answer.ref, answer.public_score = answer.ref + 70, "0.01"

    answers_to("GetSubmission", another)
    assert float(submit()) == 1.0


def test_a_submission_that_kaggle_does_not_show_is_not_refused(submit, answers_to):
    def hide(answer, call):
        if call == 1:
            raise Failure(FailureKind.NOT_FOUND, "GetSubmission", "HTTP 404")

    answers_to("GetSubmission", hide)
    assert float(submit()) == 1.0

    def refuse(answer, call):
        if call != 2:
            raise Failure(FailureKind.REFUSED, "ListSubmissions", "accept the rules")

    answers_to("ListSubmissions", refuse)
    with pytest.raises(errors.RefusedError, match="accept the rules"):  # nothing is sent yet
        submit()
    with pytest.raises(errors.NetworkError, match="not known whether garden has the submission"):
        submit(Fault("CreateSubmission", 1, FaultKind.LOST_ANSWER))


def test_an_older_one_that_the_first_list_left_out_is_not_taken(submit, answers_to):
    submit()

    def leave_out(answer, call):
        if call == 1:  # before the submission: another one, of a page that ends early
            answer.submissions[0].ref = 5

    answers_to("ListSubmissions", leave_out)
    with pytest.raises(errors.NetworkError):
        submit(Fault("CreateSubmission", 1, FaultKind.HTML))


def test_an_older_one_that_an_empty_first_list_hid_is_not_taken(submit, answers_to):
    submit()

    def hide(answer, call):
        if call == 1:  # before the submission, as from a server that lags behind
            answer.submissions = []
        for one in answer.submissions:
            one.date -= datetime.timedelta(hours=1)

    answers_to("ListSubmissions", hide)
    with pytest.raises(errors.NetworkError):
        submit(Fault("CreateSubmission", 1, FaultKind.HTML))


def test_an_older_one_of_the_same_message_in_the_answer_is_not_taken(submit, answers_to, tmp_path):
    submit()
    (tmp_path / "submission.csv").write_text("id,label\na,0\nb,0\n")

    def older(answer, call):
        answer.ref = 1

    answers_to("CreateSubmission", older)
    assert float(submit()) < 1.0
    assert submit.number() == 2
    with pytest.raises(errors.CapacityError, match="no more submissions before 00:00 UTC"):
        submit()


@pytest.mark.parametrize("problem", ["", "Notebook Threw Exception"])
def test_a_score_that_is_not_shown_is_said_to_be_so_and_an_error_is_one(
    submit, answers_to, problem
):
    def hide(answer, call):
        answer.public_score, answer.error_description = None, problem

    answers_to("GetSubmission", hide)
    if not problem:
        assert submit() == ""
        return
    with pytest.raises(errors.RefusedError, match=problem):
        submit()


def test_what_is_said_of_a_submission_that_waits_is_told(
    serve, open_competition, tmp_path, connect, answers_to
):
    open_competition(serve(score_seconds=0.2))
    (tmp_path / "submission.csv").write_text("id,label\na,0\nb,1\n")
    context = connect()
    told = []

    def events(event, text, **_):
        told.append(text)

    context.events = events

    def wait(answer, call):
        if call == 1:
            answer.status = type(answer.status).PENDING
            answer.error_description = "the gateway has waited 75 seconds"

    answers_to("GetSubmission", wait)
    file = tmp_path / "submission.csv"
    assert float(submission.Submission(context, "garden", "mine", file).submit()) == 1.0
    waiting = [text for text in told if "pending" in text]
    assert waiting[0].endswith(": the gateway has waited 75 seconds")


def test_a_file_is_awaited_as_long_as_a_file_and_a_version_as_long_as_its_rerun(
    serve, open_competition, tmp_path, connect, timing
):
    open_competition(serve(score_seconds=0.2))
    context = connect()
    (tmp_path / "submission.csv").write_text("id,label\na,0\nb,1\n")

    def submit(earlier, **seconds):
        context.timing = dataclasses.replace(timing, **seconds)
        kernel = Kernel("tester", "blossom-train")
        file = tmp_path / "submission.csv"
        made = submission.Submission(
            context, "garden", "mine", file, kernel, 1, earlier=earlier, once=True
        )
        return float(made.submit())

    assert submit(Attempt(), rerun_seconds=0.0) == 1.0
    of_version = Attempt(submission=1, submissions_before=[], message="mine")
    assert submit(of_version, score_seconds=0.0) == 1.0


def test_a_date_with_a_zone_is_the_same_moment_in_utc():
    east = datetime.timezone(datetime.timedelta(hours=5))
    date = datetime.datetime(2026, 11, 27, 18, 0, tzinfo=east)
    assert submission.in_utc(date).isoformat() == "2026-11-27T13:00:00+00:00"
    assert submission.in_utc(date.replace(tzinfo=None)).isoformat() == "2026-11-27T18:00:00+00:00"

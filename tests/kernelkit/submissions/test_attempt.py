"""A submission that was interrupted, and the same command again: one submission."""

import pytest

from kernelkit import errors
from kernelkit.kaggle.services.competitions import Competitions
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.known.ledger import Ledger
from kernelkit.push.resume import resume_push
from kernelkit.push.submit import submit_result
from kernelkit.runs import submitted
from kernelkit.submissions.attempt import NOT_SCORED, Attempt
from kernelkit.submissions.submission import Submission


class Killed(BaseException):
    """The end of a process, as far as a test within it can tell."""


@pytest.fixture
def server(serve, open_competition):
    server = serve(score_seconds=0.2, submissions_a_day=9)
    open_competition(server)
    return server


@pytest.fixture
def result(repository, tmp_path):
    """Makes the result of a run, in a folder of this name."""

    def result(name, labels=(0, 1)):
        folder = tmp_path / name
        folder.mkdir()
        rows = f"id,label\na,{labels[0]}\nb,{labels[1]}\n"
        (folder / "submission.csv").write_text(rows)
        return folder

    return result


@pytest.fixture
def submit(server, repository):
    def submit(result, message="a try"):
        repository.run(submit_result, str(result), message, competition="garden")

    return submit


@pytest.fixture
def killed(monkeypatch):
    """Kills a command "before" or "after" Kaggle has made its submission."""

    def killed(when, command, *arguments, **options):
        create = Submission._create

        def die(submission, call):
            if when == "after":
                create(submission, call)
            raise Killed

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(Submission, "_create", die)
            command(*arguments, **options)

    return killed


@pytest.fixture
def made(server, connect):
    """The messages of what was submitted, oldest first."""
    calls = connect().kaggle.competitions

    def made():
        listed = calls.list_submissions("garden").submissions
        return [each.description for each in sorted(listed, key=lambda each: each.ref)]

    return made


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["", "submission.csv"], ids=["a folder", "a file"])
def test_a_result_whose_submission_was_killed_is_submitted_once(
    submit, result, made, killed, repository, when, name
):
    folder = result("run")
    killed(when, submit, folder / name)
    assert len(made()) == (1 if when == "after" else 0)
    submit(folder / name)
    assert made() == ["a try"]
    assert ("submission 1 arrived" in repository.message) == (when == "after")
    (kept,) = submitted.read(folder)
    assert (kept.reference, kept.compared, float(kept.score)) == (1, "same", 1.0)


def test_what_has_a_score_is_submitted_again_with_another_message_only(
    submit, result, made, repository
):
    folder = result("run")
    submit(folder)
    submit(folder)
    told = "submission 1 is of this file: another --message makes another one"
    assert told in repository.message
    assert "1.00000 in garden (submission 1)" in repository.message
    assert made() == ["a try"]
    submit(folder, "a second try")
    assert made() == ["a try", "a second try"]


def test_the_same_bytes_of_another_run_and_other_bytes_are_other_results(submit, result, made):
    first, second = result("first"), result("second")
    submit(first)
    submit(second)
    assert len(made()) == 2
    (second / "submission.csv").write_text("id,label\na,1\nb,1\n")
    submit(second)
    assert len(made()) == 3


def test_a_later_submission_of_other_bytes_is_not_taken_for_the_killed_one(
    submit, result, made, killed
):
    first, second = result("first"), result("second", (1, 1))
    killed("before", submit, first)
    submit(second)
    submit(first)
    assert len(made()) == 2
    (kept,) = submitted.read(first)
    assert (kept.reference, float(kept.score)) == (2, 1.0)


def test_after_a_refusal_the_same_command_submits(submit, result, made, monkeypatch):
    folder = result("run")

    def refuse(*_):
        raise Failure(FailureKind.REFUSED, "CreateSubmission", "the evaluation is closed")

    with monkeypatch.context() as patch:
        patch.setattr(Competitions, "create_submission", refuse)
        with pytest.raises(errors.RefusedError, match="is closed"):
            submit(folder)
    monkeypatch.setattr(Submission, "_look", lambda _: pytest.fail("it was refused"))
    submit(folder)
    assert made() == ["a try"]


def test_after_one_that_cannot_be_scored_the_same_command_submits_and_an_earlier_score_stays(
    server, submit, result, made, repository
):
    folder = result("run")
    submit(folder, "the first")
    rules = server.catalogue / "solutions" / "garden.csv"
    answers = rules.read_text()
    rules.write_text("id,label\nz,0\n")
    with pytest.raises(errors.RefusedError, match="cannot score"):
        submit(folder, "the second")
    rules.write_text(answers)
    submit(folder, "the second")
    assert made() == ["the first", "the second", "the second"]


def test_a_submission_of_other_bytes_is_kept_beside_the_one_that_has_a_score(
    submit, result, monkeypatch
):
    folder = result("run")
    submit(folder, "the first")
    monkeypatch.setattr(Submission, "_held", lambda *_: "0" * 64)
    with pytest.raises(errors.OutputsError, match="its score is not this file's"):
        submit(folder, "the second")
    first, second = submitted.read(folder)
    assert (first.reference, first.compared, first.score) == (1, "same", "1.00000")
    assert (second.reference, second.compared, second.score) == (2, "different", "")
    assert "other bytes" in second.problem


def test_of_a_local_kaggle_that_was_begun_anew_nothing_is_taken_up(
    submit, result, made, monkeypatch
):
    """Its submissions are counted from 1 again."""
    folder = result("run")
    submit(folder)
    of_former = {"submission": 7, "submissions_before": [1, 2, 6]}
    attempt = Ledger.attempt
    monkeypatch.setattr(Ledger, "attempt", lambda *args: attempt(*args) | of_former)
    submit(folder)
    assert len(made()) == 2


@pytest.mark.usefixtures("quick_sessions")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_push_from_elsewhere_whose_submission_was_killed_is_submitted_once(
    repository, made, killed, when
):
    repository.describe(competition_sources=["garden"])
    repository.push("files=0")
    (repository.runs / "pushes.sqlite").unlink()
    options = {"submit": "a try", "unverified": True}
    reference = "tester/blossom-train/1"
    killed(when, repository.run, resume_push, reference, **options)
    repository.run(resume_push, reference, **options)
    assert made() == ["a try"]
    assert not repository.pushes()


@pytest.mark.usefixtures("quick_sessions")
@pytest.mark.parametrize("name", ["", "submission.csv"], ids=["a folder", "a file"])
def test_a_push_by_its_folder_and_by_its_reference_is_submitted_once(
    repository, submit, made, name
):
    repository.describe(competition_sources=["garden"])
    folder = repository.push("files=0")
    submit(folder / name)
    assert [(push.submission, push.score) for push in repository.pushes()] == [(1, "1.00000")]
    repository.run(submit_result, "tester/blossom-train/1", "a try")
    assert repository.push("files=0", submit="a try", once=True) == folder
    submit(folder / name)
    assert made() == ["a try"]
    submit(folder / name, "a second try")
    assert made() == ["a try", "a second try"]


@pytest.mark.parametrize(
    ("score", "message", "goes_on"),
    [
        (None, "the same", True),
        (None, "another", True),
        ("0.5", "the same", True),
        ("0.5", "another", False),
        (NOT_SCORED, "the same", False),
    ],
)
def test_which_attempt_the_same_result_goes_on_with(score, message, goes_on):
    attempt = Attempt(message="the same", score=score)
    assert attempt.is_meant_by(message) == goes_on


def test_what_is_no_attempt_counts_as_none():
    assert Attempt.of_fields({"submission": "odd"}) == Attempt()
    assert Attempt.of_fields({"submission": 3, "rank": 4}).submission == 3

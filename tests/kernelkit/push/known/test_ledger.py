"""The ledger keeps every push, whoever writes at the same time and whatever an old file holds."""

import io
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.cli.console import main
from kernelkit.push.known import ledger
from kernelkit.push.known.ledger import Ledger, Push, State
from kernelkit.push.known.push_context import PushContext
from kernelkit.terminal.events import Events
from kernelkit.watching.status import check_ledger, list_pushes


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "runs")


def push(**changes):
    fields = {"kernel": "me/blossom", "content": "c", "git": "abc", "accelerator": "tpu"}
    return Push(**(fields | changes))


def test_a_command_changes_its_own_fields_of_an_entry_and_learns_of_the_others(book):
    sent = book.begin(push())
    book.update(sent, score="0.95")  # by another command
    done = book.update(sent, state=State.COMPLETE)
    assert book.pushes() == [done]
    assert (done.score, done.state) == ("0.95", State.COMPLETE)


def test_the_last_is_the_last_that_got_a_version(book):
    assert book.last() is None
    done = book.update(book.begin(push()), version=1)
    book.begin(push())
    rehearsals = Ledger(book.path.parent, rehearsal=True)
    rehearsed = rehearsals.update(rehearsals.begin(push()), version=9)
    assert book.last() == done
    assert rehearsals.last() == rehearsed


def test_a_push_that_0_4_0_left_on_kaggle_is_one_that_was_sent(book):
    sent = book.begin(push())
    with sqlite3.connect(book.path) as database:
        old = json.dumps(asdict(sent) | {"state": "queued"})
        database.execute("UPDATE pushes SET fields = ?", (old,))
    assert [each.state for each in book.pushes()] == [State.SENT]


def test_reading_makes_no_file(book):
    assert book.pushes() == []
    assert not book.path.parent.exists()


def test_texts_that_no_encoding_has_are_kept(book):
    book.begin(push(kernel="me/new", parameters={"name": "half \ud83c"}))
    assert book.pushes()[0].parameters == {"name": "half \ud83c"}


def test_what_a_later_version_wrote_into_an_entry_stays_there(book):
    first = book.begin(push())
    with sqlite3.connect(book.path) as database:
        text = json.dumps(asdict(first) | {"added_later": 1})
        database.execute("UPDATE pushes SET fields = ?", (text,))
    database.close()
    book.update(first, version=1)
    ((fields,),) = book._rows("SELECT fields FROM pushes")
    assert (json.loads(fields)["added_later"], json.loads(fields)["version"]) == (1, 1)


def test_pushes_at_the_same_time_keep_all_entries(book):
    def work(name):
        book.update(book.begin(push(kernel=name)), state=State.COMPLETE)

    names = [f"me/{n}" for n in range(10, 22)]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(work, names))
    assert sorted(p.kernel for p in book.pushes()) == names
    assert {p.state for p in book.pushes()} == {State.COMPLETE}


def test_a_secret_is_not_kept(tmp_path):
    book = Ledger(tmp_path, lambda text: text.replace("hunter22", "[secret]"))
    book.begin(push(parameters={"note": "hunter22"}))
    assert b"hunter22" not in book.path.read_bytes()


def test_a_damaged_ledger_is_told_in_a_line(book):
    book.begin(push())
    book.path.write_bytes(b"no database at all" * 1000)
    for use in (book.pushes, lambda: book.begin(push())):
        with pytest.raises(errors.StorageError, match="move the file away") as raised:
            use()
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_ledger_that_is_no_file_is_not_an_empty_one(book, is_folder):
    book.path.parent.mkdir()
    if is_folder:
        book.path.mkdir()
    else:
        book.path.symlink_to("nowhere")
    for use in (book.pushes, book.submissions, lambda: book.begin(push())):
        with pytest.raises(errors.StorageError, match="cannot be used"):
            use()


def test_a_file_that_a_killed_command_left_empty_is_an_empty_ledger(book):
    book.path.parent.mkdir()
    book.path.touch()
    assert book.pushes() == book.submissions() == []
    sent = book.begin(push())
    assert book.pushes() == [sent]


@pytest.mark.parametrize("row", ["no JSON", "[1]", b"\xff", "[" * 100_000, '{"message": 3}'])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_submission_that_is_none_is_left_out_and_the_others_stay(book, row, as_json):
    book.add_submission("good", {"competition": "garden", "score": "0.91"})
    with book._opened() as database:
        database.execute("INSERT INTO submissions VALUES ('bad', ?)", (row,))
    assert "0.91" in list_pushes(book.path.parent, as_json=as_json)


@pytest.mark.parametrize("ahead", ["2999-01-01T00:00:00.000000+00:00", "3", "not a time"])
def test_pushes_stay_in_their_order_when_the_clock_goes_back(book, ahead, monkeypatch):
    first = book.begin(push(kernel="me/first"))
    with book._opened() as database:
        fields = json.dumps(asdict(replace(first, pushed=ahead, version=1)))
        database.execute(
            "UPDATE pushes SET key = ?, pushed = ?, fields = ?", (ahead, ahead, fields)
        )
    for name in ("me/second", "me/third"):
        book.update(book.begin(push(kernel=name)), version=1)
    kernels = [each.kernel for each in book.pushes()]
    assert sorted(kernels) == ["me/first", "me/second", "me/third"]
    if ahead.startswith("2999"):
        assert book.last().kernel == "me/third"


def test_a_ledger_that_another_program_holds_is_told(book, monkeypatch):
    monkeypatch.setattr(ledger, "LOCK_SECONDS", 0.1)
    book.begin(push())
    with book._opened() as database:
        database.execute("BEGIN EXCLUSIVE")
        with pytest.raises(errors.StorageError, match="another program holds it"):
            book.begin(push())


def test_entries_that_cannot_be_read_are_named_after_the_list(book, monkeypatch):
    """In one that a later version wrote, or a disk damaged, a push may be lost to every list."""
    check_ledger(book.path.parent)  # of which there is none
    monkeypatch.chdir(book.path.parent.parent)
    good, bad = book.begin(push(kernel="me/good")), book.begin(push(kernel="me/bad"))
    book.add_submission("odd", {"message": 3})
    with book._opened() as database:
        database.execute("UPDATE pushes SET fields = ? WHERE key = ?", (b"\xff", bad.pushed))
        row = ("\x1b]0;title\x07", "[]")
        database.execute("INSERT INTO pushes VALUES (?, '', ?)", row)
    for form in ([], ["--json"]):
        shown = CliRunner().invoke(main, ["status", "--all", *form])
        assert shown.exit_code == errors.StorageError.exit_code
        assert "me/good" in shown.output
        for key in (bad.pushed, "odd", "x1b]0;title"):
            assert key in shown.output
        assert "\x1b" not in shown.output
    assert book.pushes() == [good]


ODD = {
    "empty": "",
    "a list": "[]",
    "null": "null",
    "deep": "[" * 100_000,
    "a huge number": "9" * 5000,
    "a byte order mark": "\ufeff{}",
    "lacks a field": '{"kernel": "a/b"}',
    "of other types": '{"kernel": 5, "content": [], "git": {}, "accelerator": 1}',
}
FIELDS = '"kernel": "a/b", "content": "", "git": "", "accelerator": "cpu"'
for value in ("5", '"\\u0000"', '"\\ud800"', "1e999", "true", "[1]", "9" * 400):
    for name in ("pushed", "folder", "version", "minutes_run"):
        ODD[f"{name} is {value[:9]}"] = f'{{{FIELDS}, "{name}": {value}}}'


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_a_line_that_is_none_is_left_out_and_the_others_stay(book, text):
    odd, good = book.begin(push()), book.begin(push(kernel="me/good"))
    with book._opened() as database:
        row = (text, odd.pushed)
        database.execute("UPDATE pushes SET fields = ? WHERE key = ?", row)
    assert good in book.pushes()
    list_pushes(book.path.parent)  # whatever of it may stand there
    assert book.update(odd, version=3).version == 3
    book.update(good, version=4)
    assert [each.version for each in book.pushes() if each.kernel == "me/good"] == [4]


def test_secrets_of_events_that_a_context_shares_are_not_written(repository):
    context = PushContext.in_project(repository.root, runs=repository.runs, stream=io.StringIO())
    context.events = Events(io.StringIO())  # of the command whose chain this push belongs to
    context.events.keep_secret(["a1b2c3d4e5f6"])
    context.ledger.begin(Push("me/k", "c", "", "cpu", parameters={"name": "is a1b2c3d4e5f6"}))
    assert b"a1b2c3d4e5f6" not in (repository.runs / "pushes.sqlite").read_bytes()

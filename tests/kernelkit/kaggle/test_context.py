"""One JSON line a push, replaced whole as the push goes on."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from kernelkit.kaggle.context import Ledger, Push, State
from kernelkit.push.status import list_pushes


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "runs")


def push(**changes):
    fields = {"kernel": "me/blossom", "content": "c", "git": "abc", "accelerator": "tpu"}
    return Push(**(fields | changes))


def test_a_command_changes_its_own_fields_of_a_line_and_learns_of_the_others(book):
    sent = book.begin(push())
    book.update(sent, score="0.95")  # by another command
    done = book.update(sent, state=State.COMPLETE)
    assert book.pushes() == [done]
    assert (done.score, done.state) == ("0.95", State.COMPLETE)


def test_the_last_is_the_last_that_got_a_version(book):
    assert book.last() is None
    done = book.update(book.begin(push()), version=1)
    book.begin(push())
    book.update(book.begin(push(rehearsal=True)), version=9)
    assert book.last() == done
    assert Ledger(book.path.parent, rehearsal=True).last().version == 9
    assert book.last("me/other") is None


def test_damaged_lines_and_those_of_another_time_do_no_harm(book):
    first = book.begin(push(parameters={"name": "tulip"}))
    later = {"kernel": "a/b", "content": "", "git": "", "accelerator": "", "added_later": 1}
    lines = book.path.read_bytes().replace(b"tulip", b"t\xffip") + b"\xfe\xff\n"
    others = f'\nnot json\n[1]\n{{"kernel": "only"}}\n{json.dumps(later)}\n'
    book.path.write_bytes(lines + others.encode())
    book.begin(push(kernel="me/new", parameters={"name": "half \ud83c"}))
    assert [p.kernel for p in book.pushes()] == ["me/blossom", "a/b", "me/new"]
    assert book.update(first, version=1).version == 1
    assert [p.version for p in book.pushes()] == [1, None, None]
    assert "not json" in book.path.read_text()
    assert list_pushes(book.path.parent)


def test_pushes_at_the_same_time_keep_all_lines(book):
    def work(name):
        book.update(book.begin(push(kernel=name)), state=State.COMPLETE)

    names = [f"me/{n}" for n in range(10, 22)]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(work, names))
    assert sorted(p.kernel for p in book.pushes()) == names
    assert {p.state for p in book.pushes()} == {State.COMPLETE}


def test_a_queued_push_takes_the_place_of_its_own_refusals(book):
    other = book.begin(push(queued="b"))
    arrived = book.update(book.begin(push(queued="a")), state=State.REFUSED, version=1)
    for _ in range(3):
        book.update(book.begin(push(queued="a")), state=State.REFUSED)
    last = book.begin(push(queued="a"))
    assert book.pushes() == [other, arrived, last]
    book.update(book.begin(push()), state=State.REFUSED)
    book.begin(push())
    assert len(book.pushes()) == 5

"""The queue is filled, shown and thinned out without a word to Kaggle."""

import json

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.commands.kaggle.queue import queue
from kernelkit.queue.items import Queue, remove


@pytest.fixture(autouse=True)
def here(repository, monkeypatch):
    monkeypatch.chdir(repository.root)


def invoke(*arguments):
    return CliRunner().invoke(queue, arguments)


def events(*arguments):
    done = invoke(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.output.splitlines()]


def test_items_keep_their_order_and_all_that_a_push_needs(repository):
    for files in range(3):
        assert events("add", "-p", f"files={files}", "--timeout", "60")[-1]["number"] == files + 1
    items = Queue(repository.runs).items()
    assert [item.plan.parameters["files"] for item in items] == [0, 1, 2]
    assert items[1].plan.save_fields["session_timeout_seconds"] == 3600
    assert "blossom" in items[1].plan.bundle.packages
    assert [event["state"] for event in events("list")] == ["waiting"] * 3


def test_a_mistake_is_found_as_it_is_queued(repository):
    done = invoke("add", "-p", "flies=3")
    assert (done.exit_code, "did you mean files?" in done.output) == (2, True)
    repository.describe(machine_shape="TpuV38")
    assert invoke("add").exit_code == 3
    assert Queue(repository.runs).items() == []


def test_the_same_is_queued_twice_on_purpose_only(repository):
    assert invoke("add").exit_code == 0
    done = invoke("add")
    assert (done.exit_code, "identical to the queued push 1" in done.output) == (3, True)
    assert invoke("add", "--force").exit_code == 0
    assert len(Queue(repository.runs).items()) == 2


def test_the_same_is_queued_once_whatever_became_of_it(repository):
    assert invoke("add", "--once").exit_code == 0
    assert [event["number"] for event in events("add", "--once")][-1] == 1
    assert events("add", "-p", "files=2", "--once")[-1]["number"] == 2
    assert events("add", "--once", "--force")[-1]["number"] == 3


def test_a_check_that_is_overruled_stays_so_in_the_queue(repository):
    repository.describe(machine_shape="TpuV99")
    assert invoke("add").exit_code == 3
    assert invoke("add", "--ignore", "machine").exit_code == 0
    (item,) = Queue(repository.runs).items()
    assert item.plan.metadata.machine.shape == "TpuV99"


def test_a_waiting_push_can_be_removed(repository):
    for files in range(3):
        invoke("add", "-p", f"files={files}")
    assert invoke("remove", "2").exit_code == 0
    assert [event["number"] for event in events("list")] == [1, 3]
    with pytest.raises(errors.ParameterError, match="the queue has no 2"):
        remove([1, 2])
    assert [event["number"] for event in events("list")] == [1, 3]


def test_an_empty_queue_says_so(repository):
    assert "the queue is empty" in invoke("list").output
    assert invoke("run", "--no-wait").exit_code == 0


@pytest.mark.parametrize("change", [{}, {"version": 9}])
def test_a_file_that_is_damaged_or_of_another_format_is_refused(repository, change):
    invoke("add")
    path = Queue(repository.runs).folder / "000001.json"
    content = json.loads(path.read_text())
    assert content.pop("version") == 1
    for text in (json.dumps(content | change), path.read_text()[:100]):
        path.write_text(text)
        for arguments in (["add"], ["list"], ["run", "--no-wait"], ["remove", "1"]):
            done = invoke(*arguments)
            assert done.exit_code == 2
            assert "was written by another version of the kit: delete it" in done.output
        assert path.read_text() == text

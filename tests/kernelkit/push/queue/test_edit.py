"""The queue is filled, shown and thinned out without a word to Kaggle."""

import json

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.cli.queue import queue
from kernelkit.push.queue_items import Queue, remove


def invoke(*arguments):
    return CliRunner().invoke(queue, arguments)


def events(*arguments):
    done = invoke(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.output.splitlines()]


def test_items_keep_their_order_and_all_that_a_push_needs(repository):
    assert "the queue is empty" in invoke("list").output
    assert invoke("run", "--no-wait").exit_code == 0
    for files in range(3):
        assert events("add", "-p", f"files={files}", "--timeout", "60")[-1]["number"] == files + 1
    items = Queue(repository.runs).items()
    assert [item.plan.parameters["files"] for item in items] == [0, 1, 2]
    assert items[1].plan.save_fields["session_timeout_seconds"] == 3600
    assert "blossom" in items[1].plan.bundle.packages
    assert [event["state"] for event in events("list")] == ["waiting"] * 3

    assert invoke("remove", "2").exit_code == 0
    with pytest.raises(errors.ParameterError, match="the queue has no 2"):
        remove([1, 2])
    assert [event["number"] for event in events("list")] == [1, 3]


def test_a_mistake_is_found_as_it_is_queued_unless_its_check_is_overruled(repository):
    for words, code, told in (
        (["-p", "flies=3"], 2, "did you mean files?"),
        (["--submit", "one"], 3, "competition_sources"),
    ):
        done = invoke("add", *words)
        assert (done.exit_code, told in done.output) == (code, True)
    repository.describe(machine_shape="TpuV99", competition_sources=["meadow"])
    assert invoke("add").exit_code == 3
    assert Queue(repository.runs).items() == []
    overruled = invoke("add", "--ignore", "machine", "--submit", "one", "--continue")
    assert overruled.exit_code == 0
    (item,) = Queue(repository.runs).items()
    assert item.plan.metadata.machine.shape == "TpuV99"
    assert item.plan.save_fields["enable_tpu"]
    assert "continues the last run, to be submitted" in invoke("list").output


def test_the_same_is_queued_twice_on_purpose_only(repository):
    for _ in range(2):
        assert events("add", "--once")[-1]["number"] == 1
    done = invoke("add")
    assert (done.exit_code, "identical to the queued push 1" in done.output) == (3, True)
    assert events("add", "-p", "files=2", "--once")[-1]["number"] == 2
    assert events("add", "--once", "--force")[-1]["number"] == 3


def test_a_file_that_is_damaged_or_of_another_format_is_refused(repository):
    invoke("add")
    path = Queue(repository.runs).folder / "000001.json"
    text = path.read_text()
    content = json.loads(text)
    for damaged in (text[:100], json.dumps(content | {"version": 9})):
        path.write_text(damaged)
        for arguments in (["add"], ["list"], ["run", "--no-wait"], ["remove", "1"]):
            done = invoke(*arguments)
            assert done.exit_code == 2
            assert "was written by another version of the kit: delete it" in done.output
        assert path.read_text() == damaged

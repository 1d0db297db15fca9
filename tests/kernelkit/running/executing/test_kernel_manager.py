"""What stands between this process and a notebook's."""

import asyncio
import io
import os
import time

import pytest
import zmq.asyncio
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.session import Session

from kernelkit.running.executing import kernel_manager
from kernelkit.running.executing.kernel_manager import AwakeChannel, Passage, ShownOnce


async def answer_while_sending(kind):
    """The type of an answer that arrived just before something else was sent."""
    session = Session(key=b"")
    with zmq.asyncio.Context() as context, zmq.Context() as of_kernel:
        kernel = of_kernel.socket(zmq.ROUTER)
        port = kernel.bind_to_random_port("tcp://127.0.0.1")
        client = context.socket(zmq.DEALER, socket_class=zmq.asyncio.Socket)
        client.connect(f"tcp://127.0.0.1:{port}")
        channel = kind(client, session, None)
        try:
            channel.send(session.msg("execute_request"))
            identity = kernel.recv_multipart()[0]
            waiting = asyncio.ensure_future(channel.get_msg(timeout=None))
            await asyncio.sleep(0.1)
            session.send(kernel, "execute_reply", ident=identity)
            time.sleep(0.1)  # it is here, and the loop has not looked
            channel.send(session.msg("comm_msg"))
            message = await asyncio.wait_for(waiting, 1.0)
            return message["msg_type"]
        finally:
            client.close(linger=0)
            kernel.close(linger=0)


def test_an_answer_that_arrives_while_something_is_sent_is_not_missed():
    assert asyncio.run(answer_while_sending(AwakeChannel)) == "execute_reply"


def test_jupyters_own_channel_still_misses_it():
    """Once this fails, `AwakeChannel` can go, and the lines of the local Kaggle's papermill."""
    with pytest.raises(TimeoutError):
        asyncio.run(answer_while_sending(AsyncZMQSocketChannel))


def test_a_line_that_arrives_by_both_ways_is_shown_once_each_time():
    shown = ShownOnce()
    assert shown.is_new("a", "stream")
    assert not shown.is_new("a", "message")
    assert shown.is_new("a", "message")  # printed again
    assert shown.is_new("b", "message")
    assert not shown.is_new("a", "stream")
    assert not shown.is_new("b", "stream")


def test_what_came_by_one_way_alone_is_forgotten_in_the_end(monkeypatch):
    monkeypatch.setattr(kernel_manager, "MOST_LINES", 3)
    shown = ShownOnce()
    for line in "abcd":
        assert shown.is_new(line, "message")
    assert not shown.is_new("b", "stream")
    assert shown.is_new("a", "stream")  # so long ago that it is not known


def test_what_was_written_before_the_end_is_passed_on_and_what_comes_after_is_not():
    shown = io.StringIO()
    passage = Passage(shown, ShownOnce())
    of_process = os.dup(passage.write)
    os.write(of_process, "".join(f"line {n}\n" for n in range(500)).encode() + b"no newline")
    passage.end()
    os.write(of_process, b"Terminated\n")
    os.close(of_process)
    assert shown.getvalue().splitlines() == [*(f"line {n}" for n in range(500)), "no newline"]

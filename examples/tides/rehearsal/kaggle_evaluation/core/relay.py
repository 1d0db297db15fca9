"""The two ends of the wire: the client that asks, and the server that a notebook starts."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc

from kaggle_evaluation.core.messages import METHOD, Answer, Request, decode, encode

PORTS = (50051, *range(60053, 60063))
START_SECONDS = 15 * 60.0  # from the first question to the first answer
ANSWER_SECONDS = 60 * 60.0  # for each later answer, unless the host sets another limit
RETRY_SECONDS = 0.1
NO_ENDPOINT = "No listener for"
UNLIMITED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class NeverStartedError(Exception):
    """No server answered within `START_SECONDS`."""


class Client:
    """Asks the server at a host name, which it looks for on each of the ports."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.answer_seconds = ANSWER_SECONDS
        self._channel: grpc.Channel | None = None

    def send(self, name: str, *values: Any) -> Any:
        """The answer of the endpoint `name`; raises NeverStartedError and grpc.RpcError."""
        request = Request(name=name, args=map(encode, values))
        if self._channel is None:
            return decode(self._first(request).payload)
        return decode(self._ask(self._channel, request, self.answer_seconds).payload)

    def close(self) -> None:
        """Hang up."""
        if self._channel:
            self._channel.close()

    def _first(self, request: Any) -> Any:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            for port in PORTS:
                channel = grpc.insecure_channel(f"{self.host}:{port}", UNLIMITED)
                try:
                    answer = self._ask(channel, request, None)
                except grpc.RpcError as error:
                    channel.close()
                    if error.code() is not grpc.StatusCode.UNAVAILABLE:
                        raise
                    continue
                self._channel = channel
                return answer
            time.sleep(RETRY_SECONDS)
        raise NeverStartedError

    @staticmethod
    def _ask(channel: grpc.Channel, request: Any, seconds: float | None) -> Any:
        call = channel.unary_unary(METHOD, Request.SerializeToString, Answer.FromString)
        return call(request, timeout=seconds)


def make_server(*endpoints: Callable[..., Any]) -> grpc.Server:
    """A server that answers with these functions, by their names; it is still to be started."""
    functions = {function.__name__: function for function in endpoints}

    def answer(request: Any, _context: grpc.ServicerContext) -> Any:
        if request.name not in functions:
            raise NotImplementedError(f"{NO_ENDPOINT} {request.name} was registered.")
        return Answer(payload=encode(functions[request.name](*map(decode, request.args))))

    server = grpc.server(futures.ThreadPoolExecutor(max_workers=1), options=UNLIMITED)
    service, _, method = METHOD.strip("/").rpartition("/")
    handler = grpc.unary_unary_rpc_method_handler(
        answer, Request.FromString, Answer.SerializeToString
    )
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(service, {method: handler})]
    )
    server.add_insecure_port(f"[::]:{_free_port()}")
    return server


def _free_port() -> int:
    for port in PORTS:
        with socket.socket() as probe:
            if probe.connect_ex(("localhost", port)):
                return port
    raise OSError(f"all of the ports {PORTS} are taken")

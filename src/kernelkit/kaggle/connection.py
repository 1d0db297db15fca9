"""The `kaggle` package's own client, unmodified, with a time limit on every request.

Importing `kaggle` authenticates, prints help if it cannot, and may use the network; it is imported
only here, when first needed. A complete answer has a time limit, because a socket's own timeout
restarts with every byte.
"""

import base64
import contextlib
import io
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import HTTPError

from kernelkit.errors import CredentialsError, KernelkitError
from kernelkit.kaggle.failures import (
    NO_HEADER,
    FailureKind,
    classifying,
    is_of_header,
    moment,
    of_exception,
    of_response,
)
from kernelkit.kaggle.retries import Retries
from kernelkit.terminal.exits import EndedBySignal

T = TypeVar("T")

CREDENTIALS = "checking the credentials"
PRODUCTION = "https://api.kaggle.com/v1"
LONGEST = 500_000_000  # bytes of an answer, which may contain a session's log

UNREADABLE = (
    "the Kaggle credentials cannot be read, since a file is damaged: remove kaggle.json, "
    "credentials.json or access_token from ~/.kaggle, or from where KAGGLE_CONFIG_DIR leads, or "
    "make it anew"
)
NO_CREDENTIALS = (
    "no Kaggle credentials, or Kaggle does not accept them: sign in with `kaggle auth login`, or "
    "make a token at https://www.kaggle.com/settings/api and put it in ~/.kaggle/access_token or "
    "in KAGGLE_API_TOKEN. `kernelkit rehearse` needs no account"
)

# The exceptions of a call: those of requests, of the operating system where it reads certificates,
# and of the SDK, which unpacks an answer without validating it.
_CLASSIFIED = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,  # of a duration of more than a billion days
    RecursionError,
)


@dataclass(frozen=True)
class Timeouts:
    """Seconds (wall time) before a request to a silent server fails."""

    connect: float = 15.0
    read: float = 60.0
    authenticate: float = 90.0
    whole: float = 300.0  # for a complete answer, however slowly it arrives
    slow: float = 30.0  # for a download below `transfers.SLOWEST` bytes per second


class _TimedAdapter(HTTPAdapter):
    """Gives each request a time limit, and stores the last answer of each thread."""

    def __init__(self, timeouts: Timeouts) -> None:
        super().__init__(pool_maxsize=32)
        self._timeouts = timeouts
        self.last = threading.local()

    def send(self, request: Any, *arguments: Any, **options: Any) -> requests.Response:
        """Send as the base class does, with a time limit that covers the whole answer."""
        self.last.response = None
        if options.get("timeout") is None:
            options["timeout"] = (self._timeouts.connect, self._timeouts.read)
        send = partial(super().send, request, *arguments, **options)
        response = send() if options.get("stream") else _whole(send, self._timeouts.whole)
        self.last.response = response
        return response


class StoreSession(requests.Session):
    """For signed links, which need no credentials: none are sent to their hosts.

    Credentials in ~/.netrc are not sent either; the environment's proxies and certificates apply.
    """

    def __init__(self, connections: int = 1) -> None:
        super().__init__()
        self.auth = lambda request: request
        for scheme in ("https://", "http://"):
            self.mount(scheme, HTTPAdapter(pool_connections=connections, pool_maxsize=connections))

    def rebuild_auth(self, prepared_request: Any, response: Any) -> None:
        """Do not send credentials after a redirect either."""
        prepared_request.headers.pop("Authorization", None)


class Connection:
    """An authenticated client: `services` is the SDK's own, `username` the account's.

    `signed_in`: by `kaggle auth login`, which ends within hours; a token of the settings page does
    not.
    """

    def __init__(
        self, services: Any, username: str, timeouts: Timeouts, *, signed_in: bool = False
    ) -> None:
        self.services = services
        self.username = username
        self.signed_in = signed_in
        self.timeouts = timeouts
        self._http = services.http_client()
        self._http._init_session()  # as entering it as a context manager does
        self._adapter = _TimedAdapter(timeouts)
        for scheme in ("https://", "http://"):
            self._http._session.mount(scheme, self._adapter)

    @property
    def secrets(self) -> list[str]:
        """Strings that must never be printed: the client's key or token, in every form."""
        basic = f"{self.services.username}:{self.services.password}"
        encoded = base64.b64encode(basic.encode()).decode()  # as in the header
        own = (self.services.password, self.services.password and encoded, self.services.api_token)
        return [secret for secret in own if secret]

    @property
    def rehearses(self) -> bool:
        """Whether it talks to a server other than Kaggle."""
        return self.base_url != PRODUCTION

    @property
    def base_url(self) -> str:
        """The URL of the API, without a method: `https://api.kaggle.com/v1` in production."""
        url: str = self._http._get_request_url("service", "method")
        return url.removesuffix("/service/method")

    @property
    def server_time(self) -> float | None:
        """When the server gave this thread's last answer, by its own clock, in seconds since 1970;
        None if it does not say."""
        response = self._adapter.last.response
        return None if response is None else moment(response.headers.get("Date"))

    def ask(self, method: str, call: Callable[[], T]) -> T:
        """The answer of `call`, one call of the SDK; raises a classified `Failure`."""
        self._adapter.last.response = None
        try:
            answer = call()
            _check_types(answer)
            response = self._adapter.last.response
            if hasattr(answer, "_fields") and response is not None:
                _check_shape(answer, response.json())
            return answer
        except _CLASSIFIED as error:
            failure = of_exception(method, error, self._adapter.last.response)
            raise failure.without(self.secrets) from error

    def stream(self, method: str, path: str, read_timeout: float) -> requests.Response:
        """A GET below the base URL with a streamed body; raises `Failure`."""
        with classifying(method):
            response: requests.Response = self._http._session.get(
                f"{self.base_url}/{path}",
                stream=True,
                headers={"Accept": "text/event-stream, */*", "Content-Type": None},
                timeout=(self.timeouts.connect, read_timeout),
            )
        failure = of_response(method, response)
        if failure:
            response.close()
            raise failure
        return response


def _check_types(message: Any) -> None:
    """Raise `TypeError` if a field does not have its declared type, which the SDK does not check.

    A null stands for a field's default, as in all JSON of Protocol Buffers.
    """
    for field in getattr(message, "_fields", ()):
        value = getattr(message, field.private_field_name)
        kind = type(field.default_value)
        if value is None:
            setattr(message, field.private_field_name, field.default_value)
            continue
        if kind in (list, dict) and not isinstance(value, kind):
            raise TypeError(f"{field.json_name} is a {type(value).__name__}")
        if kind is dict:
            continue
        for each in value if kind is list else [value]:
            whole = isinstance(each, bool) and field.field_type is not bool
            if whole or not isinstance(each, field.field_type):
                raise TypeError(f"{field.json_name} is a {type(each).__name__}")
            _check_types(each)


def _check_shape(message: Any, sent: Any) -> None:
    """Raise `TypeError` unless `sent` is the JSON object that a message was made of.

    The SDK takes a text or a list for an object without fields, and a text for a list.
    """
    if not isinstance(sent, dict):
        raise TypeError(f"a {type(message).__name__} is a {type(sent).__name__}")
    for field in message._fields:
        part = sent.get(field.json_name)
        value = getattr(message, field.private_field_name)
        if part is None or value is None:
            continue
        if type(value) in (list, dict) and type(part) is not type(value):
            raise TypeError(f"{field.json_name} is a {type(part).__name__}")
        if hasattr(value, "_fields"):
            _check_shape(value, part)
        elif isinstance(value, list):
            for each, own in zip(value, part, strict=True):
                if hasattr(each, "_fields"):
                    _check_shape(each, own)


def open_connection(timeouts: Timeouts | None = None, retries: Retries | None = None) -> Connection:
    """Kaggle's own client, authenticated with the credentials of the environment.

    Raises `CredentialsError` without credentials that Kaggle accepts, and `NetworkError` if they
    cannot be checked.
    """
    timeouts = timeouts or Timeouts()
    api = (retries or Retries(attempts=1)).call(lambda: _authenticated(timeouts))
    username = str(api.config_values.get(api.CONFIG_NAME_USER) or "")
    signed_in = str(api.config_values.get(api.CONFIG_NAME_AUTH_METHOD)).endswith("OAUTH")
    return Connection(api.build_kaggle_client(), username, timeouts, signed_in=signed_in)


def _authenticated(timeouts: Timeouts) -> Any:
    """The client's `KaggleApi`; raises `Failure` or `CredentialsError`."""
    stdin, stdout = sys.stdin, sys.stdout
    try:
        # The client checks a token without a time limit, so it gets one from outside.
        return within(timeouts.authenticate, _authenticate)
    except EndedBySignal:  # in this thread, while it waits for the client
        raise
    except SystemExit:  # of the client, which finds no credentials
        raise CredentialsError(NO_CREDENTIALS) from None
    except _CLASSIFIED as error:
        raise _of_authentication(error) from None
    finally:
        sys.stdin = stdin
        sys.stdout = stdout  # a hanging thread has replaced it


def _of_authentication(error: Exception) -> KernelkitError:
    """What an exception of the client means, which checks the credentials.

    What the server said is left out: it may repeat a token, which nobody here knows yet.
    """
    if is_of_header(error):
        return CredentialsError(NO_HEADER)
    if isinstance(error, json.JSONDecodeError):
        return of_exception(CREDENTIALS, error)
    if not isinstance(error, OSError):  # none of requests
        return CredentialsError(UNREADABLE)
    if error.filename:  # of the client's own files
        words = f"the credentials in {error.filename} cannot be used ({error.strerror})"
        return CredentialsError(f"{words}: correct the file's owner or mode")
    if not isinstance(error, HTTPError):
        return of_exception(CREDENTIALS, error)
    failure = None if error.response is None else of_response(CREDENTIALS, error.response)
    if failure is None or failure.kind in (FailureKind.CREDENTIALS, FailureKind.REFUSED):
        return CredentialsError(NO_CREDENTIALS)
    return failure


def _authenticate() -> Any:
    first = "kaggle" not in sys.modules
    sys.stdin = io.StringIO()  # which exit() closes, the client's answer to missing credentials
    with contextlib.redirect_stdout(io.StringIO()):
        import kaggle
        from kaggle.api.kaggle_api_extended import KaggleApi

        api = kaggle.api
        if not (first and api._authenticated):
            api = KaggleApi()
            api.authenticate()
    for name in (api.CONFIG_NAME_USER, api.CONFIG_NAME_KEY, api.CONFIG_NAME_TOKEN):
        if not isinstance(api.config_values.get(name), str | None):
            raise TypeError(f"{name} is no text")
    return api


def within(seconds: float, call: Callable[[], T]) -> T:
    """The result or exception of `call`, or `requests.ReadTimeout` after this many seconds.

    An abandoned call continues in its own thread, which ends with this process. An answer that it
    gets after all is closed: nobody reads it, and its socket would stay open.
    """
    returned: list[T] = []
    raised: list[BaseException] = []
    ending = threading.Lock()
    abandoned = False

    def work() -> None:
        try:
            answer = call()
        except BaseException as error:  # raised again in the waiting thread
            raised.append(error)
            return
        with ending:
            if not abandoned:
                returned.append(answer)
                return
        if isinstance(answer, requests.Response):
            answer.close()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(seconds)
    if raised:
        raise raised[0]
    with ending:
        abandoned = not returned
    if abandoned:
        raise requests.exceptions.ReadTimeout(f"no complete answer within {seconds:g} s")
    return returned[0]


def _whole(send: Callable[[], requests.Response], seconds: float) -> requests.Response:
    """The response of `send`, with its body read, within this many seconds.

    Raises `requests.ConnectionError` for a body of more than `LONGEST` bytes.
    """
    begun: list[requests.Response] = []

    def read() -> requests.Response:
        begun.append(send())
        body = bytearray()
        for chunk in begun[0].iter_content(1 << 20):
            body += chunk
            if len(body) > LONGEST:
                begun[0].close()
                raise requests.exceptions.ConnectionError(f"more than {LONGEST:,} bytes arrived")
        begun[0]._content = bytes(body)  # where requests stores it
        return begun[0]

    try:
        return within(seconds, read)
    except requests.exceptions.ReadTimeout:
        for response in begun:  # wake the thread that still reads, if it has not just ended
            with contextlib.suppress(AttributeError, ValueError, RuntimeError, OSError):
                response.raw.shutdown()
        raise

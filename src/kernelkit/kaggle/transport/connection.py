"""The `kaggle` package's own client, unmodified, with a time limit on every request."""

import base64
from collections.abc import Callable
from typing import Any, TypeVar

import requests
from requests.adapters import HTTPAdapter

from kernelkit.kaggle.transport.answer_types import check
from kernelkit.kaggle.transport.classify import classifying, moment, of_exception, of_response
from kernelkit.kaggle.transport.time_limits import TimedAdapter, Timeouts

T = TypeVar("T")

PRODUCTION = "https://api.kaggle.com/v1"

# The exceptions of a call: those of requests, of the operating system where it reads certificates,
# and of the SDK, which unpacks an answer without validating it.
CALL_ERRORS = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,  # of a duration of more than a billion days
    RecursionError,
)


class Connection:
    """An authenticated client.

    services   the SDK's own client
    username   the account's
    signed_in  by `kaggle auth login`, which ends within hours; a token of the settings page does
               not
    secrets    strings that must never be printed: the client's key or token, in every form
    base_url   the URL of the API, without a method: `https://api.kaggle.com/v1` in production
    """

    def __init__(
        self, services: Any, username: str, timeouts: Timeouts, *, signed_in: bool = False
    ) -> None:
        self.services = services
        self.username = username
        self.signed_in = signed_in
        self.timeouts = timeouts
        self.secrets = _secrets_of(services)
        self._http = services.http_client()
        self._http._init_session()  # as entering it as a context manager does
        url: str = self._http._get_request_url("service", "method")
        self.base_url = url.removesuffix("/service/method")
        self._adapter = TimedAdapter(timeouts)
        for scheme in ("https://", "http://"):
            self._http._session.mount(scheme, self._adapter)

    @property
    def rehearses(self) -> bool:
        """Whether it talks to a server other than Kaggle."""
        return self.base_url != PRODUCTION

    @property
    def server_time(self) -> float | None:
        """When the server gave this thread's last answer, by its own clock, in seconds since 1970;
        None if it does not say."""
        response = self._adapter.last.response
        return None if response is None else moment(response.headers.get("Date"))

    def ask(self, call: Callable[[Any], T], request: Any, **fields: Any) -> T:
        """The answer of a method of the SDK to its request, filled in with these fields.

        It is sent once. A field that is None gets the SDK's default. Raises `Failure`, whose text
        has no secrets.
        """
        for name, value in fields.items():
            setattr(request, name, value)  # the SDK refuses a name or a type that it does not know
        method = type(request).__name__.removeprefix("Api").removesuffix("Request")
        self._adapter.last.response = None
        try:
            answer = call(request)
            response = self._adapter.last.response
            if response is not None and hasattr(answer, "_fields"):
                check(answer, response.json())
            return answer
        except CALL_ERRORS as error:
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


def _secrets_of(services: Any) -> list[str]:
    own = [services.api_token]
    if services.password:
        basic = f"{services.username}:{services.password}"
        own += [services.password, base64.b64encode(basic.encode()).decode()]  # as in the header
    return [secret for secret in own if secret]


class StoreSession(requests.Session):
    """For signed links, which need no credentials: none are sent to their hosts.

    Credentials in ~/.netrc are not sent either; the environment's proxies and certificates apply.
    It sets no time limit: whoever sends a request gives one.
    """

    def __init__(self, connections: int = 1) -> None:
        super().__init__()
        self.auth = lambda request: request
        for scheme in ("https://", "http://"):
            self.mount(scheme, HTTPAdapter(pool_connections=connections, pool_maxsize=connections))

    def rebuild_auth(self, prepared_request: Any, response: Any) -> None:
        """Do not send credentials after a redirect either."""
        prepared_request.headers.pop("Authorization", None)

"""The routes: which request reaches which part of the local Kaggle, and who asks."""

import asyncio
import base64
import errno
import hmac
import logging
import re
import sqlite3
from contextlib import suppress
from functools import partial

from kagglesdk.security.types.oauth_service import IntrospectTokenRequest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

# Some are only imported because `METHODS` then has their functions.
from local_kaggle import topics  # noqa: F401
from local_kaggle.competitions import competitions  # noqa: F401
from local_kaggle.errors import LocalKaggleError
from local_kaggle.fault_responses import answered, as_json
from local_kaggle.files import changes, datasets, models, storage  # noqa: F401
from local_kaggle.kernels import kernels, outputs, saving  # noqa: F401
from local_kaggle.state import ServerState
from local_kaggle.wire import METHODS, Json, Message, Method, decode, key, not_rehearsed

LONGEST, LONGEST_ANONYMOUS = 100_000_000, 100_000  # bytes of a request's body
BODY_SECONDS = 300.0  # for it to arrive
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG)
UNWRITABLE_DATABASE = ("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR")
HOSTS = ("127.0.0.1", "localhost", "[::1]")

log = logging.getLogger(__name__)


def build_app(state: ServerState) -> ASGIApp:
    """The whole application over one server's state."""
    log = partial(answered, state, "LogStream", _log)
    download = partial(answered, state, "Download", storage.download)
    stream = "/api/v1/kernels.KernelsApiService/GetKernelSessionLogsStream"
    routes = [
        Route("/api/v1/kernels/logs/stream/{owner}/{slug}", log),
        Route(stream, log, methods=["POST"]),
        Route("/api/v1/{service}/{method}", partial(call, state), methods=["POST"]),
        Route("/storage/{token}/{name}", download),
        Route("/upload/{token}", partial(storage.upload, state), methods=["PUT"]),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={
            HTTPException: as_json,
            LocalKaggleError: _in_one_line,
            OSError: _cannot_write,
            sqlite3.OperationalError: _cannot_write,
        },
    )
    return _for_this_machine(app)


async def call(state: ServerState, request: Request) -> Response:
    """`POST /api/v1/<service>/<Method>` for all services."""
    name = "{service}/{method}".format(**request.path_params)
    method = METHODS.get(key(name))
    # Before the body is read: nobody else's is kept in memory.
    anonymous = method is None or method.anonymous
    user = _user_of(state, request, anonymous=anonymous)
    body = await _body(request, LONGEST if user else LONGEST_ANONYMOUS)

    async def answer(state: ServerState, _request: Request) -> Response:
        if method is None:
            raise not_rehearsed(name)
        return await run_in_threadpool(_carry_out, state.seen_by(user), method, body)

    return await answered(state, request.path_params["method"], answer, request)


async def _log(state: ServerState, request: Request) -> Response:
    return await outputs.log(state.seen_by(_user_of(state, request)), request)


async def _body(request: Request, most: int) -> bytes:
    """The whole body of a request; raises HTTPException 413 or 408 if it does not end."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise HTTPException(413, f"The request has more than {most} bytes")
    except TimeoutError:
        raise HTTPException(408, "The request did not arrive completely in time") from None
    return bytes(body)


def _carry_out(state: ServerState, method: Method, body: bytes) -> Response:
    try:
        answer = method.answer(state, decode(method.request, body))
    except (HTTPException, LocalKaggleError):
        raise
    except Exception as error:
        if _is_of_the_disk(error):
            raise
        log.exception("%s failed", method.answer.__name__)
        raise HTTPException(500, f"the local Kaggle failed: {error!r}") from error
    if isinstance(answer, Response):
        return answer
    return JSONResponse({name: value for name, value in answer.items() if value is not None})


def _is_of_the_disk(error: Exception) -> bool:
    """Whether an error means that the local Kaggle's folder cannot be written."""
    if isinstance(error, sqlite3.OperationalError):
        return getattr(error, "sqlite_errorname", "") in UNWRITABLE_DATABASE
    return isinstance(error, OSError) and error.errno in UNWRITABLE


def _cannot_write(request: Request, error: Exception) -> Response:
    if not _is_of_the_disk(error):
        raise error
    text = f"cannot write ({error}): free some space, or choose another root"
    log.error("%s", text)
    return _in_one_line(request, LocalKaggleError(text))


def _in_one_line(request: Request, error: Exception) -> Response:
    return as_json(request, HTTPException(400, f"rehearsal: {error}"))


def _for_this_machine(app: ASGIApp) -> ASGIApp:
    """Refuse requests from web pages, whatever host name they use, and show `app`
    the path of requests that come as to a proxy.

    The genuine client is led here by `http_proxy`, so it writes `POST http://localhost/api/…`.
    """

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if (
            re.sub(r":\d+$", "", headers.get("host", "localhost")) not in HOSTS
            or "origin" in headers
        ):
            answer = {"code": 403, "message": "The local Kaggle serves only this machine"}
            await JSONResponse(answer, 403)(scope, receive, send)
            return
        path = re.sub("^http://[^/]*", "", scope["path"])
        await app({**scope, "path": path}, receive, send)

    return guarded


def _user_of(state: ServerState, request: Request, *, anonymous: bool = False) -> str:
    """The user in the Authorization header; "" if there is none and `anonymous` is allowed.

    Raises HTTPException 401.
    """
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if anonymous and not scheme:
        return ""
    user = None
    if scheme.lower() == "bearer":
        user = _of_token(state, credentials)
    elif scheme.lower() == "basic":
        with suppress(ValueError):  # neither Base64 nor UTF-8
            name, _, secret = base64.b64decode(credentials).decode().partition(":")
            if _same(state.accounts.get(name) or "", secret):
                user = name
    if not user:
        raise HTTPException(401, "Unauthorized access")
    return user


def _introspect(state: ServerState, request: Message) -> Json:
    """A token's user, or that the token is inactive."""
    user = _of_token(state, request.token)
    return {"active": True, "username": user} if user else {}


METHODS[key("security.OAuthService/IntrospectToken")] = Method(
    IntrospectTokenRequest, _introspect, anonymous=True
)
# Who asks: kagglehub checks credentials by it, and the SDK has no messages of it.
METHODS[key("api.v1.DiagnosticsService/Hello")] = Method(
    IntrospectTokenRequest, lambda state, _: {"userName": state.user}, anonymous=False
)


def _of_token(state: ServerState, token: str) -> str | None:
    return next((user for secret, user in state.tokens.items() if _same(secret, token)), None)


def _same(secret: str, proof: str) -> bool:
    return bool(secret) and hmac.compare_digest(secret.encode(), proof.encode())

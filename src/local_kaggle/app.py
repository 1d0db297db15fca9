"""The routes: which request reaches which part of the local Kaggle."""

from __future__ import annotations

import json
import logging
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from local_kaggle.faults.fault_responses import afterwards, instead, showing
from local_kaggle.services.accounts import Accounts
from local_kaggle.services.blobs import Blobs
from local_kaggle.services.competitions import Competitions
from local_kaggle.services.datasets import Datasets
from local_kaggle.services.kernels import Kernels
from local_kaggle.services.leaderboards import Leaderboards
from local_kaggle.services.listings import Listings
from local_kaggle.services.outputs import OutputService
from local_kaggle.services.pushes import Pushes
from local_kaggle.services.quota import QuotaService
from local_kaggle.services.storage import Storage
from local_kaggle.services.streaming import LogStream
from local_kaggle.services.wire import ApiError, Method, Redirect, decode, encode
from local_kaggle.state import ServerState

log = logging.getLogger(__name__)


class Api:
    """`POST /api/v1/<service>/<Method>` for all services."""

    def __init__(self, state: ServerState, accounts: Accounts, methods: dict[str, Method]) -> None:
        self._state = state
        self._accounts = accounts
        self._methods = methods

    async def call(self, request: Request) -> Response:
        """Answer one call, or show the fault that the schedule has for it."""
        name = request.path_params["method"]
        fault = self._state.faults.next(name)
        body = await request.body()
        broken = await instead(fault, request.scope, self._state)
        if broken is not None:
            return broken
        with showing(fault):
            full = f"{request.path_params['service']}/{name}"
            authorization = request.headers.get("authorization")
            response = await run_in_threadpool(self._answer, full, authorization, body)
        return afterwards(fault, request.scope, response)

    def _answer(self, name: str, authorization: str | None, body: bytes) -> Response:
        try:
            method = self._methods.get(name)
            if method is None:
                raise ApiError(501, f"{name} is not rehearsed by the local Kaggle")
            user = "" if method.anonymous else self._accounts.user(authorization)
            answer = method.answer(decode(method.request, body), user)
        except ApiError as error:
            return error_response(error)
        except Exception as error:
            log.exception("%s failed", name)
            return error_response(ApiError(500, f"the local Kaggle failed: {error!r}"))
        if isinstance(answer, Redirect):
            return RedirectResponse(answer.url, 302)
        return JSONResponse(encode(answer))


class OriginForm:
    """Lets the application see the path of requests that come as to a proxy.

    The genuine client is led here by `http_proxy`, so it writes `POST http://localhost/api/…`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("http://"):
            raw = urlsplit(scope.get("raw_path", b"").decode("latin-1")).path
            path = scope["path"].removeprefix("http://").partition("/")[2]
            scope = {**scope, "path": f"/{path}", "raw_path": raw.encode("latin-1")}
        await self._app(scope, receive, send)


def error_response(error: ApiError) -> Response:
    """An error as Kaggle's servers write it."""
    return JSONResponse({"code": error.status, "message": error.message}, error.status)


def build_app(state: ServerState) -> ASGIApp:
    """The whole application over one server's state."""
    accounts = Accounts(state)
    kernels = Kernels(state)
    outputs = OutputService(state, kernels)
    blobs = Blobs(state)
    datasets = Datasets(state, blobs)
    quota = QuotaService(state)
    pushes = Pushes(state, quota, datasets)
    competitions = Competitions(state, blobs, kernels, outputs)
    leaderboards = Leaderboards(state, competitions)
    listings = Listings(state, datasets)
    methods: dict[str, Method] = {}
    services = (
        accounts,
        kernels,
        outputs,
        blobs,
        datasets,
        quota,
        pushes,
        competitions,
        leaderboards,
        listings,
    )
    for service in services:
        methods |= service.methods()
    api = Api(state, accounts, methods)
    stream = LogStream(state, accounts, kernels)
    storage = Storage(state, outputs, blobs, datasets)
    streamed = "/api/v1/kernels.KernelsApiService/GetKernelSessionLogsStream"
    routes = [
        Route("/api/v1/kernels/logs/stream/{owner}/{slug}", stream.get, methods=["GET"]),
        Route(streamed, stream.post, methods=["POST"]),
        Route("/api/v1/{service}/{method}", api.call, methods=["POST"]),
        Route("/storage/{area}/{key}/{name:path}", storage.download, methods=["GET"]),
        Route("/storage/{area}/{key}", storage.download, methods=["GET"]),
        Route("/upload/{token}", storage.upload, methods=["PUT"]),
    ]
    return OriginForm(Starlette(routes=routes, exception_handlers={404: _not_found}))


async def _not_found(request: Request, _error: Exception) -> Response:
    message = {"code": 404, "message": f"Nothing at {json.dumps(request.url.path)}"}
    return JSONResponse(message, 404)

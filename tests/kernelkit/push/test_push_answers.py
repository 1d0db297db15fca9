"""Whatever Kaggle answers once it has saved a push, the same command again is the same push."""

import contextlib
import sqlite3

import pytest
from starlette.responses import HTMLResponse, JSONResponse, Response

from kernelkit.errors import KernelkitError
from kernelkit.push.known.ledger import Ledger, State
from local_kaggle import app

pytestmark = pytest.mark.usefixtures("quick_sessions")

ANSWERS = {
    "a page": lambda body: HTMLResponse("<!DOCTYPE html><html><title>Kaggle</title></html>"),
    "half of the JSON": lambda body: Response(
        body[: len(body) // 2], media_type="application/json"
    ),
    "empty JSON": lambda body: JSONResponse({}),
    "nothing": lambda body: Response(b"", media_type="application/json"),
    "401": lambda body: JSONResponse({"code": 401, "message": "Unauthenticated"}, 401),
    "403": lambda body: JSONResponse({"code": 403, "message": "Permission denied"}, 403),
    "404": lambda body: JSONResponse({"code": 404, "message": "Not found"}, 404),
}


@pytest.fixture
def answers_wrongly(monkeypatch):
    """Replaces three answers of a method, from the save of a kernel on, in a block."""

    @contextlib.contextmanager
    def answers_wrongly(method, wrong):
        answered = app.answered
        saved = False
        left = 3

        async def instead(state, asked, answer, request):
            nonlocal saved, left
            response = await answered(state, asked, answer, request)
            saved = saved or asked == "SaveKernel"
            if saved and left and asked == method:
                left -= 1
                return wrong(response.body)
            return response

        with monkeypatch.context() as patch:
            patch.setattr(app, "answered", instead)
            yield
            assert left < 3

    return answers_wrongly


def cases():
    """Each method with each answer; all but two are long."""
    for method in ("SaveKernel", "GetKernel", "GetKernelSessionStatus"):
        for wrong in ANSWERS:
            is_short = wrong == "404" and method != "GetKernel"
            yield pytest.param(method, wrong, marks=[] if is_short else pytest.mark.long)


@pytest.mark.parametrize(("method", "wrong"), list(cases()))
def test_a_wrong_answer_after_the_save_and_the_same_command_make_one_session(
    serve, repository, answers_wrongly, method, wrong
):
    server = serve()
    with answers_wrongly(method, ANSWERS[wrong]), contextlib.suppress(KernelkitError):
        repository.push("files=1")
    try:
        repository.push("files=1")
    except KernelkitError as error:
        assert "identical to" in str(error)  # the first command had brought everything
    with contextlib.closing(sqlite3.connect(server.root / "kaggle.sqlite")) as store:
        assert store.execute("SELECT count(*) FROM sessions").fetchone()[0] == 1
    (pushed,) = [push for push in repository.pushes() if push.version]
    assert (pushed.version, pushed.state) == (1, "complete")
    repository.assert_whole(repository.runs / "rehearsal-blossom-train-v1", 1)


def test_a_push_that_kaggle_saved_and_refused_is_found_behind_another_that_failed(
    serve, repository
):
    server = serve()
    repository.push("files=1")
    (push,) = repository.pushes()
    book = Ledger(repository.runs, rehearsal=True)
    refused = book.update(push, version=None, state=State.REFUSED)
    book.begin(refused)
    repository.push("files=1")
    assert server.faults.calls["SaveKernel"] == 1

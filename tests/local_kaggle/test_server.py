import contextlib
import os
import socket
import threading

import psutil
import pytest
import requests
from kagglesdk.kernels.types import kernels_api_service as types
from starlette.responses import PlainTextResponse

from local_kaggle import LocalKaggle, LocalKaggleError, ServerLimits, serving
from local_kaggle.execution.running import SessionPlan
from local_kaggle.server import UNSET_FOR_CLIENT

from .conftest import Desk


def test_the_sdk_is_attached_and_let_go_again(context, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with context.kaggle.attach():
        from kaggle.api.kaggle_api_extended import KaggleApi

        api = KaggleApi()
        api.authenticate()
        assert api.quota_view().gpu_quota.total_time_allowed.total_seconds() == 30 * 3600
    from kagglesdk import kaggle_env

    assert kaggle_env._env_to_endpoint[kaggle_env.KaggleEnv.LOCAL] == "http://localhost"
    assert KaggleApi.args == []


def test_a_clients_environment_leads_nowhere_else(context):
    base = dict.fromkeys(UNSET_FOR_CLIENT, "astray") | {"PATH": "/bin", "HOME": "/root"}
    environment = context.kaggle.client_environment(base)
    assert "astray" not in environment.values()
    assert environment["http_proxy"] == context.kaggle.url
    assert environment["KAGGLE_API_ENVIRONMENT"] == "LOCALHOST"
    assert environment["HOME"].startswith(str(context.folder))
    assert environment["PATH"] == "/bin"


def test_stopping_kills_what_runs_and_a_later_server_remembers(tmp_path):
    limits = ServerLimits(lag_seconds=0)
    with LocalKaggle(tmp_path, limits=limits) as first:
        desk = Desk(first, tmp_path)
        desk.save("long-one", "import time; time.sleep(60)")
        desk.wait_for(scripts)
        request = types.ApiSaveKernelRequest()
        request.kernel_type, request.language, request.text = "script", "python", "while True: 1"
        plan = SessionPlan(tmp_path, request, (), "cpu", "cpu", limits, rerun=True)
        first.sessions.rerun(8, plan, "submission.csv")
        desk.wait_for((tmp_path / "reruns/8/log.jsonl").exists)
    assert not scripts()
    (tmp_path / "reruns" / "7").mkdir()  # a rerun that was cut off with its server
    with LocalKaggle(tmp_path, limits=limits) as second:
        assert second.key() == first.accounts["tester"]
        assert Desk(second, tmp_path).status("long-one", 1) == "ERROR"
        assert "local Kaggle was stopped" in Desk(second, tmp_path).failure("long-one")
    for rerun in map(second.rerun, (7, 8)):
        assert (rerun.message, rerun.state) == ("Kaggle Error", "ERROR")
        assert "was stopped" in rerun.why


def scripts():
    """The processes of this one that run a kernel's script."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end meanwhile
            found += [process] * ("script.py" in " ".join(process.cmdline()))
    return found


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(LocalKaggleError, match="choose another"):
            LocalKaggle(tmp_path, port=other.getsockname()[1]).start()


def test_a_root_whose_database_is_broken_is_an_error_of_one_line(tmp_path):
    (tmp_path / "kaggle.sqlite").write_text("no database" * 100)
    with pytest.raises(LocalKaggleError, match="not a database"):
        LocalKaggle(tmp_path).start()


@pytest.mark.parametrize("name", [".gitignore", "archives/mine.zip", "image/logo.png"])
def test_a_folder_that_holds_other_files_is_no_root(tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine")
    with pytest.raises(LocalKaggleError, match=r"choose a folder of its own, such as .*\.kaggle"):
        LocalKaggle(tmp_path).start()
    assert file.read_text() == "mine"


def test_there_is_no_key_before_it_serves_nor_for_an_unknown_user(context, tmp_path):
    with pytest.raises(LocalKaggleError, match="start it first"):
        LocalKaggle(tmp_path).environment()
    with pytest.raises(LocalKaggleError, match="no user"):
        context.kaggle.key("nobody")


def test_two_servers_do_not_share_a_root(context):
    with pytest.raises(
        LocalKaggleError, match=rf"\(pid {os.getpid()}\) is using .*environment\.sh"
    ):
        LocalKaggle(context.kaggle.root).start()


def test_a_server_that_another_thread_stopped_leaves_its_root_to_the_next(tmp_path):
    first = LocalKaggle(tmp_path).start()
    stopper = threading.Thread(target=first.stop)
    stopper.start()
    stopper.join()
    LocalKaggle(tmp_path).start().stop()


def test_an_answer_is_not_held_back_until_its_first_part_is_acknowledged():
    async def tell(scope, receive, send):
        connection = scope[serving.TRANSPORT].get_extra_info("socket")
        at_once = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        await PlainTextResponse(str(bool(at_once)))(scope, receive, send)

    with socket.create_server(("127.0.0.1", 0)) as listener, serving.served(tell, listener):
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert requests.get(url, timeout=60).text == "True"

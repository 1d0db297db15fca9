"""A competition's gateway asks a notebook's server, each in a sandbox of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkouts import ROOT

from local_kaggle.competitions import competitions
from local_kaggle.execution import asking, gateways, walls

pytest.importorskip("grpc")
pytest.importorskip("google.protobuf")
EVALUATION = ROOT / "examples/tides/rehearsal/kaggle_evaluation"
# As the example's gateway, over plain values: Polars is not among what these tests need.
GATEWAY = """
import os, sys
from pathlib import Path
from kaggle_evaluation.core import gateway, relay

relay.START_SECONDS = 3.0

class SumsGateway(gateway.Gateway):
    def __init__(self, folder):
        super().__init__(folder)
        self.client.answer_seconds = 2.0

    def batches(self):
        lines = (self.folder / "test.csv").read_text().split()[1:]
        note = self.share(self.folder / "test.csv") if gateway.RERUN in os.environ else "none"
        for n in range(0, len(lines), 2):
            rows = [line.split(",") for line in lines[n : n + 2]]
            yield ([int(x) for _, x in rows], str(note)), [i for i, _ in rows]

    def write(self, ids, predictions):
        lines = [f"{i},{y}" for of, ys in zip(ids, predictions) for i, y in zip(of, ys)]
        Path("submission.csv").write_text("\\n".join(["id,y", *lines]))

if __name__ == "__main__" and gateway.RERUN in os.environ:
    print("the gateway's own words")
    os.mkfifo("/kaggle/shared/pipe")
    os.symlink("/etc/passwd", "/kaggle/shared/link")
    os.close(os.open("/kaggle/shared/program", os.O_CREAT))
    os.chmod("/kaggle/shared/program", 0o4755)
    SumsGateway(Path(__file__).parent.parent).run()
"""
NOTEBOOK = """
import os, socket, time
from kaggle_evaluation.core import gateway
from kaggle_evaluation.sums_gateway import SumsGateway

FILES = os.environ["KERNELKIT_INPUT_ROOT"] + "/competitions/sums"
HIDDEN = "KAGGLE_IS_COMPETITION_RERUN" in os.environ
assert len(open(FILES + "/test.csv").readlines()) == 5, "this notebook sees the hidden rows"

class Server(gateway.InferenceServer):
    gateway = SumsGateway

{predict}
server = Server(predict)
if HIDDEN:
    {serve}
else:
    server.run_local_gateway(FILES)
"""
PREDICT = """
def predict(numbers, shared):
    if HIDDEN:
        assert open(shared).read().startswith("id,x")
        try:
            open(shared, "w")
        except OSError:
            pass
        else:
            raise AssertionError("shared files can be written")
    return [x + 1 for x in numbers]
"""


def rows(column, values):
    return "\n".join([f"id,{column}", *(f"r{n},{value}" for n, value in values.items())])


@pytest.fixture(scope="module")
def sums(context):
    package = context.kaggle.catalogue / "competitions/sums/kaggle_evaluation"
    shutil.copytree(EVALUATION, package)
    (package / "tides_gateway.py").unlink()
    (package / "sums_gateway.py").write_text(GATEWAY)
    public, hidden = range(4), range(10, 20)
    texts = {
        "competitions/sums/test.csv": rows("x", {n: n for n in public}),
        "hidden/sums/test.csv": rows("x", {n: n for n in hidden}),
        "solutions/sums.toml": 'metric = "rmse"',
        "solutions/sums.csv": rows("y", {n: n + 1 for n in public}),
        "solutions/sums.hidden.csv": rows("y", {n: n + 1 for n in hidden}),
    }
    context.put(texts)
    return context


@pytest.fixture
def rerun(sums, request):
    def rerun(predict=PREDICT, serve="server.serve()"):
        slug = re.sub("[^a-z]+", "-", request.node.name.partition("[")[2]) + "sums"
        text = NOTEBOOK.format(predict=predict, serve=serve)
        sums.save(slug, text, competitionDataSources=["sums"], enableInternet=False)
        assert sums.finish(slug) == "COMPLETE", sums.log(slug)
        version = {"kernelOwner": "tester", "kernelSlug": slug, "kernelVersion": 1}
        ref = sums.call("CreateCodeSubmission", competitionName="sums", **version)["ref"]
        sums.wait_for(lambda: sums.kaggle.rerun(ref))
        return sums.kaggle.rerun(ref), sums.call("GetSubmission", ref=ref)

    return rerun


@pytest.mark.parametrize("builder", ["bubblewrap", "unshare"])
def test_a_server_is_asked_about_hidden_rows_that_its_notebook_never_sees(
    rerun, monkeypatch, builder
):
    if not walls.builder() or (builder == "bubblewrap" and not shutil.which("bwrap")):
        pytest.skip(f"{builder} builds no walls here: apt-get install bubblewrap, as root")
    monkeypatch.setattr(walls, "builder", lambda: builder)
    truth, submission = rerun()
    assert (truth.message, truth.why) == ("", "")
    assert float(submission["publicScore"]) == 0.0
    assert "own words" in Path(truth.folder, "gateway/gateway.log").read_text()
    shared = Path(truth.folder, "gateway/shared")
    assert not (shared / "pipe").exists()
    assert not (shared / "link").is_symlink()
    assert (shared / "program").stat().st_mode & 0o7777 == 0o755


SERVER_ERROR = "Notebook Inference Server Error"


@pytest.mark.parametrize(
    ("replaced", "message", "why"),
    [
        ({"serve": "pass"}, "Notebook Inference Server Never Started", "serve() has to block"),
        pytest.param(
            {"predict": PREDICT + "if HIDDEN: time.sleep(30)"},
            "Notebook Inference Server Never Started",
            "SERVER_NEVER_STARTED",
            marks=pytest.mark.long,
        ),
        (
            {"predict": "def predict(numbers, _): return numbers[: 1 + (not HIDDEN)]"},
            "Submission Format Error",
            "expected 2 rows, not 1 (after call 1, predict())",
        ),
        (
            {"predict": "def predict(numbers, _): return [[0, 0, 0][numbers[0]]] * 2"},
            SERVER_ERROR,
            "SERVER_RAISED_EXCEPTION: call 1, predict(): list index",
        ),
        (
            {"predict": "def predict(x, _):\n    if x[0] > 10: os._exit(0)\n    return x"},
            SERVER_ERROR,
            "SERVER_CONNECTION_FAILED: call 2, predict(): ",
        ),
        (
            {"predict": "def predict(x, _): time.sleep(5 * HIDDEN * (x[0] > 10)); return x"},
            SERVER_ERROR,
            "GRPC_DEADLINE_EXCEEDED: call 2, predict() had no answer after 2 seconds, and the host",
        ),
        ({"serve": "raise ValueError('no model')"}, "Notebook Threw Exception", ""),
    ],
    ids=[
        "it ends",
        "it starts too late",
        "a row too few",
        "it raises",
        "it ends while it serves",
        "too slow",
        "it fails",
    ],
)
def test_what_kaggle_would_say_and_what_it_would_not(rerun, replaced, message, why):
    truth, submission = rerun(**replaced)
    assert truth.message == submission["errorDescription"] == message
    assert why in truth.why
    if "RAISED" in why:
        assert "IndexError: list index" in Path(truth.folder, "log.jsonl").read_text()


# As hosts of 2024 and 2025 wrote them: a class, which nothing runs.
CLASS_ALONE = GATEWAY.partition('if __name__ == "__main__"')[0].replace(
    "def __init__(self, folder):", "def __init__(self, folder=Path(__file__).parents[1]):"
)


@pytest.mark.parametrize("place", ["sums_gateway.py", "sums_134815/sums_gateway.py"])
def test_a_gateway_that_does_not_begin_by_itself_is_begun_wherever_it_lies(
    sums, rerun, monkeypatch, place
):
    package = sums.kaggle.catalogue / "competitions/sums/kaggle_evaluation"
    before = {path.name: path.read_text() for path in package.glob("sums_gateway.py")}
    (package / "sums_gateway.py").unlink()
    (package / place).parent.mkdir(exist_ok=True)
    parents = 1 + place.count("/")
    (package / place).write_text(CLASS_ALONE.replace("parents[1]", f"parents[{parents}]"))
    module = f"kaggle_evaluation.{place[:-3].replace('/', '.')}"
    text = NOTEBOOK.replace("kaggle_evaluation.sums_gateway", module)
    monkeypatch.setattr(sys.modules[__name__], "NOTEBOOK", text)
    try:
        truth, submission = rerun()
        assert (truth.message, truth.why) == ("", "")
        assert float(submission["publicScore"]) == 0.0
    finally:
        (package / place).unlink()
        for name, content in before.items():
            (package / name).write_text(content)


def test_a_notebook_that_waits_for_a_gateway_that_is_not_there_is_refused_at_once(sums):
    sums.put({"competitions/alone/a.csv": "a", "hidden/alone/a.csv": "a"})
    code = "open('submission.csv', 'w')\nif 0:\n    import kaggle_evaluation.core.templates"
    sums.save("waits-in-vain", code, competitionDataSources=["alone"], enableInternet=False)
    assert sums.finish("waits-in-vain") == "COMPLETE"
    version = {"kernelOwner": "tester", "kernelSlug": "waits-in-vain", "kernelVersion": 1}
    answer = sums.post("CreateCodeSubmission", competitionName="alone", **version)
    assert answer.status_code == 400
    assert "no gateway is among the files of alone" in answer.json()["message"]


@pytest.mark.parametrize(
    ("code", "waits"),
    [
        ("import kaggle_evaluation.sums_inference_server as sums", True),
        ("if 1:\n    from kaggle_evaluation import core", True),
        ("MODULE = 'x = 1\\nimport kaggle_evaluation.core'", True),
        ("# import kaggle_evaluation: not in this one", False),
        ("print('we import kaggle_evaluation elsewhere')", False),
        ("import kaggle_evaluation_of_mine", False),
    ],
)
def test_only_code_that_imports_a_gateways_package_waits_for_one(code, waits):
    words = {"cell_type": "markdown", "source": ["import kaggle_evaluation\n"]}
    lines = code.splitlines(keepends=True)
    cells = [words, {"cell_type": "code", "source": lines}]
    assert gateways.waits_for_one(code) is waits
    assert gateways.waits_for_one(json.dumps({"cells": cells})) is waits


# What `asking` meets in a host's package: several servers, each of a name of its own.
RELAY = """
GRPC_PORTS = [50051, 60053]

class Client:
    endpoint_deadline_seconds = 7

    def __init__(self, channel_address="localhost", port=None):
        self.place = channel_address, port

    def send(self, name, *values):
        if name == "fails":
            raise RuntimeError("no answer")
        return self.place
"""
GAME = """
import json
from kaggle_evaluation.core import relay

class BaseGateway:
    def run(self):
        places = [relay.Client(f"inference_server_{name}", 50061).send("turn") for name in "ab"]
        try:
            relay.Client("inference_server", 50051).send("fails")
        except RuntimeError:
            json.dump(places, open("result.json", "w"))

class GamesGateway(BaseGateway):
    pass
"""


def test_all_servers_of_a_gateway_are_the_one_notebook_and_a_failed_call_is_noted(tmp_path):
    package = tmp_path / "kaggle_evaluation"
    (package / "core").mkdir(parents=True)
    (package / "core/relay.py").write_text(RELAY)
    (package / "games_gateway.py").write_text(GAME)
    command = [sys.executable, asking.__file__, "kaggle_evaluation.games_gateway"]
    subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, check=True)
    places = json.loads((tmp_path / "result.json").read_text())
    assert places == [["inference_server", 50051]] * 2
    call = json.loads((tmp_path / "call.json").read_text())
    assert (call["name"], call["number"], call["limit"]) == ("fails", 3, 7)
    assert "answered" not in call


@pytest.mark.parametrize(
    ("files", "module"),
    [
        (["core/base_gateway.py", "mcts_gateway.py"], "kaggle_evaluation.mcts_gateway"),
        (
            ["core/base_gateway.py", "jed_134815/jed_gateway.py"],
            "kaggle_evaluation.jed_134815.jed_gateway",
        ),
        (["core/base_gateway.py"], None),
    ],
)
def test_a_gateway_is_found_in_every_years_layout(tmp_path, files, module):
    for name in files:
        path = tmp_path / "kaggle_evaluation" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    found = gateways.find("a", tmp_path / "hidden", tmp_path)
    assert (found.module if found else None) == module


def test_what_a_gateway_says_is_told_in_a_line(tmp_path):
    working = tmp_path / "working"
    working.mkdir()
    dump = (
        "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNKNOWN\n"
        '\tdetails = "Exception calling application: no\nmodel"\n\tdebug_error_string = "no\nx"\n>'
    )
    late = dump.replace("UNKNOWN", "DEADLINE_EXCEEDED")
    call = {"name": "predict", "number": 3, "seconds": 600.2, "limit": 600}
    (working / "call.json").write_text(json.dumps(call))
    for name, details, expected in (
        ("SERVER_RAISED_EXCEPTION", dump, "call 3, predict(): no model"),
        ("SERVER_RAISED_EXCEPTION", "", "call 3, predict()"),
        (
            "SERVER_CONNECTION_FAILED",
            late,
            "DEADLINE_EXCEEDED: call 3, predict() had no answer after 600 seconds, and the host "
            "allows 600",
        ),
        ("SERVER_NEVER_STARTED", None, "no server answered call 3, predict()"),
        ("SERVER_MISSING_ENDPOINT", "no listener for predict", "no listener for predict"),
        ("INVALID_SUBMISSION", "a row\ttoo few", "a row too few (after call 3, predict())"),
        (
            "GATEWAY_RAISED_EXCEPTION",
            "Traceback (most\n  File\nKeyError: 'id'\n",
            "KeyError: 'id' (after call 3, predict())",
        ),
    ):
        result = {"Succeeded": False, "ErrorName": name, "ErrorDetails": details}
        (working / "result.json").write_text(json.dumps(result))
        _, why = gateways.verdict(tmp_path)
        assert why == f"{name}: {expected}"


def test_a_gateway_that_ends_without_a_result_is_quoted(tmp_path):
    (tmp_path / "gateway.log").write_text("ModuleNotFoundError: No module named 'aicomp_sdk'\n")
    message, why = gateways.verdict(tmp_path)
    assert message == "Kaggle Error"
    assert why.endswith("(gateway.log): ModuleNotFoundError: No module named 'aicomp_sdk'")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ({"name": "predict", "number": 1}, "SERVER_NEVER_STARTED: it ended"),
        (
            {"name": "predict", "number": 1, "seconds": 1.0, "answered": True},
            "SERVER_CONNECTION_FAILED: call 1, predict(): the notebook ended",
        ),
        (
            {"name": "predict", "number": 2},
            "SERVER_CONNECTION_FAILED: call 2, predict(): the notebook ended",
        ),
    ],
)
def test_a_notebook_that_ends_while_it_serves_did_serve(tmp_path, call, reason):
    (tmp_path / "working").mkdir()
    (tmp_path / "working/call.json").write_text(json.dumps(call))
    ended = {"Succeeded": False, "ErrorName": "SERVER_NEVER_STARTED", "ErrorDetails": "it ended"}
    (tmp_path / "verdict.json").write_text(json.dumps(ended))
    assert gateways.verdict(tmp_path)[1] == reason


def test_a_reason_of_any_length_is_a_short_line(tmp_path):
    (tmp_path / "working").mkdir()
    result = {"Succeeded": False, "ErrorName": "INVALID_SUBMISSION", "ErrorDetails": "a\n" * 4000}
    (tmp_path / "working/result.json").write_text(json.dumps(result))
    _, why = gateways.verdict(tmp_path)
    assert "\n" not in why
    assert len(why) < 500


def test_what_a_gateway_leaves_instead_of_a_file_is_not_read(tmp_path):
    working = tmp_path / "gateway/working"
    working.mkdir(parents=True)
    secret = tmp_path / "of-the-desk.json"
    secret.write_text(json.dumps({"name": "secret", "number": 1, "began": 0.0}))
    for name in ("call.json", "result.json"):
        file = working / name
        file.symlink_to(secret)
        assert gateways.waiting(tmp_path / "gateway") == ""
        file.unlink()
        os.mkfifo(file)
        assert gateways.waiting(tmp_path / "gateway") == ""
        file.unlink()
        with file.open("wb") as opened:
            opened.truncate(10**12)
        assert gateways.waiting(tmp_path / "gateway") == ""
    with (tmp_path / "gateway/gateway.log").open("wb") as log:
        log.truncate(10**12)
        log.seek(10**12)
        log.write(b"\nthe last words\n")
    assert gateways.verdict(tmp_path / "gateway")[1].endswith("the last words")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"name": "predict", "number": 1, "began": 1000.0}, "75 seconds for the answer to call 1"),
        ({"name": "predict", "number": 1, "began": 1050.0}, ""),
        ({"name": "predict", "number": 1, "began": 1000.0, "seconds": 2.0, "answered": True}, ""),
        ({"name": ["predict"], "number": "1", "began": "long ago"}, ""),
        ("no call", ""),
    ],
)
def test_a_call_that_is_waited_for_is_named(tmp_path, monkeypatch, call, expected):
    (tmp_path / "working").mkdir()
    (tmp_path / "working/call.json").write_text(json.dumps(call))
    monkeypatch.setattr(gateways.time, "time", lambda: 1075.0)
    said = gateways.waiting(tmp_path, least=60.0)
    assert expected in said
    assert bool(said) is bool(expected)


@pytest.fixture
def unanswered(sums, monkeypatch):
    """The submission of a notebook that never answers the first call, within so many seconds."""
    monkeypatch.setattr(competitions, "UNANSWERED_SECONDS", 0.0)

    def submit(slug, seconds):
        predict = "def predict(numbers, _):\n    while HIDDEN: time.sleep(0.1)\n    return numbers"
        text = NOTEBOOK.format(predict=predict, serve="server.serve()")
        fields = {"competitionDataSources": ["sums"], "enableInternet": False}
        sums.save(slug, text, sessionTimeoutSeconds=seconds, **fields)
        assert sums.finish(slug) == "COMPLETE", sums.log(slug)
        version = {"kernelOwner": "tester", "kernelSlug": slug, "kernelVersion": 1}
        return sums.call("CreateCodeSubmission", competitionName="sums", **version)["ref"]

    return submit


def test_a_rerun_that_waits_for_an_answer_says_for_which(sums, unanswered):
    ref = unanswered("waits", 600)

    def is_told():
        submission = sums.call("GetSubmission", ref=ref)
        assert submission["status"] == "PENDING"
        return "the answer to call 1, predict()" in submission.get("errorDescription", "")

    sums.wait_for(is_told)


@pytest.mark.long
def test_a_rerun_that_got_no_answer_by_its_limit_says_to_which(sums, unanswered):
    ref = unanswered("hangs", 15)
    sums.wait_for(lambda: sums.kaggle.rerun(ref))
    truth = sums.kaggle.rerun(ref)
    assert truth.message == "Notebook Timeout"
    assert re.search(
        r"past its limit; the gateway has waited \d+ seconds .* predict\(\)", truth.why
    )

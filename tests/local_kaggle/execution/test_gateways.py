"""A competition's gateway asks a notebook's server, each in a sandbox of its own."""

import re
import shutil
from pathlib import Path

import pytest
from checkouts import ROOT

from local_kaggle.execution import walls

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
        pytest.skip(f"{builder} does not work on this machine")
    monkeypatch.setattr(walls, "builder", lambda: builder)
    truth, submission = rerun()
    assert (truth.message, truth.why) == ("", "")
    assert float(submission["publicScore"]) == 0.0
    assert "own words" in Path(truth.folder, "gateway/gateway.log").read_text()


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
            "expected 2 rows, not 1",
        ),
        (
            {"predict": "def predict(numbers, _): return [[0, 0, 0][numbers[0]]] * 2"},
            SERVER_ERROR,
            "SERVER_RAISED_EXCEPTION: list index",
        ),
        (
            {"predict": "def predict(x, _): time.sleep(5 * HIDDEN * (x[0] > 10)); return x"},
            SERVER_ERROR,
            "GRPC_DEADLINE_EXCEEDED",
        ),
        ({"serve": "raise ValueError('no model')"}, "Notebook Threw Exception", ""),
    ],
    ids=["it ends", "it starts too late", "a row too few", "it raises", "too slow", "it fails"],
)
def test_what_kaggle_would_say_and_what_it_would_not(rerun, replaced, message, why):
    truth, submission = rerun(**replaced)
    assert truth.message == submission["errorDescription"] == message
    assert why in truth.why
    if "RAISED" in why:
        assert "IndexError: list index" in Path(truth.folder, "log.jsonl").read_text()

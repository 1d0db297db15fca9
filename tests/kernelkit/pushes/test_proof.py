"""What comes back is shown, fetched and submitted only if it proves to be this push's."""

import hashlib
import http.server
import json
import threading
from dataclasses import replace

import pytest

from kernelkit import errors
from kernelkit.kaggle_api import connection, transfers
from kernelkit.kaggle_api.client import Kaggle, Outputs
from kernelkit.kaggle_api.retries import Failure
from kernelkit.kaggle_api.transfers import Expected
from kernelkit.plans import build
from kernelkit.plans.manifest import MANIFEST
from kernelkit.pushes import proof
from kernelkit.run_folders.log import decode
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle


@pytest.fixture
def kaggle(tmp_path, quick_sessions):
    limits = ServerLimits(lag_seconds=0.3, score_seconds=0.2)
    with LocalKaggle(tmp_path / "kaggle", limits=limits) as server, server.attach():
        yield server


@pytest.fixture
def answers(monkeypatch):
    """Changes what Kaggle answers: `answers("outputs", change)` has `change(kaggle, answer)`."""

    def change(method, change):
        asked = getattr(Kaggle, method)

        def answer(self, *arguments, **options):
            return change(self, asked(self, *arguments, **options), asked)

        monkeypatch.setattr(Kaggle, method, answer)

    return change


def test_each_push_has_a_number_that_all_that_it_leaves_shows(repository, kaggle):
    folder = repository.push("files=2")
    repository.push("files=2", force=True)
    first, second = repository.pushes()
    assert first.number != second.number
    assert first.content == second.content
    pushed = (folder / ".kernelkit" / "pushed.ipynb").read_text()
    assert build.number_of(pushed) == first.number
    log = (folder / ".kernelkit" / "log.json").read_text()
    assert proof.printed(decode(log)) == first.number
    assert json.loads((folder / ".kernelkit" / "manifest.json").read_text())["push"] == first.number
    assert not (folder / MANIFEST).exists()
    assert proof.is_verified(folder, "submission.csv")
    assert "unverified" not in repository.message


def test_an_older_version_in_the_answer_is_not_believed(repository, kaggle, answers):
    repository.push("files=1")
    answers("save", lambda kaggle, saved, _: replace(saved, version=1))
    folder = repository.push("files=2")
    assert repository.pushes()[-1].version == 2
    assert (folder / "deep" / "1.bin").is_file()
    assert "named another version" in repository.message


def test_a_refusal_of_sources_counts_in_an_answer_about_another_version(
    repository, kaggle, answers
):
    repository.push("files=1")
    refused = {"version": 1, "refused_sources": ("dataset me/seeds",)}
    answers("save", lambda kaggle, saved, _: replace(saved, **refused))
    with pytest.raises(errors.RefusedError, match="dataset me/seeds"):
        repository.push("files=2")


def test_a_push_that_lands_under_another_slug_is_followed_there(repository, kaggle):
    repository.push("files=1", ignore=["identity"])
    repository.describe(id="INSERT_USERNAME/blossom-other", title="Blossom train two")
    folder = repository.push("files=2", ignore=["identity"])
    assert repository.pushes()[-1].kernel == "tester/blossom-train-two"
    assert (folder / "deep" / "1.bin").is_file()
    assert '"id": "tester/blossom-train-two"' in repository.message


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(1, id="for a while"),
        pytest.param(10_000, id="for ever", marks=pytest.mark.long),
    ],
)
def test_the_previous_versions_list_is_not_fetched(repository, kaggle, answers, times):
    repository.push("files=1")
    stale = []

    def older(self, outputs, asked):
        stale.append(outputs)
        first = asked(self, repository.pushes()[0].name, 1)
        return first if len(stale) <= times else outputs

    answers("outputs", older)
    if times == 1:
        assert (repository.push("files=2") / "deep" / "1.bin").is_file()
        return
    with pytest.raises(errors.OutputsError, match=r"of another push.*--unverified"):
        repository.push("files=1", force=True)
    folder = repository.runs / "rehearsal-blossom-train-v2"
    assert not (folder / "metrics.json").exists()
    assert not (folder / ".kernelkit" / "log.txt").exists()
    assert repository.pushes()[-1].state == "not fetched"
    with pytest.raises(errors.OutputsError):
        repository.resume("last", submit="older")
    assert (repository.resume("last", unverified=True) / "metrics.json").is_file()
    assert "unverified" in repository.message


def test_a_file_missing_from_the_list_is_named(repository, kaggle, answers):
    def half(self, outputs, _):
        rest = {name: url for name, url in outputs.files.items() if name != "0.bin"}
        return Outputs(rest, outputs.log)

    answers("outputs", half)
    with pytest.raises(errors.OutputsError, match=r"0\.bin: Kaggle does not list it"):
        repository.push("files=2")


def test_links_that_lead_to_another_versions_files_bring_nothing_home(
    repository, kaggle, answers, notebook_code
):
    repository.push("files=1", "fail=False")
    (repository.package / "petals.py").write_text("F1 = 0.25\n")  # metrics of the same length
    mixed = []

    def links(self, outputs, asked):
        older = asked(self, repository.pushes()[0].name, 1).files
        mixed.append(older)
        return Outputs(outputs.files | older | {MANIFEST: outputs.files[MANIFEST]}, outputs.log)

    answers("outputs", links)
    with pytest.raises(errors.OutputsError, match=r"metrics\.json: it is not the file that this"):
        repository.push("files=1")
    assert mixed


def test_what_the_manifest_does_not_name_comes_home_unverified(repository, kaggle, answers):
    def more(self, outputs, _):
        extra = {"__results__.html": outputs.files["0.bin"]}
        return Outputs(outputs.files | extra, outputs.log)

    answers("outputs", more)
    folder = repository.push("files=1")
    assert (folder / "__results__.html").is_file()
    assert "1 files that its manifest does not name or hash" in repository.message


def test_a_version_made_elsewhere_is_fetched_and_not_submitted(
    repository, kaggle, open_competition
):
    open_competition(kaggle)
    repository.describe(competition_sources=["garden"])
    repository.push("files=1")
    (repository.runs / "pushes.jsonl").unlink()
    assert (repository.resume("tester/blossom-train/1") / "0.bin").is_file()
    with pytest.raises(errors.OutputsError, match="not proved to be an output"):
        repository.resume("tester/blossom-train/1", submit="made elsewhere")
    assert "CreateSubmission" not in kaggle.faults.calls


def test_a_session_that_was_killed_proves_nothing_and_says_so(repository, kaggle, notebook_code):
    killed = (
        "import os, pathlib, sys\npathlib.Path('a.bin').touch()\nsys.stdout.flush()\nos._exit(1)"
    )
    repository.cells(notebook_code(killed))
    repository.on_cpu()
    with pytest.raises(errors.RunFailedError):
        repository.push()
    assert "it left no manifest" in repository.message


def test_a_failed_cell_leaves_a_manifest(repository, kaggle):
    with pytest.raises(errors.RunFailedError):
        repository.push("files=1", "fail=True")
    folder = repository.runs / "rehearsal-blossom-train-v1"
    assert proof.is_verified(folder, "0.bin")
    assert "unverified" not in repository.message


def test_a_forced_push_whose_answer_is_lost_is_not_the_one_before(repository, kaggle):
    repository.push("files=1")
    kaggle.faults = FaultSchedule([Fault("SaveKernel", 0, FaultKind.RESET)])
    with pytest.raises(errors.NetworkError):
        repository.push("files=1", force=True)
    kaggle.faults = FaultSchedule()
    repository.resume("last")
    assert [push.version for push in repository.pushes()] == [1, None]
    assert "created no version" in repository.message


def store_sources(repository, kaggle, answers, *sources):
    """Have Kaggle store a push that reads two datasets with these sources."""
    for name in ("a", "b"):
        (kaggle.catalogue / "datasets" / "tester" / f"{name}-data").mkdir(parents=True)
    repository.describe(dataset_sources=["tester/a-data", "tester/b-data"])
    kept = frozenset(sources)
    answers("stored", lambda self, stored, _: stored and replace(stored, sources=kept))


def test_a_source_that_the_stored_version_lacks_is_refused(repository, kaggle, answers):
    store_sources(repository, kaggle, answers, "dataset tester/a-data")
    with pytest.raises(errors.RefusedError, match="dataset tester/b-data"):
        repository.push("files=1")
    assert repository.pushes()[-1].state == "refused"


@pytest.mark.parametrize("kept", [(), ("dataset Tester/a-data", "dataset tester/b-data/2")])
def test_sources_left_out_or_spelled_differently_are_a_note(repository, kaggle, answers, kept):
    store_sources(repository, kaggle, answers, *kept)
    assert repository.push("files=1")
    assert "warning" in repository.message


def test_another_machine_in_the_stored_version_is_refused(repository, kaggle, answers):
    def other(self, stored, _):
        return stored and replace(stored, machine_shape="NvidiaTeslaT4", accelerator="gpu")

    answers("stored", other)
    with pytest.raises(errors.RefusedError, match="not on a TPU"):
        repository.push("files=1")


def test_the_proof_costs_at_most_two_requests(repository, kaggle):
    repository.push("files=3")
    calls = kaggle.faults.calls
    assert calls["GetKernel"] <= 3  # one before the push, one read back, one for the checks
    assert calls["Download"] == 3 + 2 + 1
    assert calls["ListKernelFiles"] == 0


BODY = b"a real file\n"
ODD = {
    "login": (200, {"Content-Type": "text/html"}, b"<form>sign in</form>"),
    "json": (200, {}, b'{"error": {"code": 500}}'),
    "half": (200, {}, BODY[:5]),
    "same-length": (200, {}, b"b" * len(BODY)),
    "gzip": (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b\x08\x00"),
    "endless": (200, {}, BODY * 100_000),
    "moved": (302, {"Location": "/login"}, b""),
}


class Odd(http.server.BaseHTTPRequestHandler):
    """A store that answers with what is not the file."""

    def do_GET(self):
        case = self.path.rpartition("/")[2]
        status, headers, body = ODD.get(case, (int(case) if case.isdigit() else 200, {}, BODY))
        self.server.authorizations.append(self.headers.get("Authorization"))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if status not in (204, 304):
            self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def store():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    server.authorizations = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def receive(store, case, tmp_path, timing, expected):
    class Asked:
        retries = timing.retries

    Asked.connection = type("C", (), {"timeouts": connection.Timeouts(2.0, 2.0)})
    with connection.StoreSession() as session:
        url = f"http://127.0.0.1:{store.server_port}/{case}"
        return transfers.receive(Asked, session, url, tmp_path / "part", expected, None)


@pytest.mark.parametrize("case", [*ODD, "202", "204", "206", "304"])
def test_what_is_not_the_file_is_not_taken_for_it(store, tmp_path, timing, case):
    expected = Expected(len(BODY), hashlib.sha256(BODY).hexdigest())
    with pytest.raises(Failure):
        receive(store, case, tmp_path, timing, expected)
    assert case != "endless" or (tmp_path / "part").stat().st_size <= len(BODY)
    assert receive(store, "200", tmp_path, timing, expected) == len(BODY)


@pytest.mark.parametrize("case", ["200", "moved"])
def test_no_credentials_go_to_a_links_host(store, tmp_path, timing, monkeypatch, case):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    receive(store, case, tmp_path, timing, Expected())
    assert set(store.authorizations) == {None}

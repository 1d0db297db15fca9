"""What comes back is shown, fetched and submitted only if it proves to be this push's."""

import errno
import hashlib
import http.server
import json
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelkit import errors
from kernelkit.exits.signals import EndedBySignal
from kernelkit.kaggle.answers import Outputs
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.exchange import transfers
from kernelkit.kaggle.exchange.transfers import Expected
from kernelkit.kaggle.transport import connection
from kernelkit.kaggle.transport.failures import Failure
from kernelkit.push.awaited import proof
from kernelkit.push.bundle.number import number_of
from kernelkit.push.known.ledger import Ledger, LedgerError
from kernelkit.push.outputs.output_downloads import OutputDownloads
from kernelkit.push.sending import saved
from kernelkit.runs import kit_folder
from kernelkit.session.manifest import MANIFEST
from kernelkit.session_records import log as logs
from kernelkit.session_records import proved
from kernelkit.session_records.log import decode
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule


@pytest.fixture
def kaggle(serve, quick_sessions):
    return serve(lag_seconds=0.3, score_seconds=0.2)


@pytest.fixture
def answers(monkeypatch):
    """Changes what Kaggle answers: `answers("outputs", change)` has `change(kaggle, answer)`."""

    def change(method, change):
        asked = getattr(Kaggle, method)

        def answer(self, *arguments, **options):
            return change(self, asked(self, *arguments, **options), asked)

        monkeypatch.setattr(Kaggle, method, answer)

    return change


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("dataset me/leaves", "put the files into input/datasets/me/leaves, "),
        ("dataset me/leaves/3", "put the files into input/datasets/me/leaves, "),
        ("model me/vit/Keras/small/1", "put the files into input/models/me/vit/keras/small/1, "),
        ("competition garden", "put the files into input/competitions/garden, "),
    ],
)
def test_a_source_that_the_local_kaggle_lacks_has_a_place(source, said):
    assert said in saved._not_there([source])


def test_each_push_has_a_number_that_all_that_it_leaves_shows(repository, kaggle):
    folder = repository.push("files=2")
    calls = kaggle.faults.calls
    assert calls["GetKernel"] <= 3  # one before the push, one read back, one for the checks
    assert calls["Download"] == 2 + 2 + 1
    repository.push("files=2", force=True)
    first, second = repository.pushes()
    assert first.number != second.number
    assert first.content == second.content
    kit = folder / ".kernelkit"
    assert number_of((kit / "pushed.ipynb").read_text()) == first.number
    assert proof.printed(decode((kit / "log.json").read_text())) == first.number
    assert json.loads((kit / "manifest.json").read_text())["push"] == first.number
    assert not (folder / MANIFEST).exists()
    assert proved.is_proved(folder, "submission.csv")
    assert "unverified" not in repository.message


def test_an_older_version_in_the_answer_is_not_believed_but_its_refusals_are(
    repository, kaggle, answers
):
    repository.push("files=1")
    answers("save", lambda kaggle, saved, _: replace(saved, version=1))
    folder = repository.push("files=2")
    assert repository.pushes()[-1].version == 2
    assert (folder / "deep" / "1.bin").is_file()
    assert "named another version" in repository.message
    answers("save", lambda kaggle, saved, _: replace(saved, refused_sources=("dataset me/seeds",)))
    with pytest.raises(errors.RefusedError, match="dataset me/seeds"):
        repository.push("files=3")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '"text"',
        "{}",
        '{"push": "x", "files": 1}',
        '{"push": "x", "files": [1]}',
        '{"push": "x", "files": [{"name": "a", "size": 1e999, "sha256": "b"}]}',
        '{"push": "x", "files": [{"name": "a", "size": NaN, "sha256": "b"}]}',
        "[" * 100_000,
        '{"push": "x", "files": ' + "[" * 100_000,
    ],
)
def test_what_is_no_manifest_is_a_malformed_answer_whatever_it_is(text):
    with pytest.raises(Failure, match="is not a manifest"):
        proof.parsed_manifest(text)


def test_a_push_that_lands_under_another_slug_is_followed_there(repository, kaggle):
    repository.push("files=1", ignore=["identity"])
    repository.describe(id="INSERT_USERNAME/blossom-other", title="Blossom train two")
    folder = repository.push("files=2", ignore=["identity"])
    assert repository.pushes()[-1].kernel == "tester/blossom-train-two"
    assert (folder / "deep" / "1.bin").is_file()
    assert '"id": "tester/blossom-train-two"' in repository.message


def test_a_push_under_another_slug_whose_answer_is_lost_is_found_by_its_number(repository, kaggle):
    repository.push("files=1")
    repository.describe(id="INSERT_USERNAME/blossom-other", title="Blossom train two")
    kaggle.faults = FaultSchedule([Fault("SaveKernel", 1, FaultKind.LOST_ANSWER)])
    folder = repository.push("files=2", ignore=["identity"])
    assert kaggle.faults.calls["SaveKernel"] == 1
    assert repository.pushes()[-1].reference == "tester/blossom-train-two/1"
    repository.assert_whole(folder, 2)


def test_the_previous_versions_list_is_not_fetched(repository, kaggle, answers, timing):
    soon = replace(timing, patience=replace(timing.patience, unproved=20.0))
    repository.push("files=1")
    stale = [True]

    def older(self, outputs, asked):
        return asked(self, repository.pushes()[0].name, 1) if stale else outputs

    answers("outputs", older)
    with pytest.raises(errors.OutputsError, match=r"of another push.*--unverified"):
        repository.push("files=1", force=True, timing=soon)
    folder = repository.runs / "rehearsal-blossom-train-v2"
    assert not (folder / "metrics.json").exists()
    assert not (folder / ".kernelkit" / "log.txt").exists()
    assert repository.pushes()[-1].state == "not fetched"
    with pytest.raises(errors.OutputsError):
        repository.resume("last", timing=soon)
    assert (repository.resume("last", unverified=True) / "metrics.json").is_file()
    assert "unverified" in repository.message
    assert "metrics   not verified: macro F1" in repository.message
    stale.clear()
    repository.resume("last")
    assert proved.is_proved(folder, "0.bin")


@pytest.mark.parametrize(
    ("mixed", "message"),
    [
        (lambda older: {}, r"0\.bin: Kaggle does not list it"),
        (lambda older: older, r"metrics\.json: it is not the file that this"),
    ],
)
def test_a_file_that_is_missing_or_another_versions_is_named(
    repository, kaggle, answers, mixed, message
):
    repository.push("files=1", "fail=False")
    (repository.package / "petals.py").write_text("F1 = 0.25\n")  # metrics of the same length

    def change(self, outputs, asked):
        older = asked(self, repository.pushes()[0].name, 1).files
        return Outputs(mixed(older) | {MANIFEST: outputs.files[MANIFEST]}, outputs.log)

    answers("outputs", change)
    with pytest.raises(errors.OutputsError, match=message):
        repository.push("files=1")


def test_what_the_manifest_does_not_name_comes_home_unverified(repository, kaggle, answers):
    def more(self, outputs, _):
        extra = {"__results__.html": outputs.files["0.bin"]}
        return Outputs(outputs.files | extra, outputs.log)

    answers("outputs", more)
    folder = repository.push("files=1")
    assert (folder / "__results__.html").is_file()
    assert (
        "1 file may come from another run, since the session's manifest does not name"
        in repository.message
    )


def test_a_name_that_is_not_plain_is_told_and_never_takes_a_verified_files_place(
    repository, kaggle, answers
):
    def more(self, outputs, _):
        other = dict.fromkeys(("./0.bin", "deep//1.bin"), outputs.files["metrics.json"])
        odd = {"deep/./only.json": outputs.files["metrics.json"]}
        return Outputs(other | outputs.files | odd, outputs.log)

    answers("outputs", more)
    folder = repository.push("files=2")
    repository.assert_whole(folder, 2)
    assert proved.is_proved(folder, "0.bin")
    assert "2 files have names that cannot be here" in repository.message
    assert len(list((folder / ".kernelkit" / "outputs").iterdir())) == 2
    assert (folder / "deep" / "only.json").is_file()


def test_a_disk_that_is_full_names_the_file_and_how_to_return(repository, kaggle, monkeypatch):
    keep = logs.keep

    def full(folder, *arguments):
        log = kit_folder.path(folder, kit_folder.LOG)
        raise OSError(errno.ENOSPC, "No space left on device", str(log))

    monkeypatch.setattr(logs, "keep", full)
    with pytest.raises(errors.StorageError, match=r"log\.json \(No space") as caught:
        repository.push("files=1")
    assert "kernelkit resume tester/blossom-train/1" in str(caught.value)
    monkeypatch.setattr(logs, "keep", keep)
    repository.assert_whole(repository.resume("last"), 1)


def test_downloads_that_are_cut_off_say_where_the_files_stay_and_how_to_get_the_rest(
    repository, kaggle, monkeypatch
):
    reference = "tester/blossom-train/1"
    stays = f"the session of {reference} is over, and its files stay on Kaggle"
    again = f"{stays}. Download the rest with: kernelkit resume {reference}"

    def cut_off(error):
        def fail(*_):
            raise error

        monkeypatch.setattr(OutputDownloads, "_receive", fail)

    cut_off(OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(errors.StorageError, match=r"/\S+ \(No space left on device\)") as caught:
        repository.push("files=1")
    assert again in str(caught.value)
    for interrupt in (KeyboardInterrupt(), EndedBySignal(15)):
        cut_off(interrupt)
        with pytest.raises(type(interrupt)):
            repository.resume("last")
        assert f"interrupted {again}\n" in " ".join(repository.message.split(" "))
        with pytest.raises(type(interrupt)):
            repository.resume("last", only=["*.bin"])
        assert f"{again} --only '*.bin'" in repository.message


def test_a_version_whose_line_cannot_be_written_is_named_and_not_sent_twice(
    repository, kaggle, monkeypatch
):
    update = Ledger.update

    def full(self, push, **changes):
        if changes.get("version"):
            raise LedgerError("the ledger cannot be used")
        return update(self, push, **changes)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "update", full)
        with pytest.raises(errors.StorageError, match="resume tester/blossom-train/1"):
            repository.push("files=1")
    repository.assert_whole(repository.push("files=1"), 1)  # it is found, and taken up
    assert kaggle.faults.calls["SaveKernel"] == 1


def test_a_version_made_elsewhere_is_fetched_and_not_submitted(
    repository, kaggle, open_competition
):
    open_competition(kaggle)
    repository.describe(competition_sources=["garden"])
    repository.push("files=1")
    (repository.runs / "pushes.sqlite").unlink()
    assert (repository.resume("tester/blossom-train/1") / "0.bin").is_file()
    with pytest.raises(errors.OutputsError, match="not proved to be an output"):
        repository.resume("tester/blossom-train/1", submit="made elsewhere")
    assert "CreateSubmission" not in kaggle.faults.calls


def test_a_failed_cell_leaves_a_manifest_and_a_session_that_was_killed_none(repository, kaggle):
    with pytest.raises(errors.RunFailedError):
        repository.push("files=1", "fail=True")
    assert proved.is_proved(repository.runs / "rehearsal-blossom-train-v1", "0.bin")
    assert "unverified" not in repository.message
    killed = (
        "import os, pathlib, sys\npathlib.Path('a.bin').touch()\nsys.stdout.flush()\nos._exit(1)"
    )
    repository.sources(killed)
    repository.on_cpu()
    with pytest.raises(errors.RunFailedError):
        repository.push()
    assert "since the session left no manifest" in repository.message


@pytest.fixture
def push_stored_with(repository, kaggle, answers):
    """Pushes a kernel with two datasets, of which Kaggle shows a version with these changes."""
    for name in ("a", "b"):
        (kaggle.catalogue / "datasets" / "tester" / f"{name}-data").mkdir(parents=True)
    repository.describe(dataset_sources=["tester/a-data", "tester/b-data"])

    def push_stored_with(**changes):
        answers("stored", lambda self, stored, _: stored and replace(stored, **changes))
        repository.push("files=1", wait=False, force=True)

    return push_stored_with


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sources": ("dataset tester/a-data",)}, "dataset tester/b-data"),
        ({"machine_shape": "NvidiaTeslaT4", "accelerator": "gpu"}, "not on a TPU"),
    ],
)
def test_a_stored_version_that_is_not_what_was_sent_is_refused(
    repository, push_stored_with, changes, message
):
    with pytest.raises(errors.RefusedError, match=message):
        push_stored_with(**changes)
    assert repository.pushes()[-1].state == "failed"
    with pytest.raises(errors.RefusedError, match="did not run as it was asked to"):
        repository.resume("last")
    assert repository.pushes()[-1].state == "failed"
    assert (Path(repository.pushes()[-1].folder) / "0.bin").is_file()


def test_sources_left_out_or_spelled_differently_are_a_note(repository, push_stored_with):
    repository.on_cpu()
    push_stored_with(sources=())
    assert "Kaggle lists no sources" in repository.message
    push_stored_with(sources=("dataset Tester/a-data", "dataset tester/b-data/2"))
    assert "names these sources differently: dataset tester/" in repository.message


BODY = b"a real file\n"
ODD = {
    "login": (200, {"Content-Type": "text/html"}, b"<form>sign in</form>"),
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
def receive(tmp_path, timing, monkeypatch):
    """Receives an answer of a store at which ~/.netrc has an account, but which is not told it."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    server.authorizations = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asked = SimpleNamespace(
        retries=timing.retries, connection=SimpleNamespace(timeouts=timing.timeouts)
    )

    def receive(case, expected):
        with connection.StoreSession() as session:
            url = f"http://127.0.0.1:{server.server_port}/{case}"
            return transfers.receive(asked, session, url, tmp_path / "part", expected, bool)

    yield receive
    assert set(server.authorizations) == {None}
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("case", [*ODD, "204", "206"])
def test_what_is_not_the_file_is_not_taken_for_it_and_its_host_gets_no_credentials(
    receive, tmp_path, case
):
    expected = Expected(len(BODY), hashlib.sha256(BODY).hexdigest())
    with pytest.raises(Failure):
        receive(case, expected)
    assert case != "endless" or not (tmp_path / "part").exists()
    assert receive("200", expected) == len(BODY)

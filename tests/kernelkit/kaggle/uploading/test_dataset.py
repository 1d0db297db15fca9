"""A folder becomes a private dataset that kernels can use."""

import errno
import io
import json
import os
import signal
import subprocess
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from kernelkit import errors
from kernelkit.exits.signals import EndedBySignal
from kernelkit.kaggle import client
from kernelkit.kaggle.exchange import blob_upload
from kernelkit.kaggle.transport.connection import Connection, StoreSession
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.kaggle.uploading import versions
from kernelkit.kaggle.uploading.uploads import upload_dataset
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

from ..conftest import contents


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "My weights"
    (data / "train").mkdir(parents=True)
    (data / "head.bin").write_bytes(os.urandom(5000))
    (data / "empty.txt").write_bytes(b"")
    (data / "train" / "00.tfrec").write_bytes(os.urandom(3000))
    return data


@pytest.fixture
def push(timing):
    def push(folder, *arguments, **options):
        return upload_dataset(folder, *arguments, stream=io.StringIO(), timing=timing, **options)

    return push


def stored(kaggle, version):
    """The files of a version, but for those checksums that travel with them."""
    files = contents(kaggle.root / f"datasets/tester/my-weights/{version}")
    return {name: data for name, data in files.items() if not name.startswith("SHA256SUMS-")}


def test_it_is_made_and_then_updated(kaggle, folder, push):
    visible = contents(folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "kaggle.json").touch()  # no credentials that would be sent
    assert push(folder) == "tester/my-weights"
    assert stored(kaggle, 1) == visible

    (folder / "head.bin").write_bytes(b"better")
    push(folder)

    assert stored(kaggle, 2) == visible | {"head.bin": b"better"}


def test_a_rehearsal_leaves_a_folder_outside_the_project_as_it_is(
    folder, push, tmp_path, monkeypatch
):
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").touch()
    monkeypatch.chdir(project)
    before = contents(folder)

    assert push(folder, local=True) == "tester/my-weights"
    assert contents(folder) == before
    assert (project / "runs" / "local_kaggle" / "datasets" / "tester" / "my-weights").is_dir()


def test_linked_files_are_sent_too(kaggle, folder, push, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "01.tfrec").write_bytes(b"linked")
    (folder / "train" / "more").symlink_to(tmp_path / "shared")
    push(folder)
    assert stored(kaggle, 1)["train/more/01.tfrec"] == b"linked"
    (folder / "lost").symlink_to("nowhere")
    with pytest.raises(errors.PreflightError, match="lost is a broken link"):
        push(folder)


@pytest.mark.parametrize("seconds", [0, -5, 2**33])
def test_a_file_may_have_any_time_of_change(kaggle, folder, push, seconds):
    os.utime(folder / "train" / "00.tfrec", (seconds, seconds))
    push(folder)
    assert stored(kaggle, 1) == contents(folder)


def test_a_folder_beside_an_archive_of_its_name_is_refused(folder, push):
    (folder / "train.zip").write_bytes(b"1")
    with pytest.raises(errors.PreflightError, match=r"would travel as train\.zip"):
        push(folder, dry_run=True)


@pytest.mark.parametrize("licences", [{"name": "CC0-1.0"}, "CC0-1.0", 5, [{"name": None}], [{}]])
def test_licences_that_are_no_list_of_names_are_refused(folder, push, licences):
    (folder / "dataset-metadata.json").write_text(json.dumps({"licenses": licences}))
    with pytest.raises(errors.PreflightError, match="licenses has to be a list"):
        push(folder, dry_run=True)


def test_a_disk_that_is_too_small_for_a_folders_archive_is_named(kaggle, folder, push, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "write", full)
    with pytest.raises(OSError, match=r"No space left.*train\.zip"):
        push(folder)


def test_a_lost_answer_makes_no_second_version(kaggle, folder, push):
    push(folder)
    (folder / "head.bin").write_bytes(b"better")
    kaggle.faults = FaultSchedule([Fault("CreateDatasetVersion", 1, FaultKind.LOST_ANSWER)])
    push(folder)
    assert kaggle.faults.fired
    assert stored(kaggle, 2)
    assert not stored(kaggle, 3)


def test_the_same_bytes_make_no_second_version(kaggle, folder, push):
    push(folder)
    sent = kaggle.faults.calls["Upload"]
    assert push(folder) == "tester/my-weights"
    assert kaggle.faults.calls["Upload"] == sent
    assert not stored(kaggle, 2)


def test_two_commands_at_once_make_one_version(kaggle, folder, push, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").touch()
    started = threading.Barrier(2)
    monkeypatch.chdir(tmp_path)

    def upload():
        started.wait()
        return push(folder)

    with ThreadPoolExecutor() as pool:
        uploads = [pool.submit(upload) for _ in range(2)]
    assert [each.result() for each in uploads] == 2 * ["tester/my-weights"]
    assert stored(kaggle, 1)
    assert not stored(kaggle, 2)


def test_outside_any_project_nothing_is_written_here(kaggle, folder, push, monkeypatch):
    before = contents(folder)
    monkeypatch.chdir(folder)
    push(folder)
    assert contents(folder) == before


def test_a_version_whose_list_has_several_pages_is_known_again(kaggle, folder, push, monkeypatch):
    push(folder)
    monkeypatch.setattr(client, "PAGE_SIZE", 1)
    push(folder)
    assert not stored(kaggle, 2)


def test_other_bytes_of_the_same_names_and_sizes_are_another_version(kaggle, folder, push):
    push(folder)
    size = (folder / "head.bin").stat().st_size
    (folder / "head.bin").write_bytes(b"x" * size)
    push(folder)
    assert stored(kaggle, 2)["head.bin"] == b"x" * size


def test_the_checksums_that_travel_with_a_version_are_those_of_its_files(kaggle, folder, push):
    push(folder)
    version = kaggle.root / "datasets/tester/my-weights/1"
    (sums,) = version.glob("SHA256SUMS-*.txt")
    subprocess.run(["sha256sum", "--check", "--strict", sums.name], cwd=version, check=True)
    (folder / sums.name).write_bytes(sums.read_bytes())  # downloaded with the rest
    push(folder)
    assert not stored(kaggle, 2)


def test_an_upload_that_breaks_is_sent_again(kaggle, folder, push):
    kinds = (FaultKind.ERROR_503, FaultKind.RESET, FaultKind.TRUNCATED)
    kaggle.faults = FaultSchedule([Fault("Upload", n, kind) for n, kind in enumerate(kinds, 1)])
    push(folder)
    assert stored(kaggle, 1) == contents(folder)


@pytest.mark.parametrize("size", [500, 5000, 9000])
@pytest.mark.parametrize("faults", [[], [Fault("Upload", 1, FaultKind.ERROR_503)]])
def test_a_file_that_changes_while_it_is_sent_becomes_no_version(
    kaggle, folder, push, monkeypatch, faults, size
):
    kaggle.faults = FaultSchedule(faults)
    send = blob_upload.send

    def changing(context, url, file, *options):
        try:
            send(context, url, file, *options)
        finally:  # once it was sent: the server itself refuses more bytes than were announced
            if file.name == "head.bin":
                file.write_bytes(bytes(size))

    monkeypatch.setattr(blob_upload, "send", changing)
    with pytest.raises(errors.StorageError, match=r"head\.bin changed (while|after)"):
        push(folder)
    assert not stored(kaggle, 1)


def test_a_file_that_changes_before_its_turn_becomes_no_version(kaggle, folder, push, monkeypatch):
    send = versions._send

    def changing(context, target, name, entry, **options):
        if name == "train":
            entry["00.tfrec"].write_bytes(b"another")
        return send(context, target, name, entry, **options)

    monkeypatch.setattr(versions, "_send", changing)
    with pytest.raises(errors.StorageError, match=r"00\.tfrec changed after it was read"):
        push(folder)
    assert not stored(kaggle, 1)


@pytest.mark.parametrize("name", ["abc", "Has Capitals", "x" * 51])
def test_a_name_kaggle_would_not_take_is_refused(folder, push, name):
    with pytest.raises(errors.ParameterError, match="--name"):
        push(folder, name)


def test_an_empty_folder_and_credentials_are_refused(folder, push):
    (folder / "nothing").mkdir()
    with pytest.raises(errors.ParameterError, match="no file"):
        push(folder / "nothing")
    (folder / "kaggle.json").touch()
    with pytest.raises(errors.PreflightError, match=r"kaggle\.json:1"):
        push(folder)


def test_a_version_is_ready_once_it_is_the_one_that_is_served(kaggle, folder, push, answers_to):
    push(folder)
    (folder / "head.bin").write_bytes(b"better")
    versions_seen = []

    def late(answer, number):
        versions_seen.append(answer.current_version_number)
        if number < 6:
            answer.current_version_number = 1

    answers_to("GetDataset", late)
    push(folder)
    assert versions_seen == [1, 1, 1, 2, 2, 2]


def test_an_upload_that_is_sent_on_to_a_login_page_did_not_arrive(
    kaggle, folder, push, monkeypatch
):
    put = StoreSession.put

    def redirected(self, url, **options):
        response = put(self, url, **options)
        if not options.get("allow_redirects", True):
            response.status_code = 302
        return response

    monkeypatch.setattr(StoreSession, "put", redirected)
    with pytest.raises(errors.NetworkError):
        push(folder)


def test_other_bytes_than_were_sent_are_not_ready(kaggle, folder, push, answers_to):
    def other(answer, _):
        for file in answer.dataset_files:
            file.total_bytes = 17

    answers_to("ListDatasetFiles", other)
    with pytest.raises(errors.RefusedError, match=r"is not what was sent.*head\.bin"):
        push(folder)


def test_what_kaggle_lists_no_file_of_is_not_verified_and_not_ready(
    kaggle, folder, push, answers_to
):
    def empty(answer, call):
        answer.dataset_files = []

    answers_to("ListDatasetFiles", empty)
    with pytest.raises(errors.OutputsError, match=r"is not verified, since Kaggle lists no file"):
        push(folder)


def test_a_list_that_kaggle_refuses_leaves_an_upload_not_verified(kaggle, folder, push, answers_to):
    def refuse(answer, call):
        raise Failure(FailureKind.NOT_FOUND, "ListDatasetFiles", "HTTP 404")

    answers_to("ListDatasetFiles", refuse)
    with pytest.raises(errors.OutputsError, match=r"not verified.* \(ListDatasetFiles: HTTP 404"):
        push(folder)


def test_a_list_that_is_late_is_waited_for(kaggle, folder, push, answers_to):
    def late(answer, call):
        if call < 3:
            answer.dataset_files = []

    answers_to("ListDatasetFiles", late)
    push(folder)


def test_an_upload_that_is_over_breaks_off_its_files(kaggle, folder, push, monkeypatch):
    """A command that is told to end, or one of whose files fails, would send gigabytes first."""
    sending = threading.Event()
    broken_off = []

    def upload(_, file, start, is_over, tell):
        if file.name == "empty.txt":
            assert sending.wait(30)
            raise EndedBySignal(signal.SIGHUP)
        sending.set()
        while not is_over():
            time.sleep(0.01)
        broken_off.append(file.name)
        raise Failure(FailureKind.REFUSED, blob_upload.UPLOAD, "interrupted")

    monkeypatch.setattr(blob_upload, "upload", upload)
    with pytest.raises(EndedBySignal):
        push(folder)
    assert "head.bin" in broken_off or "train.zip" in broken_off


def test_its_page_is_as_the_folders_metadata_says_and_stays_private(kaggle, folder, push):
    (folder / "dataset-metadata.json").write_text(
        '{"id": "anna/oak-weights", "title": "Weights of the oak", "isPrivate": false,'
        ' "licenses": [{"name": "CC0-1.0"}]}'
    )
    assert push(folder) == "tester/oak-weights"
    row = kaggle.store.row("SELECT fields FROM pages WHERE name = ?", "datasets/tester/oak-weights")
    fields = json.loads(row["fields"])
    assert (fields["title"], fields["licenseName"]) == ("Weights of the oak", "CC0-1.0")
    assert fields["isPrivate"] is True
    assert not list((kaggle.root / "datasets/tester/oak-weights/1").glob("*.json"))


def test_a_name_that_is_given_counts_more_than_the_metadata(kaggle, folder, push):
    (folder / "dataset-metadata.json").write_text('{"id": "anna/oak-weights"}')
    assert push(folder, "elm-weights") == "tester/elm-weights"


def test_on_kaggle_the_owner_is_the_one_that_the_metadata_names(
    kaggle, folder, timing, monkeypatch
):
    monkeypatch.setattr(Connection, "rehearses", False)
    (folder / "dataset-metadata.json").write_text('{"id": "anna/oak-weights"}')
    told = io.StringIO()
    with pytest.raises(errors.RefusedError, match="CreateDataset"):
        upload_dataset(folder, stream=told, timing=timing)
    assert "unless anna lets tester edit it" in told.getvalue()
    assert told.getvalue().index("unless anna") < told.getvalue().index("head.bin")

    (folder / "dataset-metadata.json").write_text('{"id": "Tester/oak-weights"}')
    told = io.StringIO()
    assert upload_dataset(folder, stream=told, timing=timing) == "Tester/oak-weights"
    assert "belongs to" not in told.getvalue()

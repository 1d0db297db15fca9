"""What a kernel has attached comes from Kaggle whole, through faults, and once."""

import io
import os
import stat
import tarfile
import zipfile
from dataclasses import replace

import pytest

from kernelkit.errors import NetworkError, OutputsError, PreflightError, RefusedError
from kernelkit.kaggle.downloading import archives
from kernelkit.kaggle.downloading.downloads import download
from kernelkit.kaggle.downloading.sources import list_source
from kernelkit.kaggle.exchange import transfers
from kernelkit.kaggle.exchange.transfers import Expected
from kernelkit.kaggle.transport.connection import StoreSession
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.terminal.events import Events
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

from ..conftest import contents

SOURCES = {
    "competition": ("titanic", "competitions/titanic"),
    "dataset": ("anna/soil", "datasets/anna/soil"),
    "kernel": ("anna/features", "kernels/anna/features"),
    "model": ("anna/net/PyTorch/small/3", "models/anna/net/pytorch/small/3"),
}


@pytest.fixture
def put(kaggle):
    """Puts files into the catalogue of the local Kaggle; returns their folder."""

    def put(kind, size=300_000):
        folder = kaggle.catalogue / SOURCES[kind][1]
        (folder / "deep").mkdir(parents=True)
        (folder / "rows.csv").write_text("id\n1\n")
        (folder / "deep" / "net.bin").write_bytes(os.urandom(size))
        (folder / "deep" / "empty.txt").touch()
        return folder

    return put


@pytest.fixture
def get(connect, tmp_path):
    """Downloads a source; returns the folder of its files."""

    def get(kind, most=1_000_000, attempts=8):
        kaggle = connect().kaggle
        kaggle.retries = replace(kaggle.retries, attempts=attempts)
        source = list_source(kaggle, kind, SOURCES[kind][0])
        folder = tmp_path / "cache" / kind
        until = kaggle.retries.clock.now() + 1000
        download(kaggle, source, folder, most, until, Events(io.StringIO()))
        return folder

    return get


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_comes_whole_and_leaves_nothing_else(kaggle, put, get, kind):
    there = put(kind)
    folder = get(kind)
    assert contents(folder) == contents(there)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("competition", "competition titanic: 3 files, 100 kB"),
        ("dataset", "dataset anna/soil, version 1: 3 files, 100 kB"),
        ("kernel", "kernel anna/features: 3 files, 100 kB"),
        ("model", "model anna/net/PyTorch/small, version 3: 3 files, 100 kB"),
    ],
)
def test_what_kaggle_has_is_told_with_its_size(kaggle, put, connect, kind, words):
    put(kind, size=100_000)
    assert list_source(connect().kaggle, kind, SOURCES[kind][0]).words == words


def test_a_size_that_kaggle_does_not_tell_is_said(kaggle, connect):
    folder = kaggle.catalogue / "competitions/titanic"
    folder.mkdir(parents=True)
    (folder / "empty.csv").touch()
    source = list_source(connect().kaggle, "competition", "titanic")
    assert source.size is None
    assert source.words == "competition titanic: 1 file, of a size that Kaggle does not say"


def test_faults_on_the_way_change_nothing(kaggle, put, get):
    there = put("dataset")
    kinds = [
        FaultKind.TRUNCATED,
        FaultKind.STALLED,
        FaultKind.WRONG_LENGTH,
        FaultKind.EXPIRED_LINK,
        FaultKind.RESET,
        FaultKind.ERROR_503,
    ]
    faults = [Fault("Download", 2 + 2 * n, kind, 0.2) for n, kind in enumerate(kinds)]
    kaggle.faults = FaultSchedule([*faults, Fault("DownloadDataset", 1, FaultKind.THROTTLED)])
    assert contents(get("dataset")) == contents(there)
    assert kaggle.faults.fired


@pytest.fixture
def receive(kaggle, put, connect, tmp_path):
    """Receives a dataset's archive into soil.part once, as `expected`, unless it is `late`."""
    put("dataset")
    command = connect().kaggle
    with list_source(command, "dataset", "anna/soil").archive() as response:
        url = response.url

    def receive(expected=None, late=lambda: False):
        with StoreSession() as session:
            part = tmp_path / "soil.part"
            return transfers.receive(command, session, url, part, expected or Expected(), late)

    return receive


def test_a_download_that_broke_off_continues_where_it_was(kaggle, put, get, received):
    there = put("dataset")
    kaggle.faults = FaultSchedule([Fault("Download", 2, FaultKind.TRUNCATED)])
    with pytest.raises(NetworkError, match="dataset anna/soil: download: the connection broke"):
        get("dataset", attempts=1)
    assert contents(get("dataset")) == contents(there)
    first, second = received
    assert first > 100_000
    assert second < 200_000


def test_a_download_that_broke_off_before_its_first_byte_is_begun_anew(kaggle, put, get, tmp_path):
    there = put("dataset")
    kaggle.faults = FaultSchedule([Fault("Download", 2, FaultKind.TRUNCATED)])
    with pytest.raises(NetworkError):
        get("dataset", attempts=1)
    (tmp_path / "cache" / "dataset.part").write_bytes(b"")
    assert contents(get("dataset", attempts=1)) == contents(there)


def test_a_file_that_is_not_as_expected_is_not_taken_for_complete_later(receive, tmp_path):
    for _ in range(2):
        with pytest.raises(Failure, match="not the file"):
            receive(Expected(sha256="0" * 64))
    assert not list(tmp_path.glob("soil.*"))


def test_what_a_killed_command_had_received_whole_is_verified_too(receive):
    size = receive()
    assert receive(Expected(size)) == size
    with pytest.raises(Failure, match="not the file"):
        receive(Expected(sha256="0" * 64))


def test_what_arrived_before_an_interrupt_stays(receive, tmp_path):
    def interrupted():
        raise Failure(FailureKind.REFUSED, transfers.DOWNLOAD, "interrupted")

    with pytest.raises(Failure, match="interrupted"):
        receive(late=interrupted)
    assert (tmp_path / "soil.part").stat().st_size > 0


def test_an_archive_may_have_more_bytes_than_a_session_can_leave(kaggle, put, get, monkeypatch):
    there = put("competition")
    monkeypatch.setattr(Expected.__init__, "__defaults__", (None, None, 1000))
    assert contents(get("competition")) == contents(there)


def test_another_content_is_not_appended_to_the_part_that_is_here(kaggle, put, get):
    there = put("dataset")
    kaggle.faults = FaultSchedule([Fault("Download", 2, FaultKind.TRUNCATED)])
    with pytest.raises(NetworkError):
        get("dataset", attempts=1)
    (there / "deep" / "net.bin").write_bytes(os.urandom(250_000))
    assert contents(get("dataset")) == contents(there)


class KilledError(BaseException):
    """The end of a process, as far as the code in it is concerned."""


def test_a_command_that_is_killed_while_it_unpacks_downloads_nothing_again(
    kaggle, put, get, received, monkeypatch
):
    there = put("model")

    def killed(*_):
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(archives, "unpack", killed)
        with pytest.raises(KilledError):
            get("model")
    assert contents(get("model")) == contents(there)
    assert len(received) == 1


def test_files_that_differ_from_kaggles_list_are_refused_and_not_kept(
    kaggle, put, get, answers_to, tmp_path
):
    put("competition")

    def change(answer, _):
        answer.files[-1].total_bytes += 1

    answers_to("ListDataFiles", change)
    with pytest.raises(OutputsError, match=r"is not what Kaggle lists.*: rows\.csv"):
        get("competition")
    assert not list((tmp_path / "cache").iterdir())


def test_more_than_is_allowed_does_not_come(kaggle, put, get, answers_to):
    put("competition")

    def change(answer, _):
        for file in answer.files:
            file.total_bytes = 0

    answers_to("ListDataFiles", change)
    with pytest.raises(PreflightError, match="competition titanic has more than 100 kB"):
        get("competition", most=100_000)


def test_no_more_than_is_allowed_is_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.bin", bytes(5_000_000))
    assert not archives.unpack(tmp_path / "a.zip", tmp_path / "deep", 1_000_000)
    assert (tmp_path / "deep/zeros.bin").stat().st_size <= 1_000_000


def zip_with_link(path, name, target):
    link = zipfile.ZipInfo(name)
    link.create_system = 3  # Unix
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, target)
        archive.writestr("rows.csv", "id")


def tar_with_link(path, name, target):
    link = tarfile.TarInfo(name)
    link.type = tarfile.SYMTYPE
    link.linkname = target
    rows = tarfile.TarInfo("rows.csv")
    rows.size = 2
    with tarfile.open(path, "w") as archive:
        archive.addfile(link)
        archive.addfile(rows, io.BytesIO(b"id"))


@pytest.mark.parametrize("archive_with_link", [zip_with_link, tar_with_link])
def test_a_link_in_an_archive_is_left_out(tmp_path, archive_with_link):
    archive_with_link(tmp_path / "a", "latest", "/etc/passwd")
    assert archives.unpack(tmp_path / "a", tmp_path / "deep", 1000)
    assert contents(tmp_path / "deep") == {"rows.csv": b"id"}


@pytest.mark.parametrize("name", ["../out.csv", "/out.csv", "a/../../out.csv"])
def test_no_file_leads_out_of_the_folder(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "1")
    with pytest.raises(OutputsError, match="leads out of its folder"):
        archives.unpack(tmp_path / "a.zip", tmp_path / "deep", 1000)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("compression", "place", "byte"),
    [
        (zipfile.ZIP_STORED, -30, 0xFF),  # in a name: no UTF-8
        (zipfile.ZIP_STORED, 60, 0xFF),  # another content than its checksum's
        (zipfile.ZIP_BZIP2, 60, 0xFF),
        (zipfile.ZIP_LZMA, 60, 0xFF),
    ],
)
def test_an_archive_that_cannot_be_read_is_damaged(tmp_path, compression, place, byte):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", compression) as archive:
        archive.writestr("r\u00f6ws.csv", "id\n1\n" * 100)
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[place] = byte
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(archives.DamagedError):
        archives.unpack(tmp_path / "a.zip", tmp_path / "deep", 1000)


@pytest.mark.parametrize(
    ("kind", "pending", "words"),
    [
        (
            "competition",
            "titanic",
            "competition titanic: ListDataFiles: You must accept this competition's rules.*"
            "accept the rules: https://www.kaggle.com/competitions/titanic/rules",
        ),
        (
            "model",
            "anna/net",
            "model anna/net/.*https://www.kaggle.com/models/anna/net",
        ),
    ],
)
def test_what_the_account_has_to_accept_is_named(serve, connect, kind, pending, words):
    kaggle = serve(rules_pending=(pending,))
    folder = kaggle.catalogue / SOURCES[kind][1]
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("1")
    with pytest.raises(RefusedError, match=words):
        list_source(connect().kaggle, kind, SOURCES[kind][0])


def test_a_source_that_kaggle_does_not_have_is_named(kaggle, connect):
    with pytest.raises(RefusedError, match="dataset anna/soil"):
        list_source(connect().kaggle, "dataset", "anna/soil")
    with pytest.raises(RefusedError, match=r"kernel anna/soil: .* check the owner and slug"):
        list_source(connect().kaggle, "kernel", "anna/soil")

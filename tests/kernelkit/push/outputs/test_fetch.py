"""Files come home whole or not at all."""

import errno
import json
import shutil
import threading
import types
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from kernelkit import errors
from kernelkit.files import sha256_of, size_of
from kernelkit.kaggle.answers import Outputs
from kernelkit.kaggle.exchange import transfers
from kernelkit.push.awaited import proof
from kernelkit.push.bundle.number import number_of
from kernelkit.push.known.ledger import Push
from kernelkit.push.outputs import fetch as fetch_module
from kernelkit.push.outputs import output_names
from kernelkit.push.resume import resume_push
from kernelkit.runs import kit_folder
from kernelkit.runs.fetched import FetchedFiles
from kernelkit.session_records import proved
from kernelkit.terminal.events import Events
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

PUSH = Push("tester/blossom-train", "", "", "tpu", version=1)
FILES = 30


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Where a local Kaggle keeps one finished run; each test serves it anew."""
    return tmp_path_factory.mktemp("kaggle")


@pytest.fixture
def server(root, serve, quick_sessions, repository):
    server = serve(root, page_size=7, max_page_size=7)
    if not (root / "finished").exists():
        repository.push(f"files={FILES}")
        (root / "finished").touch()
    return server


@pytest.fixture
def fetch(server, tmp_path, connect):
    context = connect()
    kaggle = context.kaggle
    listed = kaggle.outputs(PUSH.name, 1)
    number = number_of(kaggle.stored(PUSH.name, 1).text)
    manifest = proof.prove(kaggle, listed, number).manifest

    def fetch(*faults, outputs=None, manifest=manifest, only=()):
        server.faults = FaultSchedule(faults)
        outputs = outputs or kaggle.outputs(PUSH.name, 1)
        return fetch_module.fetch(context, PUSH, tmp_path / "home", outputs, manifest, only)

    fetch.context, fetch.listed, fetch.manifest = context, listed, manifest
    return fetch


def test_downloads_that_go_wrong_in_any_way_are_made_again(repository, server, fetch, tmp_path):
    kinds = [
        FaultKind.TRUNCATED,
        FaultKind.STALLED,
        FaultKind.WRONG_LENGTH,
        FaultKind.EXPIRED_LINK,
        FaultKind.RESET,
        FaultKind.HANG,
        FaultKind.ERROR_503,
    ]
    seconds = {FaultKind.STALLED: 3.0}
    faults = [
        Fault("Download", 1 + 2 * n, kind, seconds.get(kind, 0.2)) for n, kind in enumerate(kinds)
    ]
    fetched = fetch(*faults)
    assert len(server.faults.fired) == len(kinds)
    repository.assert_whole(tmp_path / "home", FILES)
    assert len(fetched) == FILES + 2
    assert not list((tmp_path / "home").rglob("*.part"))


def test_links_that_expire_all_at_once_are_renewed_once(repository, server, fetch, tmp_path):
    listed = fetch.listed
    broken = {n: url.replace("ignature=", "ignature=0") for n, url in listed.files.items()}
    fetch(outputs=Outputs(broken, listed.log))
    repository.assert_whole(tmp_path / "home", FILES)
    assert server.faults.calls["ListKernelSessionOutput"] <= 6


def test_a_file_taken_unverified_is_compared_with_the_manifest(repository, server, fetch, tmp_path):
    files = fetch.listed.files
    # Another run's file may have the same length; here, no length is known.
    other = {"deep/1.bin": files["metrics.json"], "metrics.json": files["deep/1.bin"]}
    fetch(outputs=Outputs(files | other, fetch.listed.log), manifest=None)
    names = {name: replace(file, size=None) for name, file in fetch.manifest.files.items()}
    fetch(manifest=replace(fetch.manifest, files=names))
    repository.assert_whole(tmp_path / "home", FILES)


def test_a_verified_file_is_hashed_once(repository, server, fetch, tmp_path, monkeypatch):
    hashed = []

    def counted(path):
        hashed.append(path.name)
        return sha256_of(path)

    monkeypatch.setattr("kernelkit.push.outputs.output_downloads.files.sha256_of", counted)
    fetch()
    fetch()
    assert hashed == []
    record = kit_folder.path(tmp_path / "home", kit_folder.FETCHED)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    without = [{key: line[key] for key in ("name", "size", "mtime_ns")} for line in lines]
    record.write_text("".join(f"{json.dumps(line)}\n" for line in without))  # as by 0.2.0
    fetch()
    assert sorted(hashed) == sorted(Path(name).name for name in fetch.manifest.files)
    fetch()
    assert len(hashed) == len(fetch.manifest.files)
    assert server.faults.calls["Download"] == 0
    repository.assert_whole(tmp_path / "home", FILES)


def test_a_file_of_the_right_length_that_was_not_fetched_is_fetched(
    repository, server, fetch, tmp_path
):
    home = tmp_path / "home"
    (home / "deep").mkdir(parents=True)
    (home / "2.bin").write_bytes(b"?" * 1001)
    fetch()
    repository.assert_whole(home, FILES)
    fetch(manifest=None)
    assert server.faults.calls["Download"] == 0
    (home / "4.bin").write_bytes(b"?" * 2001)  # changed since
    fetch()
    assert server.faults.calls["Download"] == 1
    repository.assert_whole(home, FILES)


def test_a_download_knows_how_much_of_it_has_arrived(fetch, monkeypatch):
    shown = []

    def moving(_, state):
        shown.append(state)
        return nullcontext()

    monkeypatch.setattr(Events, "moving", moving)
    fetch()
    sizes = [file.size for file in fetch.manifest.files.values()]
    (progress,) = shown
    assert progress.total >= sum(sizes)
    assert progress().startswith(
        f"downloading {size_of(progress.total)} of {size_of(progress.total)}"
    )
    fetch()  # all files are here
    assert shown[1]() == "downloading 0 bytes"


def test_an_interrupt_ends_the_downloads_and_no_further_file_begins(fetch, monkeypatch):
    begun, running, ended = [], threading.Event(), threading.Event()

    def chunks(response, window, late):
        running.set()
        try:
            while not late():
                yield b""
        finally:
            ended.set()

    def interrupted(record, name, *_):
        begun.append(name)
        if name == "0.bin" and running.wait(10):
            raise KeyboardInterrupt

    monkeypatch.setattr(transfers, "chunks", chunks)
    monkeypatch.setattr(FetchedFiles, "holds", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch()
    assert ended.is_set()
    assert len(begun) < FILES


def test_a_verified_file_keeps_its_place_against_names_that_would_take_it(
    repository, fetch, tmp_path, monkeypatch
):
    other = fetch.listed.files["metrics.json"]
    names = ["2.bin/x", "deep", "DEEP/1.BIN", "0.BIN"]
    before = dict.fromkeys(names, other)
    fetch(outputs=Outputs(before | fetch.listed.files, fetch.listed.log))
    repository.assert_whole(tmp_path / "home", FILES)
    assert (tmp_path / "home" / "0.BIN").is_file()  # another file, on this file system
    told = fetch.context.events.stream.getvalue()
    assert "2 files have names that cannot be here" in told
    assert len([*kit_folder.path(tmp_path / "home", kit_folder.OUTPUTS).iterdir()]) == 2
    monkeypatch.setattr(output_names, "told_apart_in", lambda folder: str.casefold)
    shutil.rmtree(tmp_path / "home")
    fetch(outputs=Outputs(before | fetch.listed.files, fetch.listed.log))
    repository.assert_whole(tmp_path / "home", FILES)
    assert "4 files have names" in fetch.context.events.stream.getvalue()
    assert not (tmp_path / "home" / "0.BIN").exists()


def test_a_disk_that_is_full_ends_the_downloads_and_names_the_file(fetch, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")  # as a write says it

    monkeypatch.setattr(transfers, "_write", full)
    with pytest.raises(OSError, match="No space left") as caught:
        fetch()
    home = tmp_path / "home"
    assert Path(caught.value.filename).is_relative_to(home)
    assert not (home / "metrics.json").exists()


def test_what_arrived_of_a_file_is_not_requested_again(
    repository, server, fetch, tmp_path, received
):
    with pytest.raises(errors.OutputsError, match="could not be downloaded"):
        fetch(*(Fault("Download", n, FaultKind.TRUNCATED) for n in range(1, 500)))
    before = sum(received)
    assert before > 10_000
    received.clear()
    fetch()
    repository.assert_whole(tmp_path / "home", FILES)
    assert sum(received) < before / 2
    assert not kit_folder.path(tmp_path / "home", kit_folder.PARTS).exists()


ODD = [
    *("n" * 300 + ".bin", "🌸" * 64, "deep/" * 700 + "x.bin", "a/" * 1400 + "x"),
    *("half \ud83c.bin", "/etc/x", "a/../../x", "", "a\0b", ".kernelkit/push.json"),
]


def test_a_file_whose_name_cannot_be_here_is_kept_under_an_escaped_one(repository, fetch, tmp_path):
    files = fetch.listed.files
    odd = dict.fromkeys(ODD, files["0.bin"])
    fetch(outputs=Outputs({**files, **odd}, fetch.listed.log))
    repository.assert_whole(tmp_path / "home", FILES)
    aside = [*kit_folder.path(tmp_path / "home", kit_folder.OUTPUTS).iterdir()]
    assert len(aside) == len(ODD)
    assert {path.read_bytes() for path in aside} == {(tmp_path / "home" / "0.bin").read_bytes()}
    told = fetch.context.events.stream.getvalue()
    assert f"{len(ODD)} files have names that cannot be here" in told
    assert {path.name for path in tmp_path.iterdir()} >= {"home"}
    assert not (tmp_path / "x").exists()


def test_a_name_with_a_secret_costs_that_file_alone(repository, fetch, server, tmp_path):
    files, key = fetch.listed.files, server.key()
    fetch.context.events.keep_secret([key])
    odd = {f"{key}.bin": files["0.bin"]}
    with pytest.raises(errors.OutputsError, match=f"1 of {FILES + 3} .*\n") as caught:
        fetch(outputs=Outputs({**files, **odd}, fetch.listed.log))
    assert "contains your credentials" in str(caught.value)
    assert "http" not in str(caught.value)  # a signed link
    assert str(caught.value).endswith("Give them other names in the notebook, and push again")
    assert caught.value.is_final
    repository.assert_whole(tmp_path / "home", FILES)
    assert not [path for path in (tmp_path / "home").rglob("*") if key in path.name]


NAMES = ("a\\b.bin", "..\\up.bin", "C:\\c.bin")  # of one folder's files on Kaggle, as here


def test_a_file_with_a_backslash_in_its_name_is_an_output_like_any_other(
    quick_sessions, repository, serve
):
    serve()
    repository.sources(f"for name in {NAMES!r}:\n    open(name, 'w').write('petals')")
    repository.on_cpu()
    folder = repository.push(as_json=True)
    assert not repository.events("unverified")
    assert not [name for name in NAMES if proved.doubt(folder, name)]
    assert {(folder / name).read_text() for name in NAMES} == {"petals"}


def test_a_backslash_is_escaped_where_it_separates_folders(fetch, tmp_path, monkeypatch):
    monkeypatch.setattr(output_names, "os", types.SimpleNamespace(sep="\\"))
    files = fetch.listed.files
    odd = dict.fromkeys(NAMES, files["0.bin"])
    fetch(outputs=Outputs({**files, **odd}, fetch.listed.log))
    aside = [*kit_folder.path(tmp_path / "home", kit_folder.OUTPUTS).iterdir()]
    assert len(aside) == len(NAMES)
    assert not [path for path in tmp_path.rglob("*") if "\\" in path.name]


def test_a_push_remembers_what_stays_and_brings_it_on_request(quick_sessions, repository, serve):
    serve()
    folder = repository.push("files=4", stays=["deep/*"])
    assert (folder / "2.bin").is_file()
    assert repository.resume("last") == folder
    assert not (folder / "deep").exists()
    resume_push(only=["deep/*"], runs=folder.parent)
    repository.assert_whole(folder, 4)


def test_a_repository_that_a_session_leaves_is_no_repository_here(fetch, tmp_path):
    """git would run commands that its settings and hooks name, also for a prompt or an editor."""
    files, home = fetch.listed.files, tmp_path / "home"
    inside = [".git/config", ".git/hooks/post-checkout", "clone/.GIT/HEAD", "clone/.git"]
    bare = ["bare/HEAD", "linked/head"]  # git finds the settings of the second one elsewhere
    harmless = ["bare/config", "linked/commondir", "a.git/config", "clone/.gitignore", "ahead"]
    more = dict.fromkeys([*inside, *bare, *harmless], files["0.bin"])
    fetch(outputs=Outputs({**files, **more}, fetch.listed.log))
    there = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    assert not there & {*inside, *bare}
    assert there >= {*harmless}
    told = fetch.context.events.stream.getvalue()
    assert "6 files of git repositories stay on Kaggle" in told
    assert "--only '*.git/*'" in told
    assert "linked/head" in told
    fetch(outputs=Outputs({**files, **more}, fetch.listed.log), only=["*.git/*", "bare/HEAD"])
    assert (home / ".git/config").is_file()
    assert (home / "bare/HEAD").is_file()

"""Files come home whole or not at all."""

import time

import pytest

from kernelkit import errors
from kernelkit.kaggle_api.client import Outputs
from kernelkit.kaggle_api.retries import Failure
from kernelkit.plans import build
from kernelkit.pushes import fetch as fetch_module
from kernelkit.pushes import proof
from kernelkit.pushes.resuming import fetch_push
from kernelkit.workspace.context import Push
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

PUSH = Push("tester/blossom-train", "", "", "tpu", version=1)
FILES = 30


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Where a local Kaggle keeps one finished run; each test serves it anew."""
    return tmp_path_factory.mktemp("kaggle")


@pytest.fixture
def server(root, quick_sessions, repository):
    limits = ServerLimits(page_size=7, max_page_size=7)
    with LocalKaggle(root, limits=limits) as server, server.attach():
        if not (root / "finished").exists():
            repository.push(f"files={FILES}")
            (root / "finished").touch()
        yield server


@pytest.fixture
def fetch(server, tmp_path, connect):
    context = connect()
    kaggle = context.kaggle
    listed = kaggle.outputs(PUSH.name, 1)
    number = build.number_of(kaggle.stored(PUSH.name, 1).text)
    manifest = proof.prove(kaggle, listed, number).manifest

    def fetch(*faults, outputs=None, push=PUSH, manifest=manifest):
        server.faults = FaultSchedule(faults)
        outputs = outputs or kaggle.outputs(push.name, 1)
        return fetch_module.fetch(context, push, tmp_path / "home", outputs, manifest)

    fetch.context = context
    fetch.outputs = lambda: kaggle.outputs(PUSH.name, 1)
    return fetch


def right(folder):
    return all(
        (folder / ("deep" if n % 2 else ".") / f"{n}.bin").read_bytes()
        == bytes([n]) * (500 * n + 1)
        for n in range(FILES)
    )


@pytest.mark.parametrize(
    "kind",
    [
        FaultKind.TRUNCATED,
        FaultKind.STALLED,
        FaultKind.WRONG_LENGTH,
        FaultKind.EXPIRED_LINK,
        FaultKind.RESET,
        FaultKind.HANG,
        FaultKind.THROTTLED,
        FaultKind.ERROR_503,
    ],
)
def test_a_download_that_goes_wrong_is_made_again(server, fetch, tmp_path, kind):
    faults = [
        Fault("Download", n, kind, 3.0 if kind is FaultKind.STALLED else 0.2) for n in (1, 5, 6, 20)
    ]
    fetched = fetch(*faults)
    assert len(server.faults.fired) == 4
    assert right(tmp_path / "home")
    assert len(fetched) == FILES + 2
    assert not list((tmp_path / "home").rglob("*.part"))


def test_links_that_expire_all_at_once_are_renewed_once(server, fetch, tmp_path, timing):
    listed = fetch.outputs()
    broken = {n: url.replace("ignature=", "ignature=0") for n, url in listed.files.items()}
    fetch(outputs=Outputs(broken, listed.log))
    assert right(tmp_path / "home")
    assert server.faults.calls["ListKernelSessionOutput"] <= 6


@pytest.mark.parametrize("without", [{}, {"manifest": None}])
def test_files_that_are_home_are_not_fetched_again(server, fetch, without):
    fetch(**without)
    fetch(**without)
    assert server.faults.calls["Download"] == 0


def test_a_file_of_the_right_length_that_was_not_fetched_is_fetched(server, fetch, tmp_path):
    home = tmp_path / "home"
    (home / "deep").mkdir(parents=True)
    (home / "2.bin").write_bytes(b"?" * 1001)
    fetch()
    assert right(home)
    (home / "4.bin").write_bytes(b"?" * 2001)  # changed since
    fetch()
    assert server.faults.calls["Download"] == 1
    assert right(home)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "", "a\\b", "a\0b"])
def test_a_name_never_leads_out_of_the_folder(tmp_path, name):
    with pytest.raises(Failure, match="outside the folder"):
        fetch_module._place(tmp_path, name)


def test_after_an_interrupt_no_further_file_begins(fetch, monkeypatch):
    begun = []

    def interrupted(downloads, session, name, expected):
        begun.append(name)
        if name == "0.bin":
            raise KeyboardInterrupt
        time.sleep(0.5)
        return 0

    monkeypatch.setattr(fetch_module._Downloads, "_fetch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch()
    assert begun[0] == "0.bin"
    assert len(begun) < FILES


def test_errors_never_repeat_a_signed_link(fetch):
    with pytest.raises(errors.OutputsError) as caught:
        fetch(Fault("Download", 0, FaultKind.RESET))
    assert "http" not in str(caught.value)
    assert str(FILES + 2) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("n" * 300 + ".bin", "too long for a file system"),
        ("🌸" * 64, "too long for a file system"),
        ("deep/" * 700 + "x.bin", "too long for a file system"),
        ("half \ud83c.bin", "not Unicode"),
    ],
)
def test_a_name_that_no_disk_takes_costs_that_file_alone(fetch, tmp_path, name, message):
    listed = fetch.outputs()
    odd = Outputs({**listed.files, name: listed.files["0.bin"]}, listed.log)
    with pytest.raises(errors.OutputsError, match=f"1 of {FILES + 3} .*\n.*{message}"):
        fetch(outputs=odd)
    assert right(tmp_path / "home")


def test_a_push_remembers_what_stays_and_brings_it_on_request(quick_sessions, repository, tmp_path):
    with LocalKaggle(tmp_path / "kaggle") as server, server.attach():
        folder = repository.push("files=4", stays=["deep/*"])
        assert (folder / "2.bin").is_file()
        assert not (folder / "deep").exists()
        assert repository.resume("last") == folder
        assert not (folder / "deep").exists()
        fetch_push(only=["deep/*"], runs=folder.parent)
        assert sorted(path.name for path in (folder / "deep").iterdir()) == ["1.bin", "3.bin"]


def test_a_file_whose_name_holds_a_credential_is_not_written(fetch, server, tmp_path):
    listed = fetch.outputs()
    fetch.context.events.keep_secret([server.key()])
    odd = {**listed.files, f"{server.key()}.bin": listed.files["0.bin"]}
    with pytest.raises(errors.OutputsError, match="contains your credentials"):
        fetch(outputs=Outputs(odd, listed.log))
    assert not [path for path in (tmp_path / "home").rglob("*") if server.key() in path.name]

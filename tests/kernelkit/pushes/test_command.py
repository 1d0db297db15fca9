"""The whole loop against a local Kaggle, and each exit code of its tool."""

import base64
import json
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.commands import console
from kernelkit.pushes import proof, send
from kernelkit.pushes.command import push_kernel
from kernelkit.pushes.follow import Run
from kernelkit.workspace.context import Ledger, PushContext
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle


@pytest.fixture(autouse=True)
def sessions(request):
    """Quick ones, save where a test is about the session itself."""
    if "papermill" not in request.node.name:
        request.getfixturevalue("quick_sessions")


@pytest.fixture
def kaggle(tmp_path):
    limits = ServerLimits(lag_seconds=0.3, dataset_seconds=0.3, score_seconds=0.2)
    with LocalKaggle(tmp_path / "kaggle", limits=limits) as server, server.attach():
        yield server


def expected(files):
    return {
        ("deep/" if n % 2 else "") + f"{n}.bin": bytes([n % 256]) * (500 * n + 1)
        for n in range(files)
    }


def test_a_push_under_papermill_brings_every_file_home_byte_for_byte(repository, kaggle):
    folder = repository.push("files=25")

    assert folder == repository.runs / "rehearsal-blossom-train-v1"
    for name, data in expected(25).items():
        assert (folder / name).read_bytes() == data
    assert "working on tpu" in (folder / ".kernelkit" / "log.txt").read_text()
    assert not list(folder.rglob("*.part"))
    assert "macro F1 0.750" in repository.message
    assert all(line.startswith("[rehearsal]") for line in repository.message.splitlines())
    (push,) = repository.pushes()
    assert (push.reference, push.state) == ("tester/blossom-train/1", "complete")
    assert push.parameters == {"files": 25, "accelerator": "tpu"}
    assert push.minutes_run is not None


def test_a_rehearsal_is_short_and_ends_with_what_to_type_next(repository, kaggle, notebook_code):
    note = "E0000 00:00:1795307956.163175    7820 platform.cc:52] failed call"
    repository.cells(
        notebook_code(
            "import sys\n"
            "for n in range(1, 201):\n"
            "    print(f'  tune {n}/200  F1 0.{n:03}  9 images/s  0:07 left')\n"
            f"print({note!r}, file=sys.stderr)"
        )
    )
    repository.on_cpu()
    repository.push()

    lines = repository.message.splitlines()
    assert len(lines) <= 15, lines
    assert [line for line in lines if "tune" in line] == [
        "[rehearsal]   |   tune 200/200  F1 0.200  9 images/s  0:07 left"
    ]
    assert not any("platform.cc" in line or "{" in line for line in lines)
    assert lines[-3].startswith("[rehearsal] report    ")
    assert lines[-2].startswith("[rehearsal] next      kernelkit push  # on Kaggle")
    assert "kernelkit report" in lines[-1]
    log = (repository.runs / "rehearsal-blossom-train-v1" / ".kernelkit" / "log.txt").read_text()
    assert "tune 77/200" in log


def test_an_identical_push_stops_unless_forced(repository, kaggle):
    repository.push("files=1")

    hint = r"identical to tester/blossom-train/1 .*kernelkit resume tester"
    with pytest.raises(errors.PreflightError, match=hint):
        repository.push("files=1")
    folder = repository.push("files=1", force=True)

    assert folder.name.endswith("-v2")


def test_an_identical_push_can_be_taken_up(repository, kaggle):
    assert repository.push("files=1", once=True, wait=False) is None
    folder = repository.push("files=1", once=True)  # while its session is alive
    repository.push("files=2")
    assert repository.push("files=1", once=True) == folder
    assert "tester/blossom-train/1 is complete, and nothing changed since" in repository.message

    ledger = Ledger(repository.runs)
    ledger.update(ledger.pushes()[0], state="not fetched")
    shutil.rmtree(folder)
    assert (repository.push("files=1", once=True) / "0.bin").is_file()
    assert kaggle.faults.calls["SaveKernel"] == 2

    ledger.update(ledger.pushes()[0], state="failed")
    assert repository.push("files=1", once=True).name.endswith("-v3")
    assert repository.push("files=1", once=True, force=True).name.endswith("-v4")


@pytest.mark.long
def test_a_run_that_failed_under_papermill_shows_its_cell_and_traceback(repository, kaggle):
    told = r"ValueError: withered(.|\n)*runs/rehearsal-blossom-train-v1/\.kernelkit/log\.txt"
    with pytest.raises(errors.RunFailedError, match=told):
        repository.push("fail=true", "files=2")
    assert "def wither(fail):" in repository.message
    assert repository.message.count("Traceback (most recent call last)") == 1
    assert "papermill" not in repository.message
    assert "ValueError: withered" in repository.message
    folder = repository.runs / "rehearsal-blossom-train-v1"
    assert (folder / "0.bin").is_file()


def test_a_preflight_error_stops_before_anything_is_sent(repository, kaggle):
    repository.describe(machine_shape="TpuV38")

    with pytest.raises(errors.PreflightError, match="retired"):
        repository.push()
    assert not kaggle.faults.calls


def test_missing_credentials_are_told(repository):
    with pytest.raises(errors.CredentialsError):
        repository.push()


def test_a_wrong_key_is_told(repository, kaggle, monkeypatch):
    monkeypatch.setenv("KAGGLE_KEY", "0" * 32)
    with pytest.raises(errors.CredentialsError):
        repository.push()


def test_an_own_source_needs_a_complete_version_before_the_push(repository, kaggle):
    def describe(name, *sources):
        title = f"Blossom {name}"
        values = {"id": f"INSERT_USERNAME/blossom-{name}", "title": title}
        repository.describe(**values, kernel_sources=[f"INSERT_USERNAME/{s}" for s in sources])

    def is_missed(source):
        describe("later", source)
        told = f"no version of tester/{source} is complete"
        with pytest.raises(errors.PreflightError, match=told):
            repository.push("files=1")
        assert "pushed" not in repository.message
        describe("train")

    is_missed("blossom-train")
    with pytest.raises(errors.RunFailedError):
        repository.push("files=1", "fail=True")
    is_missed("blossom-train")
    repository.push("files=1")
    is_missed("blossom-train/3")
    describe("later", "blossom-train/2")
    repository.push(wait=False)
    assert repository.pushes()[-1].inputs == {"tester/blossom-train/2": 2}


def test_a_refused_source_is_not_taken_for_success(repository, kaggle):
    repository.describe(dataset_sources=["someone/nothing-there"])

    with pytest.raises(errors.RefusedError, match="dataset someone/nothing-there"):
        repository.push()


def test_no_quota_is_told_before_the_push(repository, tmp_path):
    limits = ServerLimits(weekly_seconds={"tpu": 0.0, "gpu": 0.0})
    with LocalKaggle(tmp_path / "kaggle", limits=limits) as server, server.attach():
        with pytest.raises(errors.CapacityError, match="of 0 TPU hours are left"):
            repository.push()
        assert "SaveKernel" not in server.faults.calls


def test_a_session_of_another_kernel_takes_the_only_tpu(repository, busy_kaggle):
    repository.describe(id="INSERT_USERNAME/blossom-other", title="Blossom other")
    repository.push(wait=False)
    repository.describe(id="INSERT_USERNAME/blossom-train", title="Blossom train")
    with pytest.raises(errors.CapacityError, match="tester/blossom-other"):
        repository.push()
    with pytest.raises(errors.CapacityError, match="session count of 1"):
        repository.push(force=True)
    assert "kernelkit resume tester/blossom-other/1" not in repository.message


def test_a_kernel_that_still_runs_is_not_pushed_again(repository, busy_kaggle):
    repository.push(wait=False)
    assert "kernelkit resume tester/blossom-train/1" in repository.message
    for options in ({}, {"continues": True}):
        with pytest.raises(errors.PreflightError, match="still queued"):
            repository.push("files=9", **options)


def test_the_deadline_passes_while_the_run_is_alive(repository, busy_kaggle, timing):
    patience = replace(timing.patience, queue=60.0)
    with pytest.raises(errors.DeadlineError, match="kernelkit resume"):
        repository.push(timing=replace(timing, patience=patience))


def test_a_network_that_stays_down_is_told(repository, kaggle):
    kaggle.faults = FaultSchedule([Fault("GetKernelSessionStatus", 0, FaultKind.RESET)])
    with pytest.raises(errors.NetworkError):
        repository.push()


def test_outputs_that_cannot_come_home_whole_are_not_there(repository, kaggle):
    kaggle.faults = FaultSchedule([Fault("Download", 0, FaultKind.WRONG_LENGTH)])

    again = "(.|\n)*kernelkit resume tester/blossom-train/1"
    with pytest.raises(errors.OutputsError, match=f"kernelkit_manifest{again}"):
        repository.push()

    first = kaggle.faults.calls["Download"] + 2  # the manifest comes, and no file
    faults = [Fault("Download", n, FaultKind.WRONG_LENGTH) for n in range(first, first + 99)]
    kaggle.faults = FaultSchedule(faults)
    kaggle.faults.calls["Download"] = first - 2
    with pytest.raises(errors.OutputsError, match=f"submission{again}"):
        repository.resume("last")
    assert [p.state for p in repository.pushes()] == ["not fetched"]
    folder = repository.runs / "rehearsal-blossom-train-v1"
    assert [p.name for p in folder.iterdir()] == [".kernelkit"]
    assert not (folder / ".kernelkit" / "parts").exists()


@pytest.mark.parametrize(
    "kind",
    [
        FaultKind.HTML,
        FaultKind.REPEATED_PAGE,
        *(
            pytest.param(kind, marks=pytest.mark.long)
            for kind in (FaultKind.THROTTLED, FaultKind.ERROR_500, FaultKind.RESET)
        ),
    ],
)
def test_an_outage_of_the_list_is_not_an_empty_result(repository, kaggle, timing, kind):
    short = replace(timing, retries=replace(timing.retries, attempts=2))
    kaggle.faults = FaultSchedule([Fault("ListKernelSessionOutput", 0, kind)])

    with pytest.raises(
        errors.NetworkError, match=r"cannot be listed.*kernelkit resume tester/blossom-train/1"
    ):
        repository.push("files=1", timing=short)
    assert "fetched" not in repository.message
    assert [p.state for p in repository.pushes()] == ["not fetched"]
    kaggle.faults = FaultSchedule()
    folder = repository.push("files=1")  # not refused as identical
    assert folder.name.endswith("-v2")
    assert "whose outputs are not all downloaded" in repository.message
    assert (repository.resume("tester/blossom-train/1") / "0.bin").is_file()
    first, second = repository.pushes()
    assert (first.state, second.state) == ("complete", "complete")


def test_a_rehearsal_begun_anew_shows_its_own_results(repository):
    """Numbering begins anew with a new Kaggle: the folder of version 1 is another's."""
    first = repository.push("files=1", local=True)
    (first / "0.bin").write_bytes(b"?")  # of the same length as the new one
    shutil.rmtree(repository.runs / "local_kaggle")
    repository.package.joinpath("petals.py").write_text("F1 = 0.25\n")

    second = repository.push("files=4", local=True)

    assert second == first
    assert "macro F1 0.250" in repository.message
    assert "set aside" in repository.message
    for name, data in expected(4).items():
        assert (second / name).read_bytes() == data
    assert (first.with_name(f"{first.name}-earlier-1") / "0.bin").read_bytes() == b"?"


COLLIDING = ["push.json", "log.txt", "log.json", "run.ipynb", "report.html", "model.h5.part"]
ASIDE = [".kernelkit/push.json", ".kernelkit/log.txt", ".KernelKit/x"]
WRITE = """\
for name in {}:
    path = pathlib.Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("the run's own " + name)
"""


def test_a_runs_files_of_the_kits_names_all_come_home(repository, kaggle, notebook_code):
    repository.cells(notebook_code(f"import pathlib\n{WRITE.format(COLLIDING + ASIDE)}"))
    repository.on_cpu()

    folder = repository.push()

    for name in COLLIDING:
        assert (folder / name).read_text() == f"the run's own {name}"
    aside = folder / ".kernelkit" / "outputs"
    for name in ASIDE:
        assert (aside / name).read_text() == f"the run's own {name}"
    assert json.loads((folder / ".kernelkit" / "push.json").read_text())["version"] == 1


def test_a_folder_in_the_way_is_left_alone_and_the_run_comes_home_beside_it(repository, kaggle):
    in_the_way = repository.runs / "rehearsal-blossom-train-v1"
    in_the_way.mkdir(parents=True)
    (in_the_way / "thesis.txt").write_text("precious")
    folder = repository.push("files=1")
    assert folder.name == "rehearsal-blossom-train-v1-2"
    assert repository.resume("last") == folder
    assert [p.name for p in in_the_way.iterdir()] == ["thesis.txt"]


def push_cut_off(repository, *, arrives):
    """Push with a command that is killed before the answer is noted, or the request is sent."""
    once = send.Sending.once

    def cut(sending):
        if arrives:
            once(sending)
        raise SystemExit

    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(send.Sending, "once", cut)
        repository.push("files=1")


@pytest.mark.parametrize("how", ["resume", "push"])
def test_a_push_that_was_cut_off_is_found(repository, tmp_path, how):
    limits = ServerLimits(queue_seconds=1.0)
    with LocalKaggle(tmp_path / "kaggle", limits=limits) as server, server.attach():
        push_cut_off(repository, arrives=True)
        if how == "push":
            with pytest.raises(
                errors.PreflightError, match="kernelkit resume tester/blossom-train/1"
            ):
                repository.push("files=2")
        folder = repository.resume("last")
    assert (folder / "0.bin").is_file()
    assert [p.state for p in repository.pushes()] == ["complete"]


def test_a_push_cut_off_before_it_arrived_is_made_again(repository, kaggle):
    push_cut_off(repository, arrives=False)
    with pytest.raises(errors.ParameterError, match="no push in"):
        repository.resume("last")
    assert "created no version: push again" in repository.message
    assert repository.push("files=1").name.endswith("-v1")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (403, errors.RefusedError),
        (404, errors.RefusedError),
        (400, errors.RefusedError),
        (401, errors.CredentialsError),
    ],
)
def test_a_refused_status_says_how_to_come_back(repository, kaggle, monkeypatch, code, kind):
    from starlette.exceptions import HTTPException

    from local_kaggle.kernels import kernels

    def refuse(kind):
        raise HTTPException(code, "no")

    repository.push("files=1", wait=False)
    with monkeypatch.context() as patch, pytest.raises(kind) as caught:
        patch.setattr(kernels, "shows", refuse)  # which the answer on a status asks
        repository.resume("last")
    assert "kernelkit resume tester/blossom-train/1" in str(caught.value)
    assert "on Kaggle" in str(caught.value) or "access is refused" in str(caught.value)
    assert (repository.resume("last") / "0.bin").is_file()


def test_two_that_wait_for_one_run_fetch_it_once(repository, kaggle, connect):
    repository.push("files=9", wait=False)
    context = connect()
    context.runs = repository.runs
    (push,) = context.ledger.pushes()
    text = context.kaggle.stored(push.name, 1).text
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(Run(context, push, text).follow) for _ in range(2)]
        folders = [one.result() for one in both]
    assert folders[0] == folders[1]
    for name, data in expected(9).items():
        assert (folders[0] / name).read_bytes() == data
    assert kaggle.faults.calls["Download"] == 9 + 2 + 2  # the manifest for each


def test_an_output_that_cannot_be_made_is_found_before_the_push(repository, kaggle, tmp_path):
    (tmp_path / "file").write_text("")
    for output in (tmp_path / "file" / "home", "/proc/nowhere/home"):
        with pytest.raises(errors.StorageError, match="--output"):
            repository.push(output=Path(output))
    assert "SaveKernel" not in kaggle.faults.calls


GOES_ON = """\
import os, pathlib
kept = sorted(pathlib.Path(os.environ["KERNELKIT_INPUT_ROOT"]).rglob("step.txt"))
step = 1 + int(kept[-1].read_text()) if kept else 1
pathlib.Path("step.txt").write_text(str(step))
stopped = "time limit" if step < 3 else ""
pathlib.Path("metrics.json").write_text('{"device": {"kind": "cpu"}, "stopped": "%s"}' % stopped)
"""


def test_a_continued_push_finds_what_the_last_version_left(repository, kaggle, notebook_code):
    repository.cells(notebook_code("files = 0", ["parameters"]), notebook_code(GOES_ON))
    repository.on_cpu()
    assert (repository.push() / "step.txt").read_text() == "1"
    assert "kernelkit push --continue" in repository.message

    for step in ("2", "3"):  # the third is the second's push once more, and no mistake
        assert (repository.push(continues=True) / "step.txt").read_text() == step

    assert "last complete version of tester/blossom-train" in repository.message
    assert "ran out of time" not in repository.message
    again = repository.push(continues=True, dry_run=True)
    assert again is None
    assert "kernel_data_sources = ['tester/blossom-train']" in repository.message


def test_there_must_be_a_version_to_continue(repository, kaggle):
    with pytest.raises(errors.PreflightError, match="no version to continue from"):
        repository.push(continues=True)
    assert "SaveKernel" not in kaggle.faults.calls


@pytest.mark.parametrize("reference", ["blossom", "tester/blossom-train", "a/b/c"])
def test_resume_wants_a_whole_reference(repository, kaggle, reference):
    with pytest.raises(errors.ParameterError, match="OWNER/SLUG/N"):
        repository.resume(reference)


ON_A_CPU = """open("metrics.json", "w").write('{"device": {"kind": "cpu"}}')"""
MISSED = """\
class AcceleratorError(Exception):
    def _render_traceback_(self):
        return [f"AcceleratorError: {self}"]
raise AcceleratorError("a TPU was asked for and none is here")
"""


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(ON_A_CPU, "TPU and had CPU", id="found at the end"),
        pytest.param(MISSED, "none is here", id="papermill", marks=pytest.mark.long),
    ],
)
def test_a_run_without_the_accelerator_that_was_asked_for_is_told_apart(
    repository, kaggle, notebook_code, source, message
):
    parameters = notebook_code('accelerator = "auto"  # auto | tpu: machine', ["parameters"])
    repository.cells(parameters, notebook_code(source))
    with pytest.raises(errors.AcceleratorMismatchError, match=message):
        repository.push()


@pytest.mark.parametrize("name", ["DataError", "SettingError"])
def test_a_run_says_by_an_exceptions_name_why_it_ended(repository, kaggle, notebook_code, name):
    repository.cells(notebook_code(f"class {name}(Exception): pass\nraise {name}('no photos')"))
    repository.on_cpu()
    with pytest.raises(errors.OF_NOTEBOOKS[name], match="no photos"):
        repository.push()
    assert "no photos" in repository.message


def test_interrupting_leaves_the_run_and_says_how_to_come_back(repository, busy_kaggle):
    # A shell has what it starts in the background ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(1.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        repository.push()
    assert "kernelkit resume tester/blossom-train/1" in repository.message


def test_a_dry_run_sends_nothing(repository, kaggle):
    assert repository.push(dry_run=True, timeout=30) is None
    assert "for at most 30 min" in repository.message
    assert "no git commit" in repository.message
    assert "SaveKernel" not in kaggle.faults.calls
    assert "session_timeout_seconds = 1800" in repository.message
    assert not (repository.runs / "pushes.jsonl").exists()


def test_a_dry_run_beside_a_live_session_only_warns(repository, busy_kaggle):
    repository.push(wait=False)
    repository.push("files=1", dry_run=True)
    assert "refused for now: tester/blossom-train is still queued" in repository.message
    assert "nothing was sent" in repository.message
    with pytest.raises(errors.KernelBusyError):
        repository.push("files=1")
    repository.describe(title="Something else")
    with pytest.raises(errors.PreflightError, match="something-else"):
        repository.push(dry_run=True)


def test_a_folder_is_named_as_for_the_official_client(repository, kaggle, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    push_kernel(parameters=[str(repository.root), "files=1"], dry_run=True, offline=True)
    with pytest.raises(errors.ParameterError, match="nowhere"):
        push_kernel(repository.root, ["nowhere"], dry_run=True, offline=True)


def test_a_file_that_is_no_notebook_is_said_to_be_none(repository):
    with pytest.raises(errors.NotebookError, match=r"pyproject\.toml is not a notebook"):
        push_kernel(repository.root / "pyproject.toml", dry_run=True, local=True)


def test_a_code_file_beside_its_own_metadata_is_corrected(repository):
    values = repository.values | {"code_file": "notebooks/second.ipynb"}
    second = repository.notebook.with_name("second.ipynb")
    shutil.copy(repository.notebook, second)
    second.with_name("second.kernel-metadata.json").write_text(json.dumps(values))
    with pytest.raises(errors.PreflightError, match=r'"code_file": "second\.ipynb"'):
        push_kernel(second, dry_run=True, local=True)


def test_a_dry_run_that_kaggle_cuts_off_attaches_its_wheels_once(repository, kaggle, index):
    index.add("bloom")
    settings = repository.root / "pyproject.toml"
    settings.write_text(settings.read_text() + 'wheels = ["bloom==1.0"]\n')
    kaggle.faults = FaultSchedule([Fault("GetKernelSessionStatus", 0, FaultKind.ERROR_503)])
    repository.push(dry_run=True)
    assert "the online checks were skipped" in repository.message
    assert "dataset_data_sources = ['tester/" in repository.message
    assert repository.message.count("attached as tester/") == 1


def test_a_dry_run_without_credentials_still_shows_the_preflight(repository):
    repository.describe(title="Something else")
    with pytest.raises(errors.PreflightError, match="something-else"):
        repository.push(dry_run=True)
    repository.describe(title="Blossom train")
    repository.push(dry_run=True)
    assert "no Kaggle credentials" in repository.message


def test_a_submission_gets_its_score(repository, kaggle, open_competition):
    open_competition(kaggle)
    repository.describe(competition_sources=["garden"])

    repository.push(submit="first")

    (push,) = repository.pushes()
    assert float(push.score) == 1.0
    assert "1.0" in repository.message
    note = json.loads((Path(push.folder) / ".kernelkit" / "score.json").read_text())
    assert note == {"competition": "garden (rehearsal)", "score": push.score}  # for the report


def test_json_gives_one_object_a_line(repository, kaggle):
    repository.push("files=1", as_json=True)

    events = [json.loads(line) for line in repository.message.splitlines()]

    names = [event["event"] for event in events]
    assert names[0] == "bundle"
    assert {"pushed", "state", "log", "fetched", "metrics"} <= set(names)
    assert all(event["rehearsal"] for event in events if event["event"] == "fetched")


@pytest.mark.parametrize("where", ["cell", "tag", "attachment", "carried", "metadata", "parameter"])
@pytest.mark.parametrize("dry_run", [True, False])
def test_ones_own_key_does_not_leave_the_desk(repository, kaggle, notebook_code, where, dry_run):
    key, given = kaggle.key(), ()
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "words"}
    match where:
        case "cell":
            cell["source"] = f"as I said: {key}"
        case "tag":
            cell["metadata"] = {"tags": [f"x{key}"]}
        case "attachment":
            data = base64.b64encode(f"a picture of {key}".encode()).decode()
            cell["attachments"] = {"photo.png": {"image/png": data}}
        case "carried":
            repository.package.joinpath("petals.py").write_text(f"F1 = 0.5  # {key}\n")
        case "metadata":
            repository.describe(keywords=[key])
        case "parameter":
            given = ("accelerator=auto", f"note={key}")
    use = notebook_code("from blossom import petals\n")
    parameters = 'accelerator = "auto"  # auto | tpu: machine\nnote = ""'
    repository.cells(notebook_code(parameters, ["parameters"]), use, cell)

    with pytest.raises(errors.PreflightError, match="your own Kaggle key") as caught:
        repository.push(*given, dry_run=dry_run)

    assert key not in str(caught.value) + repository.message
    assert "SaveKernel" not in kaggle.faults.calls
    assert not any(key.encode() in p.read_bytes() for p in repository.runs.rglob("*.jsonl"))


def test_no_secret_is_printed_or_kept(repository, kaggle, capfd):
    key = kaggle.key()
    repository.cells(
        {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "outputs": [],
            "source": f"print('{key[:16]}' + '{key[16:]}')",
        }
    )
    repository.on_cpu()
    folder = repository.push(as_json=True)

    assert key not in repository.message + "".join(capfd.readouterr())
    kept = [p for p in repository.runs.rglob("*") if p.is_file()]
    assert "[secret]" in (folder / ".kernelkit" / "log.txt").read_text()
    assert not any(key.encode() in p.read_bytes() for p in kept)


def test_local_starts_a_kaggle_of_its_own_and_cannot_be_left(repository):
    folder = repository.push("files=2", local=True)
    assert (folder / "0.bin").is_file()
    assert (repository.runs / "local_kaggle").is_dir()

    with pytest.raises(errors.ParameterError, match="--no-wait"):
        repository.push("files=2", local=True, wait=False)


def test_an_output_folder_in_use_is_refused_before_the_push(repository, kaggle, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(errors.ParameterError, match="not empty"):
        repository.push(output=tmp_path / "mine")
    assert not kaggle.faults.calls


SCRIPT = """\
'''Count the petals.'''
from __future__ import annotations
import argparse, pathlib
from blossom import petals

# %% tags=["parameters"]
files = 1  # >= 0: how many files to leave
fail = False  # whether to end in an error

# %%
def main() -> Later:
    options = argparse.ArgumentParser()
    options.add_argument("--files", type=int, default=files)
    for number in range(options.parse_args().files):
        pathlib.Path(f"{number}.txt").write_text(str(petals.F1))
    if fail:
        raise SystemExit("withered")

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def script(repository):
    (repository.root / "train.py").write_text(SCRIPT)
    machine = {"enable_tpu": False, "machine_shape": None}
    repository.describe(kernel_type="script", code_file="train.py", **machine)
    return repository


def test_a_script_is_pushed_as_one_with_its_modules_and_parameters(script, kaggle):
    folder = script.push("files=2")
    assert [(folder / f"{n}.txt").read_text() for n in range(2)] == ["0.75", "0.75"]
    assert not (folder / "2.txt").exists()
    assert proof.is_verified(folder, "1.txt")
    pushed = (folder / ".kernelkit" / "pushed.py").read_text()
    assert pushed.startswith("from __future__ import annotations\n")
    assert "unverified" not in script.message
    assert (folder / "report.html").name in script.message


def test_a_script_that_fails_says_where_and_proves_what_it_left(script, kaggle):
    with pytest.raises(errors.RunFailedError):
        script.push("files=2", "fail=True")
    assert proof.is_verified(script.runs / "rehearsal-blossom-train-v1", "1.txt")


def test_a_script_that_ends_without_an_exception_names_its_log(script, kaggle):
    (script.root / "train.py").write_text("import sys\nprint('so far')\nsys.exit(3)\n")
    with pytest.raises(errors.RunFailedError, match=r"its log has no exception: .*log\.txt"):
        script.push()


def test_a_notebook_is_not_pushed_as_a_script(repository, kaggle):
    repository.describe(kernel_type="script")
    with pytest.raises(errors.NotebookError, match=r"train\.ipynb is not a script: name a \.py"):
        repository.push()


def test_a_folder_is_checked_without_an_account(repository, monkeypatch):
    monkeypatch.setattr(PushContext, "connect", pytest.fail)
    for here, words in ((repository.root, []), ("/", [str(repository.root)])):
        monkeypatch.chdir(here)
        done = CliRunner().invoke(console.main, ["check", *words])
        assert done.exit_code == 0, done.output
        assert "checked   nothing to correct" in done.output
    repository.describe(title="abc")
    done = CliRunner().invoke(console.main, ["check", *words])
    assert (done.exit_code, "title 'abc' is shorter" in done.output) == (3, True)

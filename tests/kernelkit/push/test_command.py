"""The whole loop against a local Kaggle, and each exit code of its tool."""

import base64
import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.cli import console
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push import push_kernel as push_module
from kernelkit.push.known.ledger import Ledger
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.request import PushRequest
from kernelkit.push.push_kernel import push_kernel
from kernelkit.push.sending.save_once import Sending
from kernelkit.session_records import proved
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule


@pytest.fixture(autouse=True)
def sessions(request):
    """Quick ones, save where a test is about the session itself."""
    if "papermill" not in request.node.name:
        request.getfixturevalue("quick_sessions")


@pytest.fixture
def kaggle(serve):
    return serve(lag_seconds=0.3, dataset_seconds=0.3, score_seconds=0.2)


@pytest.mark.long
def test_a_push_under_papermill_brings_every_file_home_byte_for_byte(repository, kaggle):
    folder = repository.push("files=25")

    assert folder == repository.runs / "rehearsal-blossom-train-v1"
    repository.assert_whole(folder, 25)
    assert "working on tpu" in (folder / ".kernelkit" / "log.txt").read_text()
    assert not list(folder.rglob("*.part"))
    assert "macro F1 0.750" in repository.message
    assert all(line.startswith("[rehearsal]") for line in repository.message.splitlines())
    (push,) = repository.pushes()
    assert (push.reference, push.state) == ("tester/blossom-train/1", "complete")
    assert push.parameters == {"files": 25, "accelerator": "tpu"}
    assert push.minutes_run is not None


def test_a_rehearsal_is_short_and_ends_with_what_to_type_next(repository, kaggle):
    note = "E0000 00:00:1795307956.163175    7820 platform.cc:52] failed call"
    repository.sources(
        "import sys\n"
        "for n in range(1, 201):\n"
        "    print(f'  tune {n}/200  F1 0.{n:03}  9 images/s  0:07 left')\n"
        f"print({note!r}, file=sys.stderr)"
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
    named = "kernelkit push --metadata kernel-metadata.json"  # as it was for this one
    assert lines[-2].startswith(f"[rehearsal] next      {named}  # on Kaggle")
    assert "kernelkit report" in lines[-1]
    log = (repository.runs / "rehearsal-blossom-train-v1" / ".kernelkit" / "log.txt").read_text()
    assert "tune 77/200" in log


def test_what_to_type_next_names_the_notebook_as_the_rehearsal_did(repository, monkeypatch):
    monkeypatch.chdir(repository.root)
    with_token = "  # on Kaggle, with ~/.kaggle/access_token"
    assert PushRequest.of().on_kaggle == f"kernelkit push{with_token}"
    monkeypatch.chdir(repository.root.parent)
    folder = repository.root.name
    assert PushRequest.of(repository.root).on_kaggle == f"kernelkit push {folder}{with_token}"
    notebook = repository.notebook.rename(repository.notebook.with_name("two words.ipynb"))
    words = f"kernelkit push '{folder}/notebooks/two words.ipynb' --chain"
    assert PushRequest.of(notebook, chain=True).on_kaggle == f"{words}{with_token}"


def test_what_to_type_next_says_that_it_leaves_out_the_rehearsals_parameters(repository):
    command = PushRequest.of(repository.root, ["files=1"]).on_kaggle
    assert command.endswith("access_token, and without these parameters")


def test_so_does_a_command_that_writes_the_settings_first(tmp_path):
    (tmp_path / "one.py").write_text('# %% tags=["parameters"]\na = 1\n# %%\nprint(a)\n')
    command = PushRequest.of(tmp_path / "one.py", ["a=2"], assume=True).on_kaggle
    assert "kernelkit init" in command
    assert command.endswith("access_token, and without these parameters")


def test_an_identical_push_stops_unless_it_is_taken_up_or_forced(repository, kaggle):
    assert repository.push("files=1", once=True, wait=False) is None
    folder = repository.push("files=1", once=True)  # while its session is alive
    hint = r"identical to tester/blossom-train/1 .*kernelkit resume tester"
    with pytest.raises(errors.PreflightError, match=hint):
        repository.push("files=1")
    repository.push("files=2")
    with pytest.raises(errors.PreflightError, match=hint):  # also after another one
        repository.push("files=1")
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


@pytest.mark.parametrize(
    ("changes", "options", "kind", "message"),
    [
        ({}, {}, errors.CredentialsError, "no Kaggle credentials"),
        ({"kernel_type": "script"}, {}, errors.NotebookError, r"is not a script: name a \.py"),
        ({}, {"output": Path(__file__).parent}, errors.ParameterError, "not empty"),
        ({}, {"output": Path(__file__)}, errors.ParameterError, "not empty"),
        ({}, {"output": Path("/proc/nowhere/home")}, errors.StorageError, "--output"),
        ({}, {"local": True, "wait": False}, errors.ParameterError, "--no-wait"),
        ({}, {"submit": "one", "wait": False}, errors.ParameterError, "to kernelkit resume"),
        ({}, {"output": Path("out"), "wait": False}, errors.ParameterError, "kernelkit resume"),
    ],
)
def test_what_must_be_corrected_is_told_before_kaggle_is_asked(
    repository, changes, options, kind, message
):
    repository.describe(**changes)
    with pytest.raises(kind, match=message):
        repository.push(**options)


def test_an_own_source_needs_a_complete_version_before_the_push(repository, kaggle):
    def describe(name, *sources):
        values = {"id": f"INSERT_USERNAME/blossom-{name}", "title": f"Blossom {name}"}
        repository.describe(**values, kernel_sources=sources)

    def is_missed(source):
        describe("later", f"INSERT_USERNAME/{source}")
        told = f"no version of tester/{source} is complete"
        with pytest.raises(errors.PreflightError, match=told):
            repository.push("files=1")
        assert "pushed" not in repository.message
        describe("train")

    with pytest.raises(errors.RunFailedError):
        repository.push("files=1", "fail=True")
    is_missed("blossom-train")
    repository.push("files=1")
    is_missed("blossom-train/3")
    describe("later", "INSERT_USERNAME/blossom-train/2")
    repository.push(wait=False)
    assert repository.pushes()[-1].inputs == {"tester/blossom-train/2": 2}


def test_no_quota_is_told_before_the_push(repository, serve):
    server = serve(weekly_seconds={"tpu": 0.0, "gpu": 0.0})
    with pytest.raises(errors.CapacityError, match="of 0 TPU hours are left"):
        repository.push()
    assert "SaveKernel" not in server.faults.calls


def test_beside_a_live_session_a_push_is_refused_and_a_dry_run_warns(repository, busy_kaggle):
    repository.push(wait=False)
    assert "kernelkit resume tester/blossom-train/1" in repository.message
    for options in ({}, {"continues": True}):
        with pytest.raises(errors.KernelBusyError, match="still queued"):
            repository.push("files=9", **options)
    repository.push("files=9", dry_run=True)
    assert "refused for now: tester/blossom-train is still queued" in repository.message
    assert "nothing was sent" in repository.message

    repository.describe(kernel_sources=["INSERT_USERNAME/blossom-seeds"])
    for options in ({}, {"dry_run": True}):  # which no waiting would mend
        with pytest.raises(errors.PreflightError, match="no version of tester/blossom-seeds"):
            repository.push("files=9", **options)

    other = {"id": "INSERT_USERNAME/blossom-other", "title": "Blossom other"}
    repository.describe(**other, kernel_sources=[])
    with pytest.raises(errors.CapacityError, match="tester/blossom-train"):
        repository.push()
    with pytest.raises(errors.CapacityError, match="session count of 1"):
        repository.push(force=True)
    assert "kernelkit resume" not in repository.message


def test_outputs_that_cannot_come_home_whole_are_not_there(repository, kaggle):
    again = "(.|\n)*kernelkit resume tester/blossom-train/1"
    kaggle.faults = FaultSchedule([Fault("Download", 0, FaultKind.WRONG_LENGTH)])
    with pytest.raises(errors.OutputsError, match=f"kernelkit_manifest{again}"):
        repository.push()

    faults = [Fault("Download", n, FaultKind.WRONG_LENGTH) for n in range(2, 99)]
    kaggle.faults = FaultSchedule(faults)  # the manifest comes, and no file
    with pytest.raises(errors.OutputsError, match=f"submission{again}"):
        repository.resume("last")
    assert repository.states() == ["not fetched"]
    folder = repository.runs / "rehearsal-blossom-train-v1"
    assert [p.name for p in folder.iterdir()] == [".kernelkit"]
    assert not (folder / ".kernelkit" / "parts").exists()


def test_an_outage_of_the_list_is_not_an_empty_result(repository, kaggle, timing):
    short = replace(timing, retries=replace(timing.retries, attempts=2))
    kaggle.faults = FaultSchedule([Fault("ListKernelSessionOutput", 0, FaultKind.REPEATED_PAGE)])

    with pytest.raises(
        errors.NetworkError, match=r"cannot be listed.*kernelkit resume tester/blossom-train/1"
    ):
        repository.push("files=1", timing=short)
    assert "fetched" not in repository.message
    assert repository.states() == ["not fetched"]
    kaggle.faults = FaultSchedule()
    assert (repository.push("files=1") / "0.bin").is_file()
    assert "is not fetched, and nothing changed since" in repository.message
    assert repository.states() == ["complete"]


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
    repository.assert_whole(second, 4)
    aside = first.with_name(f"{first.name}-earlier-1")
    assert (aside / "0.bin").read_bytes() == b"?"
    assert [push.folder for push in repository.pushes()] == [str(aside), str(second)]


COLLIDING = ["push.json", "report.html", "model.h5.part"]
ASIDE = [".kernelkit/push.json", ".KernelKit/x"]
WRITE = """\
for name in {}:
    path = pathlib.Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("the run's own " + name)
"""


def test_a_runs_files_of_the_kits_names_all_come_home(repository, kaggle):
    repository.sources(f"import pathlib\n{WRITE.format(COLLIDING + ASIDE)}")
    repository.on_cpu()

    folder = repository.push()

    for name in COLLIDING:
        assert (folder / name).read_text() == f"the run's own {name}"
    aside = folder / ".kernelkit" / "outputs"
    texts = sorted(path.read_text() for path in aside.iterdir())
    assert texts == sorted(f"the run's own {name}" for name in ASIDE)
    assert json.loads((folder / ".kernelkit" / "push.json").read_text())["version"] == 1


def push_cut_off(repository):
    """Push with a command that is killed before its request is sent; returns what would send it."""
    cuts = []

    def cut(sending):
        cuts.append(sending)
        raise SystemExit

    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(Sending, "once", cut)
        repository.push("files=1")
    return cuts[0]


def test_a_push_that_kaggle_cannot_be_asked_about_is_looked_for_later(repository, serve):
    server = serve(queue_seconds=1.0)
    server.faults = FaultSchedule([Fault("SaveKernel", 1, FaultKind.LOST_ANSWER)])
    refusal = Failure(FailureKind.CREDENTIALS, "GetKernel", "no")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(errors.NetworkError, match="known"):
        patch.setattr(Sending, "_recovered", Mock(side_effect=refusal))
        repository.push("files=1")
    assert repository.states() == ["sending"]
    assert (repository.resume("last") / "0.bin").is_file()
    assert repository.states() == ["complete"]
    assert server.faults.calls["SaveKernel"] == 1


def test_a_push_that_arrives_late_is_not_made_again(repository, serve, monkeypatch):
    serve(queue_seconds=1.0)
    sending, look = push_cut_off(repository), push_module.find_interrupted

    def late(*arguments):
        threading.Timer(0.2, sending.once).start()
        look(*arguments)

    monkeypatch.setattr(push_module, "find_interrupted", late)
    assert repository.push("files=1").name.endswith("-v1")
    assert len(repository.pushes()) == 1


def test_a_push_cut_off_before_it_arrived_is_made_again(repository, kaggle):
    push_cut_off(repository)
    with pytest.raises(errors.ParameterError, match="created no version: push again"):
        repository.resume("last")
    assert repository.push("files=1").name.endswith("-v1")


def test_a_session_that_kaggle_refuses_to_show_is_lost_until_it_does(
    repository, kaggle, monkeypatch
):
    repository.push("files=1", wait=False)
    back = "or access is refused for now .*kernelkit resume tester/blossom-train/1"
    with monkeypatch.context() as patch, pytest.raises(errors.RefusedError, match=back):
        patch.setattr(Kaggle, "status", lambda *_, **__: None)
        repository.resume("last")
    assert repository.states() == ["lost"]
    assert (repository.resume("last") / "0.bin").is_file()


def test_two_that_wait_for_one_run_fetch_it_once(repository, kaggle):
    repository.push("files=9", wait=False)
    with ThreadPoolExecutor(2) as pool:
        (folder,) = set(pool.map(repository.resume, ["last"] * 2))
    repository.assert_whole(folder, 9)
    assert kaggle.faults.calls["Download"] == 9 + 2 + 2  # the manifest for each


GOES_ON = """\
import os, pathlib
kept = sorted(pathlib.Path(os.environ["KERNELKIT_INPUT_ROOT"]).rglob("step.txt"))
step = 1 + int(kept[-1].read_text()) if kept else 1
pathlib.Path("step.txt").write_text(str(step))
stopped = "time limit" if step < 3 else ""
pathlib.Path("metrics.json").write_text('{"device": {"kind": "cpu"}, "stopped": "%s"}' % stopped)
"""


def test_a_continued_push_finds_what_the_last_version_left(repository, kaggle):
    repository.sources(GOES_ON, parameters="files = 0")
    repository.on_cpu()
    with pytest.raises(errors.PreflightError, match="no version to continue from"):
        repository.push(continues=True)
    assert "SaveKernel" not in kaggle.faults.calls
    assert (repository.push() / "step.txt").read_text() == "1"
    assert "kernelkit push --continue" in repository.message

    for step in ("2", "3"):  # the third is the second's push once more, and no mistake
        assert (repository.push(continues=True) / "step.txt").read_text() == step

    assert "last complete version of tester/blossom-train" in repository.message
    assert "ran out of time" not in repository.message
    assert repository.push(continues=True, dry_run=True) is None
    assert "kernel_data_sources = ['tester/blossom-train']" in repository.message
    with pytest.raises(errors.PreflightError, match=r"identical to tester/blossom-train/3"):
        repository.push()


@pytest.mark.parametrize("reference", ["blossom", "a/b/c", f"a/b/{'9' * 30}", f"a/b/{'9' * 5000}"])
def test_resume_wants_a_whole_reference(repository, reference):
    with pytest.raises(errors.ParameterError, match="OWNER/SLUG/N"):
        repository.resume(reference)


def test_a_run_without_the_accelerator_that_was_asked_for_is_told_apart(repository, kaggle):
    repository.sources("""open("metrics.json", "w").write('{"device": {"kind": "cpu"}}')""")
    with pytest.raises(errors.AcceleratorMismatchError, match="TPU and had CPU"):
        repository.push()
    assert repository.states() == ["failed"]


def test_a_run_says_by_an_exceptions_name_why_it_ended(repository, kaggle):
    repository.sources("class DataError(Exception): pass\nraise DataError('no photos')")
    repository.on_cpu()
    with pytest.raises(errors.DataError, match="no photos"):
        repository.push()
    assert "no photos" in repository.message


def test_parameters_that_json_does_not_hold_reach_the_session(repository, kaggle):
    repository.on_cpu()
    cell = 'names = {"a"}\nlimits = (1.0,)\nrates = {}'
    repository.sources("print('got', names, limits, rates)", parameters=cell)
    repository.push('names={"z"}', "limits=(inf,)", "rates={1: [-inf]}")
    assert "got {'z'} (inf,) {1: [-inf]}" in repository.message
    (push,) = repository.pushes()
    assert push.parameters == {
        "names": "{'z'}",
        "limits": [float("inf")],
        "rates": "{1: [-1e309]}",
    }


def test_a_dry_run_sends_nothing(repository, kaggle):
    assert repository.push(dry_run=True, timeout=30) is None
    assert "for at most 30 min" in repository.message
    assert "no git commit" in repository.message
    assert "SaveKernel" not in kaggle.faults.calls
    assert "session_timeout_seconds = 1800" in repository.message
    assert not (repository.runs / "pushes.sqlite").exists()


def test_a_dry_run_that_kaggle_cuts_off_attaches_its_wheels_once(repository, kaggle, index):
    index.add("bloom")
    repository.configure('wheels = ["bloom==1.0"]\n')
    kaggle.faults = FaultSchedule([Fault("GetKernelSessionStatus", 0, FaultKind.ERROR_503)])
    repository.push(dry_run=True)
    assert "the online checks were skipped" in repository.message
    assert "dataset_data_sources = ['tester/" in repository.message
    assert repository.message.count("attached as your dataset") == 1


PLACES_OF_A_KEY = (
    "blossom/petals.py:1",
    "[parameters]:2",
    "[text cell 1]:1",
    "tags and attachments:4",
    "attachment:1",
    "kernel-metadata.json:1",
)


def test_ones_own_key_does_not_leave_the_desk(repository, kaggle, notebook_code):
    key = kaggle.key()
    data = base64.b64encode(f"a picture of {key}".encode()).decode()
    cell = {
        "cell_type": "markdown",
        "id": "a",
        "metadata": {"tags": [f"x{key}"]},
        "attachments": {"photo.png": {"image/png": data}},
        "source": f"as I said: {key}",
    }
    repository.package.joinpath("petals.py").write_text(f"F1 = 0.5  # {key}\n")
    repository.describe(keywords=[key])
    use = notebook_code("from blossom import petals\n")
    repository.cells(notebook_code('note = ""', ["parameters"]), use, cell)

    for dry_run in (True, False):
        with pytest.raises(errors.PreflightError) as caught:
            repository.push(f"note={key}", dry_run=dry_run)
        for place in PLACES_OF_A_KEY:
            assert f"{place} looks like your own Kaggle key" in str(caught.value)
        assert key not in str(caught.value) + repository.message
    assert "SaveKernel" not in kaggle.faults.calls
    assert not any(key.encode() in p.read_bytes() for p in repository.runs.rglob("*.sqlite"))


def test_no_secret_is_printed_or_kept_and_json_gives_one_object_a_line(repository, kaggle, capfd):
    key = kaggle.key()
    metrics = "open('metrics.json', 'w').write('{}')"
    repository.sources(f"print('{key[:16]}' + '{key[16:]}')\n{metrics}")
    repository.on_cpu()
    folder = repository.push(as_json=True)

    assert key not in repository.message + "".join(capfd.readouterr())
    kept = [p for p in repository.runs.rglob("*") if p.is_file()]
    assert "[secret]" in (folder / ".kernelkit" / "log.txt").read_text()
    assert not any(key.encode() in p.read_bytes() for p in kept)
    events = {event["event"]: event for event in map(json.loads, repository.message.splitlines())}
    assert next(iter(events)) == "bundle"
    assert {"pushed", "state", "log", "fetched"} <= set(events)
    assert events["fetched"]["rehearsal"]


SCRIPT = """\
'''Count the petals.'''
from __future__ import (
    annotations,
)  # for Later
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
    assert proved.is_proved(folder, "1.txt")
    pushed = (folder / ".kernelkit" / "pushed.py").read_text()
    future = "from __future__ import annotations\n"
    assert pushed.startswith(f"'''Count the petals.'''\n{future}")
    assert "unverified" not in script.message
    assert (folder / "report.html").resolve().as_uri() in script.message


def test_a_script_that_fails_proves_what_it_left_and_names_its_log(script, kaggle):
    with pytest.raises(errors.RunFailedError):
        script.push("files=2", "fail=True")
    assert proved.is_proved(script.runs / "rehearsal-blossom-train-v1", "1.txt")
    (script.root / "train.py").write_text("import sys\nprint('so far')\nsys.exit(3)\n")
    with pytest.raises(errors.RunFailedError, match=r"its log has no exception: .*log\.txt"):
        script.push()


def test_a_folder_is_checked_without_an_account(repository, monkeypatch):
    monkeypatch.setattr(PushContext, "connect", pytest.fail)
    root = str(repository.root)
    for here, words in ((root, []), ("/", [root]), ("/", [root, "-p", "files=1"])):
        monkeypatch.chdir(here)
        done = CliRunner().invoke(console.main, ["check", *words])
        assert done.exit_code == 0, done.output
        assert "checked   nothing to correct" in done.output


def test_a_folder_given_by_p_as_to_the_official_client_is_told_how_to_give_it(repository):
    done = CliRunner().invoke(console.main, ["check", "-p", str(repository.root)])
    assert done.exit_code == 2
    assert f"leave out -p before {repository.root}" in done.output


def test_a_text_that_sets_no_parameter_is_refused(repository):
    with pytest.raises(errors.ParameterError, match="nowhere"):
        push_kernel(repository.root, ["nowhere"], dry_run=True)

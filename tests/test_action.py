"""action.yml checks, rehearses, pushes and collects in separate jobs; its logs hold no secret."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from checkouts import ROOT

from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
TOKEN = "KGAT_0123456789abcdef0123456789abcdef"
NAME = re.compile(r"(?:inputs|steps)\.[\w.-]+")
NOTEBOOK = """\
# %% tags=["parameters"]
trees = 5  # >= 1: how many
output = ""  # the folder of a run's files

# %%
import json, os, pathlib, time
time.sleep({seconds})
pathlib.Path(output, "submission.csv").write_text("id,label\\na,0\\nb,1\\n")
print(f"made {{time.time()}}", "with a token" if "KAGGLE_API_TOKEN" in os.environ else "")
pathlib.Path(output, "metrics.json").write_text(json.dumps({{"rmse": {rmse}, "rows": 1200}}))
"""
MARK = re.compile(r"made [\d.]+.*")
SWEEP = "notebook: count.py\ngrid: {trees: [5, 6]}\n"


class Runner:
    """A runner of jobs: a checkout for each, the steps of the action in order, and one cache."""

    seconds, rmse = 3, "0.25"  # of the notebook

    def __init__(self, folder, server=None):
        self.server, self.folder = server, folder
        self.log = ""
        self.summary = folder / "summary.md"
        self.values = {}  # of inputs and of steps' outputs, by the names that expressions have
        self.caches = []  # (key, paths, folder), oldest first
        self.metadata = {
            "id": "INSERT_USERNAME/count-rows",
            "title": "Count rows",
            "language": "python",
            "kernel_type": "notebook",
            "code_file": "count.py",
            "enable_internet": False,
        }

    def check_out(self):
        """The repository in a new folder: nothing but the files that are committed."""
        self.checkout = self.folder / f"checkout-{time.monotonic_ns()}"
        self.checkout.mkdir()
        (self.checkout / "pyproject.toml").write_text("[tool.kernelkit]\n")
        notebook = NOTEBOOK.format(rmse=self.rmse, seconds=self.seconds)
        (self.checkout / "count.py").write_text(notebook)
        (self.checkout / "trees.yaml").write_text(SWEEP)
        (self.checkout / "kernel-metadata.json").write_text(json.dumps(self.metadata))

    def passes(self, command, **inputs):
        """Run a job that ends well."""
        assert self.run(command, **inputs) == 0, self.log

    def run(self, command, **own):
        """A job: run the action with this command, but its installation; returns the exit code."""
        self.check_out()
        inputs = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
        inputs |= {"command": command, "token": TOKEN if self.server else ""} | own
        assert set(inputs) == set(ACTION["inputs"])
        self.values, code = {f"inputs.{name}": value for name, value in inputs.items()}, 0
        for step in STEPS[1:]:
            condition = NAME.sub(lambda m: repr(self.values.get(m[0], "")), step.get("if", "True"))
            for word, python in {"always()": "True", "||": "or", "&&": "and"}.items():
                condition = condition.replace(word, python)
            if (code and "always()" not in step.get("if", "")) or not eval(condition):
                continue
            if "uses" in step:
                filled = {name: self._filled(text) for name, text in step["with"].items()}
                done = getattr(self, step["uses"].split("/")[2].partition("@")[0])(**filled)
            else:
                done = self.shell(step)
            code = code or done or 0
            self.values[f"steps.{step['id']}.outcome"] = "failure" if done else "success"
        return code

    def output(self, name):
        """What a later step of the job reads."""
        return self._filled(ACTION["outputs"][name]["value"])

    def _filled(self, text):
        """A text with the value of each of its expressions."""
        whole = re.sub(r"\$\{\{ (.*?) \}\}", lambda m: self.values.get(m[1], ""), text)
        assert "${{" not in whole
        return whole

    def restore(self, *, path, key, **prefixes):
        assert not [cache for cache in self.caches if cache[0] == key]
        names = [c for c in self.caches if c[0].startswith(prefixes["restore-keys"])]
        for _, paths, folder in names[-1:]:
            assert paths == path  # other paths are another cache
            shutil.copytree(folder, self.checkout, dirs_exist_ok=True)

    def save(self, *, path, key):
        folder = self.folder / f"cache-{time.monotonic_ns()}"
        wanted, barred = [], []
        for pattern in path.splitlines():
            hits = self.checkout.glob(pattern.removeprefix("!"))
            (barred if pattern.startswith("!") else wanted).extend(hits)
        if not wanted:  # the action warns and saves nothing
            return
        for source in set(wanted) - set(barred):
            target = folder / source.relative_to(self.checkout)
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
        self.caches.append((key, path, folder))

    def shell(self, step):
        """Run one step of the action; returns its exit code."""
        environment = dict(os.environ)
        if self.server:
            environment = self.server.client_environment()
        outputs = self.folder / "outputs"
        outputs.write_text("")
        environment |= {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}",
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_RUN_ID": "77",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_WORKSPACE": str(self.checkout),
            "PYTHONWARNINGS": "ignore",
            "RUNNER_TEMP": str(self.folder),
        }
        environment |= {name: self._filled(text) for name, text in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.checkout / self._filled(step["working-directory"]),
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.log += done.stdout + done.stderr
        text = outputs.read_text()
        blocks = re.findall(r"^(\w+)<<(\S+)\n(.*?)\n\2$", text, re.M | re.S)
        written = re.findall(r"^(\w+)=(.*)$", text, re.M) + [(n, value) for n, _, value in blocks]
        self.values |= {f"steps.{step['id']}.outputs.{name}": value for name, value in written}
        return done.returncode


def stored(server, what, table):
    """What the local Kaggle has in a table."""
    with contextlib.closing(sqlite3.connect(server.root / "kaggle.sqlite", timeout=20)) as store:
        return store.execute(f"SELECT {what} FROM {table}").fetchall()


def sessions(server):
    """How many sessions were started."""
    return len(stored(server, "*", "sessions"))


@pytest.fixture
def job(tmp_path):
    limits = ServerLimits(lag_seconds=0)
    kaggle = LocalKaggle(tmp_path / "kaggle", limits=limits, tokens={TOKEN: "tester"})
    with kaggle as server:
        yield Runner(tmp_path, server)


@pytest.fixture
def fork(tmp_path):
    """A pull request's job: no secrets, and nobody to ask."""
    return Runner(tmp_path)


def until_complete(job, command, **inputs):
    """Run a command until what it looks after is over; returns the last exit code."""
    end = time.monotonic() + 100
    while not (code := job.run(command, **inputs)) and job.output("state") == "running":
        assert time.monotonic() < end, job.log
        time.sleep(1)
    return code


@pytest.mark.long
def test_dispatch_now_and_collect_later_on_another_machine(job):
    job.passes("dispatch", parameters="trees=7\n", accelerator="cpu")
    push = job.output("push")
    assert push == "tester/count-rows/1"
    assert f"`{push}`" in job.summary.read_text()

    job.caches.clear()  # without the ledger
    job.passes("collect", push=push)
    assert job.output("state") == "running"
    assert until_complete(job, "collect", push=push, output="home") == 0, job.log

    assert "| rmse | 0.2500 |" in job.summary.read_text()
    assert json.loads((job.checkout / "home" / "metrics.json").read_text())["rows"] == 1200
    files = [
        p.read_text("utf-8", "replace")
        for p in job.folder.rglob("checkout-*/**/*.*")
        if p.is_file()
    ]
    for text in (job.log, job.summary.read_text(), *files):
        assert TOKEN not in text
        assert job.server.key() not in text


@pytest.mark.long
def test_a_repeated_job_pushes_nothing_twice(job):
    for _ in range(2):  # the second one while the first one's session is alive
        job.passes("dispatch")
        assert (job.output("push"), job.output("state")) == ("tester/count-rows/1", "")
    assert "nothing changed since" in job.log
    assert until_complete(job, "collect") == 0, job.log
    job.passes("dispatch")
    assert (job.output("push"), sessions(job.server)) == ("tester/count-rows/1", 1)
    assert "is complete, and nothing changed since" in job.log

    job.passes("dispatch", force="true")
    assert job.output("push") == "tester/count-rows/2"


@pytest.mark.long
def test_a_run_that_fails_fails_the_job_and_says_why_and_is_pushed_again(job):
    job.rmse, job.seconds = "1 / 0", 0
    job.passes("dispatch")
    assert until_complete(job, "collect", push="last") == 6, job.log
    assert "ended in error" in job.summary.read_text()
    assert "ZeroDivisionError" in job.log

    job.passes("dispatch")
    assert job.output("push") == "tester/count-rows/2"


@pytest.mark.long
def test_a_submission_is_waited_for_as_long_as_is_said_and_entered_once(job, open_competition):
    open_competition(job.server, "meadow", "accuracy")
    job.metadata["competition_sources"] = ["meadow"]
    job.seconds = 6
    job.passes("dispatch")
    job.passes("submit", timeout="0.02")
    assert job.output("state") == "running"
    for _ in range(2):
        job.passes("submit", message="a 'first' $(try)")
        assert job.output("state") == "complete"
        job.passes("dispatch")
    assert "1.00000" in job.summary.read_text()
    assert stored(job.server, "description", "submissions") == [("a 'first' $(try)",)]
    assert sessions(job.server) == 1


@pytest.mark.long
def test_a_push_that_is_written_down_in_the_workflow_is_made_once_when_a_session_is_free(job):
    waiting = {"parameters": "trees=7", "timeout": "30"}
    job.passes("when-free", **waiting)
    assert job.output("state") == "running"
    for _ in range(2):  # the next jobs of a schedule
        assert until_complete(job, "when-free", **waiting) == 0, job.log
    assert (job.output("state"), sessions(job.server)) == ("complete", 1)
    assert re.search(r"tester/count-rows/1 \(rehearsal\)\s+cpu\s+complete", job.summary.read_text())


@pytest.mark.long
@pytest.mark.parametrize("kaggle", ["false", "true"])
def test_a_repeated_sweep_repeats_no_run(job, kaggle):
    job.seconds, printed = 0, []
    for _ in range(2):
        job.passes("sweep", sweep="trees.yaml", kaggle=kaggle)
        (results,) = job.checkout.glob("runs/*/results.json")
        notebooks = results.parent.glob("*/run.ipynb")
        printed.append(sorted(MARK.search(path.read_text())[0] for path in notebooks))
    first, second = printed
    assert (len(first), first) == (2, second)
    assert not any("token" in line for line in first)
    assert sessions(job.server) == (kaggle == "true")


@pytest.mark.long
def test_a_check_needs_no_token_and_finds_what_is_wrong(fork):
    fork.passes("check", parameters="trees=7")
    assert "checked" in fork.log
    fork.metadata["machine_shape"] = "TpuV99"
    assert fork.run("check") == 3
    assert fork.run("dispatch", ignore="machine") == 4  # no token
    assert not fork.caches, "an empty ledger would hide an earlier one"


def test_a_job_that_could_not_restore_the_ledger_saves_none(fork, monkeypatch):
    monkeypatch.setattr(fork, "restore", lambda **_: 1)
    monkeypatch.setattr(fork, "save", None)
    assert fork.run("dispatch") == 1


@pytest.mark.long
def test_a_rehearsal_needs_no_token(fork):
    fork.seconds = 0
    fork.passes("rehearse", parameters="trees=7", output="home")
    assert json.loads((fork.checkout / "home" / "metrics.json").read_text())["rows"] == 1200
    fork.rmse = "1 / 0"
    assert fork.run("rehearse") == 6
    assert fork.caches == []


HOSTILE = "'\"`$(touch pwned)` --force;"
PUSHED = "-p X --accelerator X --timeout X"


@pytest.mark.parametrize(
    ("command", "arguments", "off", "on"),
    [
        ("check", f"check {PUSHED} --ignore X", "", ""),
        ("rehearse", f"rehearse {PUSHED} --ignore X --submit X --output X", "", "--chain"),
        ("dispatch", f"push --no-wait --json {PUSHED} --ignore X", "--once", "--chain --force"),
        ("collect", "--output X", "", ""),
        ("submit", "submit --message X", "", ""),
        ("sweep", f"sweep {PUSHED}", "--retry-failed", "--force --kaggle --retry-failed"),
        ("when-free", f"push --when-free --no-wait {PUSHED} --ignore X --submit X", "", "--force"),
    ],
)
def test_an_input_is_an_argument_and_never_code(fork, command, arguments, off, on):
    fork.check_out()
    (step,) = [step for step in STEPS if step["id"] == "inputs"]
    hostile = dict.fromkeys(ACTION["inputs"], HOSTILE)
    hostile |= {"working-directory": ".", "command": command}
    switches = dict.fromkeys(("chain", "force", "kaggle"), "true")
    for inputs, options in ((hostile, off), (hostile | switches, on)):
        fork.values = {f"inputs.{name}": value for name, value in inputs.items()}
        fork.shell(step)
        words = f"{arguments} {options} -- X".split()
        written = (fork.folder / "kernelkit-arguments").read_text().split("\0")[:-1]
        assert written == [HOSTILE if word == "X" else word for word in words]
    assert not list(fork.folder.rglob("pwned"))


@pytest.mark.parametrize(
    ("command", "packages"),
    [
        ("check", ["/the/action"]),
        ("rehearse", ["/the/action[rehearse]", "/the/action/src/local_kaggle"]),
        ("sweep", ["/the/action[sweep]"]),
        ("frobnicate", []),
    ],
)
def test_the_action_installs_this_checkout(tmp_path, command, packages):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "COMMAND": command, "GITHUB_ACTION_PATH": "/the/action"}
    install = ["bash", "-c", STEPS[0]["run"]]
    done = subprocess.run(install, env=environment, capture_output=True, text=True)
    assert [word for word in done.stdout.splitlines() if "/" in word] == packages
    refused = done.returncode == 2 and "command takes check" in done.stderr
    assert refused == (not packages)


def test_the_action_uses_what_it_says_and_no_script_holds_an_expression():
    assert all(entry["description"] for entry in ACTION["inputs"].values())
    used = re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text())
    assert set(used) == set(ACTION["inputs"])
    assert not [step for step in STEPS if "${{" in step.get("run", "")]

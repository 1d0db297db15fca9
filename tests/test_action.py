"""action.yml dispatches and collects in separate processes, and its logs hold no secret."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TOKEN = "KGAT_0123456789abcdef0123456789abcdef"
NOTEBOOK = """\
import json, os, pathlib, time
time.sleep({seconds})
pathlib.Path("metrics.json").write_text(json.dumps({{"rmse": {rmse}, "rows": 1200}}))
"""


class Job:
    """A repository in a checkout of a CI job, and the action's steps run as a runner runs them."""

    def __init__(self, server, folder):
        self.server, self.folder = server, folder
        self.said = ""
        self.summary, self.outputs = folder / "summary.md", folder / "outputs"

    def write(self, *, rmse=0.25, seconds=3):
        """The repository in a new checkout: nothing but the two files that are committed."""
        cell = {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": NOTEBOOK.format(rmse=rmse, seconds=seconds),
        }
        parameters = cell | {
            "id": "p",
            "metadata": {"tags": ["parameters"]},
            "source": "trees = 5  # >= 1: how many",
        }
        notebook = {
            "cells": [parameters, cell],
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        }
        values = {
            "id": "INSERT_USERNAME/count-rows",
            "title": "Count rows",
            "language": "python",
            "kernel_type": "notebook",
            "code_file": "count.ipynb",
            "enable_internet": False,
        }
        self.checkout = self.folder / f"checkout-{time.monotonic_ns()}"
        self.checkout.mkdir()
        (self.checkout / "pyproject.toml").write_text("[tool.kernelkit]\n")
        (self.checkout / "count.ipynb").write_text(json.dumps(notebook))
        (self.checkout / "kernel-metadata.json").write_text(json.dumps(values))

    def step(self, command, **given):
        """Run the step of this command; returns its exit code."""
        inputs = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
        inputs |= {"command": command, "token": TOKEN} | given
        assert set(inputs) == set(ACTION["inputs"])
        (step,) = [s for s in ACTION["runs"]["steps"] if s.get("id") == command]
        assert step["if"] == f"inputs.command == '{command}'"
        environment = self.server.client_environment()
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        environment |= {
            "GITHUB_OUTPUT": str(self.outputs),
            "PYTHONWARNINGS": "ignore",
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        for name, value in step["env"].items():
            filled = re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda f: inputs[f[1]], value)
            assert "${{" not in filled
            environment[name] = filled
        done = subprocess.run(
            ["bash", "-c", step["run"]],
            cwd=self.checkout,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.said += done.stdout + done.stderr
        return done.returncode

    def output(self, name):
        lines = [line for line in self.outputs.read_text().splitlines() if line.startswith(name)]
        return lines[-1].partition("=")[2]


@pytest.fixture
def job(tmp_path, monkeypatch):
    limits = ServerLimits(lag_seconds=0)
    kaggle = LocalKaggle(tmp_path / "kaggle", limits=limits, tokens={TOKEN: "tester"})
    with kaggle as server:
        yield Job(server, tmp_path)


@pytest.mark.long
def test_dispatch_now_and_collect_later_on_another_machine(job):
    job.write()
    assert job.step("dispatch", parameters="trees=7\n", accelerator="cpu") == 0, job.said
    push = job.output("push")
    assert push == "tester/count-rows/1"
    assert f"`{push}`" in job.summary.read_text()

    job.write()  # without the ledger
    assert job.step("collect", push=push) == 0, job.said
    assert job.output("state") == "running"
    until = time.monotonic() + 100
    while job.output("state") == "running":
        assert time.monotonic() < until, job.said
        time.sleep(1)
        assert job.step("collect", push=push, output="home") == 0, job.said

    assert job.output("state") == "complete"
    assert "| rmse | 0.25 |" in job.summary.read_text()
    assert json.loads((job.checkout / "home" / "metrics.json").read_text())["rows"] == 1200
    kept = [p.read_text() for p in job.checkout.rglob("*") if p.suffix in (".jsonl", ".txt")]
    for text in (job.said, job.summary.read_text(), job.outputs.read_text(), *kept):
        assert TOKEN not in text
        assert job.server.key() not in text


@pytest.mark.long
def test_a_run_that_fails_fails_the_job_and_says_why(job):
    job.write(rmse="1 / 0", seconds=0)
    assert job.step("dispatch") == 0, job.said
    code = 0
    job.outputs.write_text("")
    while code == 0:
        time.sleep(1)
        code = job.step("collect", push="last")
    assert code == 6, job.said
    assert "ended in error" in job.summary.read_text()
    assert "ZeroDivisionError" in job.said


def test_the_action_installs_this_checkout_and_takes_what_it_says():
    install, *_ = ACTION["runs"]["steps"]
    assert '"$GITHUB_ACTION_PATH"' in install["run"]
    assert all(entry["description"] for entry in ACTION["inputs"].values())
    used = re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text())
    assert set(used) == set(ACTION["inputs"])

"""The compiler's environment: made once, after its size is said, where the compiler exists."""

import platform
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

from kernelkit import errors
from kernelkit.project import find_project
from kernelkit.tpu.compiler.environment import libtpu_folder, python_of  # before it is patched


@pytest.fixture
def commands(monkeypatch):
    """The commands that would have been run, and how pip would have ended."""
    found = namedtuple("Commands", "run, ended")([], {"code": 0, "stderr": ""})

    def run(command, **options):
        found.run.append(command)
        if "--target" in command and not found.ended["code"]:
            Path(command[command.index("--target") + 1]).mkdir()
        pip = "pip" in command
        return subprocess.CompletedProcess(
            command, found.ended["code"] if pip else 0, "", found.ended["stderr"]
        )

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return found


def made(repository):
    told = []
    python = python_of(find_project(repository.root), lambda event, text: told.append(text))
    return python, told


def test_it_is_made_once_of_pinned_and_hashed_requirements(garden, commands):
    python, told = made(garden)
    assert python == garden.root / ".venv-tpu" / "bin" / "python"
    assert "3 GB of somebody's compiler" in told[0]
    (pip,) = [command for command in commands.run if "pip" in command]
    assert "--require-hashes" in pip
    commands.run.clear()
    assert made(garden) == (python, [])
    assert commands.run == []
    (garden.root / "tpu.lock").write_text("jax==2\n")
    made(garden)
    assert commands.run


def test_another_libtpu_is_installed_beside_the_first_once(garden, commands):
    python, told = made(garden)
    python.parent.mkdir(parents=True, exist_ok=True)
    folder = libtpu_folder(python, "0.0.42.1", lambda *event: told.append(event))
    assert folder == garden.root / ".venv-tpu" / "libtpu-0.0.42.1"
    assert commands.run[-1][-1] == "libtpu==0.0.42.1"
    assert libtpu_folder(python, "0.0.42.1", commands.run.append) == folder
    assert told[-1] == ("environment", "installing libtpu 0.0.42.1, once")
    with pytest.raises(errors.ParameterError, match="a version such as"):
        libtpu_folder(python, "--pre", lambda *_: None)
    commands.ended.update(code=1, stderr="ERROR: No matching distribution for libtpu==9.9\n")
    with pytest.raises(errors.NoCompilerError, match=r"^libtpu 9\.9 could not be installed"):
        libtpu_folder(python, "9.9", lambda *_: None)


def test_one_that_could_not_be_made_is_not_taken_for_one(garden, commands):
    commands.ended.update(code=1, stderr="noise\nERROR: No matching distribution for jax==1\n")
    with pytest.raises(errors.NoCompilerError, match="No matching distribution") as raised:
        made(garden)
    assert raised.value.exit_code == 15
    commands.ended["code"] = 0
    assert made(garden)[1]


@pytest.mark.parametrize(("system", "processor"), [("Darwin", "arm64"), ("Linux", "aarch64")])
def test_where_there_is_no_compiler_it_says_so(garden, commands, monkeypatch, system, processor):
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    with pytest.raises(errors.NoCompilerError, match=f"this is {system} on {processor}"):
        made(garden)
    assert commands.run == []


def test_requirements_that_are_not_there_are_named(garden, commands):
    (garden.root / "tpu.lock").unlink()
    with pytest.raises(errors.PreflightError, match=r"no .*tpu\.lock"):
        made(garden)

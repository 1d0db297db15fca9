"""What is handed out: one version, a whole wheel, and what stands beside the code."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_one_version_stands_in_one_place(monkeypatch):
    from petals import run_folder

    monkeypatch.delenv("KERNELKIT_PROJECT_VERSION", raising=False)
    assert run_folder.versions()["petals"] == VERSION
    monkeypatch.setenv("KERNELKIT_PROJECT_VERSION", "7.8.9")
    assert run_folder.versions()["petals"] == "7.8.9"
    releases = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert releases[:2] == ["Unreleased", VERSION]
    again = [p for p in ROOT.glob("src/**/*.py") if re.search(r"^__version__", p.read_text(), re.M)]
    assert again == []


def test_hooks_and_workflow_call_what_is_there():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in hooks] == ["local"]
    commands = [hook["entry"].split()[0] for hook in hooks[0]["hooks"]]
    assert len(commands) == 3
    needed = (ROOT / "requirements.lock").read_text()
    for command in commands:
        assert re.search(rf"^{Path(command).name}==", needed, re.M), command
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert len(jobs) == 1
    assert ".ci/run" in [step.get("run") for step in jobs["ci"]["steps"]]
    assert (ROOT / ".ci/run").stat().st_mode & 0o111

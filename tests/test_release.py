"""What is handed out: one version, a whole wheel, and what stands beside the code."""

import ast
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = PROJECT["version"]


def test_one_version_stands_in_one_place(monkeypatch):
    from petals import versions

    monkeypatch.delenv("KERNELKIT_PROJECT_VERSION", raising=False)
    assert versions.versions()["petals"] == VERSION
    monkeypatch.setenv("KERNELKIT_PROJECT_VERSION", "7.8.9")
    assert versions.versions()["petals"] == "7.8.9"
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


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with what the wheel installs, away from the checkout."""
    here = tmp_path_factory.mktemp("wheel")
    checkout = here / "checkout"
    shutil.copytree(ROOT / "src", checkout / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("pyproject.toml", PROJECT["readme"], "LICENSE"):
        (checkout / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(here), str(checkout))
    (wheel,) = here.glob("*.whl")
    shutil.rmtree(checkout)
    pip("install", "--no-deps", "--target", str(here / "installed"), str(wheel))
    return here / "installed"


def pip(command, *arguments):
    options = ["--no-index", "--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", command, *options, *arguments], check=True)


@pytest.mark.long
def test_the_wheel_holds_every_file_of_kernelkit_and_nothing_else(installed):
    sources = {p for p in (ROOT / "src/kernelkit").rglob("*") if p.is_file()}
    wanted = {p.relative_to(ROOT / "src").as_posix() for p in sources if p.suffix != ".pyc"}
    assert "kernelkit/py.typed" in wanted
    assert len({Path(name).suffix for name in wanted}) > 4
    assert [name for name in sorted(wanted) if not (installed / name).is_file()] == []
    assert {p.name for p in installed.iterdir()} == {
        "bin",
        "kernelkit",
        f"kernelkit-{VERSION}.dist-info",
    }


def test_the_wheel_asks_for_what_kernelkit_imports():
    """Each module by name: what another dependency brings may go with its next version."""
    theirs = {**importlib.metadata.packages_distributions(), "local_kaggle": ["local_kaggle"]}
    needed = declared(PROJECT["dependencies"])
    assert not needed & {"tensorflow", "keras", "matplotlib", "scikit-learn", "joblib", "jax"}
    asked = needed | declared(chain(*PROJECT["optional-dependencies"].values()))
    missing = {
        module: path.name
        for path in (ROOT / "src/kernelkit").rglob("*.py")
        for module in set(top_level_imports(path)) - set(sys.stdlib_module_names) - {"kernelkit"}
        if not asked & set(map(canonical, theirs[module]))
    }
    assert missing == {}
    imported = {
        canonical(name)
        for path in (ROOT / "src/kernelkit").rglob("*.py")
        for module in top_level_imports(path)
        for name in theirs.get(module, ())
    }
    assert needed - imported == {"six"}  # which kaggle imports without declaring it


def test_the_wheels_page_is_about_kernelkit_and_stands_alone():
    page = (ROOT / PROJECT["readme"]).read_text()
    assert page.startswith("# kernelkit")
    assert not re.findall(r"(?i)petal|flower|tpu-getting-started", page)
    assert re.findall(r"\]\((?!https://)[^)]+\)", page) == []  # the wheel holds no other page


def declared(requirements):
    return {canonical(re.match(r"[\w-]+", line)[0]) for line in requirements}


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def top_level_imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]


@pytest.fixture
def away(installed, tmp_path):
    """Runs the installed command in an empty folder, without TensorFlow and without petals."""
    barred = tmp_path / "barred"
    barred.mkdir()
    (barred / "sitecustomize.py").write_text(
        "import sys\nfor name in ('tensorflow', 'keras', 'jax', 'sklearn', 'petals'):\n"
        "    sys.modules[name] = None\n"
    )
    work = tmp_path / "work"
    work.mkdir()
    environment = {name: value for name, value in os.environ.items() if "KAGGLE" not in name}
    environment |= {
        "PYTHONPATH": f"{barred}{os.pathsep}{installed}",
        "HOME": str(tmp_path),
        "JUPYTER_PATH": f"{sys.prefix}/share/jupyter",
    }

    def away(*arguments, command=(sys.executable, "-m", "kernelkit")):
        return subprocess.run(
            [*command, *arguments],
            cwd=work,
            capture_output=True,
            text=True,
            env=environment,
            timeout=200,
        )

    away.work = work
    return away


@pytest.mark.long
def test_the_wheel_answers_away_from_the_checkout(installed, away):
    where = "import kernelkit; print(kernelkit.__file__)"
    assert away("-c", where, command=[sys.executable]).stdout.startswith(str(installed))
    script = [sys.executable, str(installed / "bin" / "kernelkit")]
    for command in ([sys.executable, "-m", "kernelkit"], script):
        assert away("--version", command=command).stdout == f"kernelkit {VERSION}\n"
        assert "rehearse" in away("--help", command=command).stdout
    (away.work / "taken").mkdir()
    (away.work / "taken" / "file").write_text("")
    done = away("rehearse", "--output", "taken")
    assert done.returncode in (2, 3)
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_the_wheel_makes_reports_away_from_the_checkout(away):
    runs = shutil.copytree(ROOT / "tests/fixtures/b6ef335/runs", away.work / "runs")
    for name in ("tiny.py", "tiny.yaml"):
        shutil.copy(ROOT / "tests/fixtures/b6ef335" / name, away.work)
    for code, *arguments in (
        (0, "report", "runs", "--index"),
        (6, "sweep", "tiny.yaml", "--no-report"),
    ):
        done = away(*arguments)
        assert done.returncode == code, done.stderr
    assert "macro f1" in (runs / "home/report.html").read_text().lower()
    for page in (runs / "index.html", runs / "tiny/index.html"):
        assert "<style>" in page.read_text()


@pytest.mark.long
def test_the_wheel_rehearses_away_from_the_checkout(away):
    cell = {
        "cell_type": "code",
        "id": "a",
        "metadata": {"tags": ["parameters"]},
        "outputs": [],
        "execution_count": None,
        "source": "seeds = 5  # >= 1: how many",
    }
    work = cell | {"id": "b", "metadata": {}, "source": "open('n.txt', 'w').write(str(seeds))"}
    notebook = {"cells": [cell, work], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (away.work / "count.ipynb").write_text(json.dumps(notebook))
    values = {
        "id": "INSERT_USERNAME/count-seeds",
        "title": "Count seeds",
        "language": "python",
        "kernel_type": "notebook",
        "code_file": "count.ipynb",
        "enable_internet": False,
    }
    (away.work / "kernel-metadata.json").write_text(json.dumps(values))

    done = away("rehearse", "-p", "seeds=8")

    assert done.returncode == 0, done.stdout + done.stderr
    home = away.work / "runs" / "rehearsal-count-seeds-v1"
    assert (home / "n.txt").read_text() == "8"
    assert (home / "report.html").is_file()
    asked = away("push", "--no-wait", "--local")
    assert "start one that stays with python -m kernelkit local" in asked.stderr
    quota = [json.loads(line) for line in away("quota", "--local", "--json").stdout.splitlines()]
    assert {event["kind"] for event in quota} == {"tpu", "gpu"}

"""What is handed out: one version, a whole wheel, and what stands beside the code."""

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from itertools import chain
from pathlib import Path

import pytest
import yaml
from checkouts import ROOT, check_out, git
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_walls import packages_imported_by

from local_kaggle import LocalKaggle

FOLDERS = {"kernelkit": ROOT, "local_kaggle": ROOT / "src" / "local_kaggle"}
PROJECTS = {
    name: tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    for name, folder in FOLDERS.items()
}
VERSION = PROJECTS["kernelkit"]["version"]
# What a module is used by that nothing imports: kaggle needs six and does not declare it, and a
# session of the local Kaggle runs `python -m papermill` and its kernel in processes of their own.
NOT_IMPORTED = {"kernelkit": {"six"}, "local_kaggle": {"ipykernel", "ipywidgets", "papermill"}}


def test_one_version_stands_in_one_place():
    installed = {importlib.metadata.version(name) for name in PROJECTS}
    assert installed == {project["version"] for project in PROJECTS.values()} == {VERSION}
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


@pytest.mark.parametrize("name", FOLDERS)
def test_a_wheel_asks_for_what_its_package_imports(name):
    """Each module by name: what another dependency brings may go with its next version."""
    not_here = {"local_kaggle": ["local_kaggle"]}
    providers = importlib.metadata.packages_distributions() | not_here
    needed = declared(PROJECTS[name]["dependencies"])
    assert not needed & {"tensorflow", "keras", "matplotlib", "scikit-learn", "joblib", "jax"}
    offered = needed | declared(chain(*PROJECTS[name]["optional-dependencies"].values()))
    modules = packages_imported_by(name) - set(sys.stdlib_module_names) - {name}
    imported = {module: set(map(canonicalize_name, providers[module])) for module in modules}
    tolerated = {"kaggle"} if name == "local_kaggle" else set()  # attached where it is installed
    assert {m for m, by in imported.items() if not by & offered} == tolerated
    assert needed - set().union(*imported.values()) == NOT_IMPORTED[name]


def test_a_push_needs_nothing_of_the_local_kaggle():
    assert not declared(PROJECTS["kernelkit"]["dependencies"]) & {"starlette", "uvicorn"}
    rehearse = PROJECTS["kernelkit"]["optional-dependencies"]["rehearse"]
    assert declared(rehearse) == {"local-kaggle"}


@pytest.mark.parametrize("name", FOLDERS)
def test_the_page_of_a_wheel_is_about_its_package_and_stands_alone(name):
    page = (FOLDERS[name] / PROJECTS[name]["readme"]).read_text()
    assert page.startswith(f"# {name}")
    assert not re.findall(r"(?i)petal|flower|tpu-getting-started", page)
    assert re.findall(r"\]\((?!https://)[^)]+\)", page) == []  # the wheel holds no other page


def declared(requirements):
    return {canonicalize_name(Requirement(line).name) for line in requirements}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return check_out(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def wheels(checkout, tmp_path_factory):
    """Both wheels by name."""
    here, built = tmp_path_factory.mktemp("wheels"), {}
    for name, folder in FOLDERS.items():
        source = checkout / folder.relative_to(ROOT)
        pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(here / name), source)
        (built[name],) = (here / name).glob("*.whl")
        assert not (source / "build").exists()
    return built


@pytest.mark.long
def test_one_command_installs_both_packages_from_the_address_of_the_repository(tmp_path):
    pages = [(ROOT / name).read_text() for name in ("README.md", "docs/index.md")]
    lines = {re.search(r"^pip install (.*)$", page, re.M)[1] for page in pages}
    (line,) = lines
    sources = shlex.split(line.replace("THE-ADDRESS-OF-THIS-REPOSITORY", f"file://{ROOT}"))
    pip("install", "--no-deps", "--no-build-isolation", "--target", tmp_path, *sources)
    assert all((tmp_path / name / "__init__.py").is_file() for name in FOLDERS)


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_built_from_a_commit_is_the_same_everywhere(checkout, name, tmp_path):
    archives = []
    for root in (ROOT, checkout):  # whose files differ in their dates
        folder = tmp_path / str(len(archives))
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
        source = root / FOLDERS[name].relative_to(ROOT)
        subprocess.run(command, cwd=source, check=True, capture_output=True)
        archives.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert len(archives[0]) == 2
    assert archives[0] == archives[1]
    licence = (FOLDERS[name] / "LICENSE").read_text()  # no link, which an sdist would break
    assert licence == (ROOT / "LICENSE").read_text()


def pip(*words):
    command = [sys.executable, "-m", "pip", *map(str, words)]
    subprocess.run([*command, "--quiet", "--disable-pip-version-check"], check=True)


@pytest.mark.long
@pytest.mark.parametrize("name", FOLDERS)
def test_a_wheel_holds_every_file_of_its_package_and_nothing_else(wheels, name):
    folder = ROOT / "src" / name
    sources = {p.relative_to(ROOT / "src").as_posix() for p in folder.rglob("*") if p.is_file()}
    outside = ("LICENSE", "README.md", "pyproject.toml")  # of the distribution, not the package
    wanted = {
        source
        for source in sources
        if not source.endswith(".pyc") and source not in {f"{name}/{file}" for file in outside}
    }
    with zipfile.ZipFile(wheels[name]) as wheel:
        held = {path for path in wheel.namelist() if ".dist-info/" not in path}
        licences = [path for path in wheel.namelist() if path.endswith("/LICENSE")]
    assert f"{name}/py.typed" in wanted
    assert held == wanted
    assert licences


class Environment:
    """A virtual environment with wheels and what they ask for, and nothing else of this one."""

    def __init__(self, folder, wheels):
        venv.create(folder / "env", symlinks=True)
        self.bin = folder / "env" / "bin"
        pip("--python", self.bin / "python", "install", "--no-index", "--no-deps", *wheels)
        (site,) = (folder / "env" / "lib").glob("python*/site-packages")
        distributions = {}
        for wheel in wheels:
            add_needed(distributions, PROJECTS[wheel.name.split("-")[0]]["dependencies"])
        for distribution in distributions.values():
            for file in distribution.files:
                origin = Path(distribution.locate_file(file))
                if ".." not in file.parts and file.suffix != ".pyc" and origin.is_file():
                    (site / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(origin, site / file)
        others = {name: value for name, value in os.environ.items() if "KAGGLE" not in name}
        self.variables = others | {"HOME": str(folder)}
        self.work = folder / "work"
        self.work.mkdir()

    def run(self, name, *arguments, code=0, **variables):
        """Run a program that ends with this code; gives what it writes."""
        done = subprocess.run(
            [self.bin / name, *arguments],
            cwd=self.work,
            capture_output=True,
            text=True,
            env=self.variables | variables,
            timeout=200,
        )
        output = done.stdout + done.stderr
        assert done.returncode == code, output
        return output


def add_needed(distributions, lines, extras=()):
    """Add what requirements ask for, directly or not, of what is installed here."""
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        holds = marker is None or any(marker.evaluate({"extra": e}) for e in ("", *extras))
        key = (canonicalize_name(requirement.name), *requirement.extras)
        if holds and key not in distributions:
            distributions[key] = importlib.metadata.distribution(key[0])
            add_needed(distributions, distributions[key].requires or (), requirement.extras)


@pytest.fixture
def environment(wheels, tmp_path):
    """Makes an environment with these wheels and no other of ours, used in an empty folder."""

    def environment(*names):
        made = Environment(tmp_path, [wheels[name] for name in names])
        for name in set(FOLDERS) - set(names):
            absent = made.run("python", "-c", f"import {name}", code=1)
            assert f"No module named '{name}'" in absent
        return made

    return environment


@pytest.mark.long
def test_the_local_kaggle_alone_runs_what_the_genuine_client_pushes(environment, tmp_path):
    alone = environment("local_kaggle")
    kernel = tmp_path / "kernel"
    kernel.mkdir()
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    (kernel / "hello.ipynb").write_text(notebook("print('hello from', 6 * 7)", **spec))
    metadata = {"id": "tester/say-hello", "title": "Say hello", "code_file": "hello.ipynb"}
    metadata |= {"language": "python", "kernel_type": "notebook", "enable_internet": False}
    (kernel / "kernel-metadata.json").write_text(json.dumps(metadata))
    server = subprocess.Popen(
        [alone.bin / "local-kaggle", "--json"],
        cwd=alone.work,
        stdout=subprocess.PIPE,
        text=True,
        env=alone.variables,
    )

    def client(*words):
        command = [sys.executable, "-m", "kaggle", "kernels", *map(str, words)]
        done = subprocess.run(command, env=there, capture_output=True, text=True, timeout=100)
        return done.stdout + done.stderr

    try:
        event = json.loads(server.stdout.readline())
        there = {k: v for k, v in os.environ.items() if k not in event["unset"]} | event["set"]
        assert "version 1 successfully pushed" in client("push", "-p", kernel)
        assert "hello from 42" in client("logs", "--follow", "tester/say-hello")
    finally:
        server.terminate()
        server.communicate(timeout=20)


@pytest.mark.long
def test_kernelkit_alone_checks_a_push_makes_pages_and_says_what_a_rehearsal_needs(
    environment, tmp_path
):
    alone = environment("kernelkit")
    assert alone.run("kernelkit", "--version") == f"kernelkit {VERSION}\n"
    alone.run("kernelkit", "init", "soil")
    alone.work /= "soil"
    with LocalKaggle(tmp_path / "kaggle") as kaggle:
        there = kaggle.client_environment(alone.variables)
        assert "train.ipynb with soil" in alone.run("kernelkit", "push", "--dry-run", **there)
    refused = alone.run("kernelkit", "rehearse", code=2)
    assert "pip install local_kaggle" in refused
    assert "Traceback" not in refused

    run = alone.work / "runs" / "home"
    run.mkdir(parents=True)
    (run / "metrics.json").write_text('{"macro_f1": 0.5, "seconds": 3}')
    (run / "run.ipynb").write_text(notebook("print(1)"))
    alone.run("kernelkit", "sweep", "notebooks/sweeps/first.yaml", "--dry-run")
    alone.run("kernelkit", "report", "runs", "--index")
    assert "<style>" in (alone.work / "runs" / "index.html").read_text()


@pytest.mark.long
def test_both_wheels_together_rehearse_a_new_project(environment):
    both = environment("kernelkit", "local_kaggle")
    both.run("kernelkit", "init", "soil")
    both.work /= "soil"
    both.run("kernelkit", "rehearse")
    home = both.work / "runs" / "rehearsal-soil-notebook-v1"
    assert (home / "metrics.json").is_file()
    assert (home / "report.html").is_file()
    events = both.run("kernelkit", "status", "--quota", "--local", "--json").splitlines()
    assert {json.loads(event)["kind"] for event in events} == {"tpu", "gpu"}


def notebook(source, **metadata):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "source": source}
    cells = [cell | {"execution_count": None}]
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


ADDRESS = "THE-ADDRESS-OF-THIS-REPOSITORY"
HERE = r"(?:\$ )?(git clone|cd kernelkit|python3 -m venv|python -m pip wheel|pip install dist/)"


@pytest.mark.long
@pytest.mark.parametrize("page", ["README", "docs/index", "docs/tutorials/another-repository"])
def test_what_clones_and_installs_runs_as_it_is_pasted(page, checkout, tmp_path):
    """Pip finds what the wheels need where these tests run, instead of on an index."""
    if not (checkout / ".git").exists():
        git(checkout, "init", "-q", "-b", "main")
        git(checkout, "add", "--all")
        git(checkout, "commit", "-q", "-m", "as it is")
    text = (ROOT / f"{page}.md").read_text()
    lines = [line for line in text.splitlines() if re.match(HERE, line)]
    assert ADDRESS in lines[0]
    pasted = "\n".join(line.removeprefix("$ ") for line in lines)
    others = tmp_path / "others"  # what is installed here besides the kit
    others.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith((*FOLDERS, "_")):
            (others / path.name).symlink_to(path)
    variables = os.environ | {
        "PYTHONPATH": str(others),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "false",  # as pip reads it: no isolation
    }
    script = f"set -e\n{pasted.replace(ADDRESS, str(checkout))}\n"
    if "dist/" in pasted:
        script += "kernelkit --version; command -v kernelkit local-kaggle"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "kernelkit/Makefile").is_file()
    if "dist/" in pasted:
        assert f"kernelkit {VERSION}\n{tmp_path}/.venv/bin/kernelkit" in done.stdout

"""Each command in the docs is run here or by another test, or is marked as needing an account."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import click
import pytest
from checkouts import ROOT, check_out
from records import jpeg

from kernelkit.cli.console import main

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")))
}
FENCED = re.compile(r"^( *)```([^\n]*)\n(.*?)^ *```$", re.M | re.S)
SHELL = ("console", "bash", "sh", "shell")
ACCOUNT = 'title="Needs a Kaggle account"'
STARTS = r"(?:make|python|pip|kernelkit|kaggle|local-kaggle|jupytext|git|\.venv/bin/\w+)"
# Commands that a page's test leaves out, and what runs them.
ELSEWHERE = {
    r"make (?!run$)[a-z -]+": "Makefile",  # the tests themselves, and what has its own environment
    r"kernelkit (?:sweep|report) \S+ .*--open": "tests/browser/test_live.py",
    r"kernelkit check --tpu .*": "tests/shipped/test_tpu_check.py",  # 2.8 GB
    r"\.venv/bin/python -m pytest tests/\S+ .*": "tests/petals/models/test_build.py",
    r"(?:git clone|cd kernelkit|pip install (?:dist/|\"git\+)).*": "tests/test_release.py",
    r"python3? -m (?:venv|pip wheel).*": "tests/test_release.py",
}
FIRST_RUN = "docs/tutorials/first-run.md"
# What a page takes for granted.
TRAINED = (
    "kernelkit run notebooks/02_train.py --name trained -p data=embedded "
    "-p backbone=SmallNet -p weights=none -p image_size=64 -p limit=208 -p views=1"
)
CHAINED = """\
mkdir chain && cd chain && git init -q
before=
for kernel in features train submit; do
  mkdir $kernel && echo 'open("out.txt", "w").close()' > $kernel/$kernel.py
  echo '{"id": "INSERT_USERNAME/harvest-'$kernel'", "title": "Harvest '$kernel'",' \
    '"code_file": "'$kernel'.py", "language": "python", "kernel_type": "script",' \
    '"enable_internet": false, "kernel_sources": ['$before']}' > $kernel/kernel-metadata.json
  before='"INSERT_USERNAME/harvest-'$kernel'"'
done"""
STRANGERS = """\
git init -q .
P=examples/harvest/PROJECT
mkdir $P
echo 'print(1)' > $P/a.py
echo '{"id": "tester/strangers-kernel", "title": "Strangers kernel", "code_file": "a.py",' \
  '"language": "python", "kernel_type": "script"}' > $P/kernel-metadata.json"""
OWN = """\
cd "$(mktemp -d)" && git init -q .
echo '{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "source": "print(285)",' \
  '"outputs": [], "execution_count": null}], "metadata": {}, "nbformat": 4,' \
  '"nbformat_minor": 5}' > own.ipynb"""
PAGE_FILES = f"{sys.executable} {ROOT}/tests/shipped/page_files.py {ROOT}/docs/how-to"
TABULAR = f"{sys.executable} {ROOT}/tests/shipped/tabular.py\ncd insurance"
OWN_GPU = f"""\
{TABULAR}
rm insurance.ipynb
{PAGE_FILES}/own-gpu.md
mkdir -p models/exp12
echo '{{"start": 50, "slope": 0.7}}' > models/exp12/line.json"""
GPU_CI = f"""\
cd "$(mktemp -d)" && mkdir -p gpu/tests
{PAGE_FILES}/gpu-ci.md
cd gpu
echo 'import soil; test_it = lambda: print(soil.__name__)' > tests/test_soil.py
mkdir soil && echo 'def grow(): return 1' > soil/soil.py
echo '[project]
name = "soil"
version = "1"
[tool.setuptools]
py-modules = ["soil"]' > soil/pyproject.toml
{sys.executable} -m pip wheel -q --no-deps --no-build-isolation -w dist ./soil
rm -r soil"""
BEFORE = {
    "README.md": OWN,
    "docs/tutorials/your-own-notebook.md": OWN,
    "docs/how-to/sweep.md": TRAINED,
    "docs/how-to/short-answers.md": "mkdir -p runs",
    "docs/how-to/tabular.md": TABULAR,
    "docs/how-to/own-gpu.md": OWN_GPU,
    "docs/how-to/gpu-ci.md": GPU_CI,
    "docs/how-to/chains.md": CHAINED,
    "docs/how-to/local-kaggle.md": STRANGERS,
    "docs/how-to/pull.md": "git init -q .",
}


@dataclass(frozen=True)
class Command:
    """A line to type, whether it needs an account, and the error that the page shows after it."""

    line: str
    account: bool = False
    error: str = ""

    @property
    def elsewhere(self):
        """The file that runs it, if its page's test does not."""
        plain = self.line.split("  #")[0].strip()
        return next((file for what, file in ELSEWHERE.items() if re.fullmatch(what, plain)), "")


def commands(text):
    """The commands of a page: after `$ ` where a block shows answers, else every line."""
    typed = []
    for _, info, block in FENCED.findall(text):
        if info.split(" ")[0] not in SHELL:
            continue
        lines = textwrap.dedent(block).replace("\\\n", " ").splitlines()
        prompts = any(line.startswith("$ ") for line in lines)
        for number, line in enumerate(lines):
            if line.strip() and (line.startswith("$ ") or not prompts):
                answer = lines[number + 1] if number + 1 < len(lines) else ""
                error = answer if answer.startswith("error:") else ""
                typed.append(Command(line.removeprefix("$ "), ACCOUNT in info, error))
    return typed


def run_here(page):
    """What the page's test runs; `make run`, of three minutes, on the page about it alone."""
    return [
        command
        for command in commands(PAGES[page])
        if not command.account and not command.elsewhere
        if not command.line.startswith("make run") or page == FIRST_RUN
    ]


def test_no_command_hides_in_a_block_of_another_language():
    hidden = {
        name: line
        for name, text in PAGES.items()
        for _, info, block in FENCED.findall(text)
        if info.split(" ")[0] not in SHELL
        for line in block.splitlines()
        if re.match(rf" *(?:\$ \S|{STARTS} )", line)
    }
    assert hidden == {}


def test_a_prompt_stands_only_before_an_answer():
    """Whoever copies from an editor or from GitHub pastes the prompt too."""
    readme = ROOT / "src/local_kaggle/README.md"
    prompted = [
        block
        for text in (*PAGES.values(), readme.read_text())
        for _, _, block in FENCED.findall(text)
        if all(line.lstrip().startswith("$ ") for line in block.replace("\\\n", "").splitlines())
    ]
    assert prompted == []


def options(command):
    """The long names of all options of a command and of those below it."""
    for each in getattr(command, "commands", {}).values():
        yield from options(each)
    for option in command.params if not command.hidden else ():
        if isinstance(option, click.Option) and not option.hidden:
            yield {name for name in (*option.opts, *option.secondary_opts) if name[:2] == "--"}


def test_every_option_is_told_of_in_a_how_to_or_a_tutorial():
    reads = ("README.md", "docs/tutorials/", "docs/how-to/")
    text = "".join(text for page, text in PAGES.items() if page.startswith(reads))
    told = set(re.findall(r"--[a-z][a-z-]*", text))
    assert [names for names in options(main) if not names & told] == []


def test_what_runs_a_command_elsewhere_is_there_and_needed():
    lines = [c for text in PAGES.values() for c in commands(text)]
    assert {c.elsewhere for c in lines} - {""} == set(ELSEWHERE.values())
    assert [file for file in ELSEWHERE.values() if not (ROOT / file).is_file()] == []


def test_only_what_reaches_kaggle_is_marked_as_needing_an_account():
    marked = [c.line for text in PAGES.values() for c in commands(text) if c.account]
    assert len(marked) > 10
    names = "doctor|push|resume|status|stop|submit|upload|pull"
    reaches = rf"kernelkit (?:{names}|init .*--from)|tools/push_\w+\.py"
    assert [line for line in marked if not re.search(reaches, line)] == []
    assert [line for line in marked if re.search(r"--local|(?<!pull )--dry-run", line)] == []


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What pages speak of as the reader's own: photos in folders, and weights of a backbone."""
    from petals.models.backbones import Backbone

    folder = tmp_path_factory.mktemp("files")
    for number in range(120):
        place = f"photos/{number % 3}" if number < 90 else "holiday"
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / f"{number}.jpg").write_bytes(jpeg(number, 64))
    labels = [f"{number % 3}/{number}.jpg,{number % 3}" for number in range(90)]
    (folder / "train.csv").write_text("\n".join(["image_id,breed", *labels]))
    backbone = Backbone("MobileNet-0.75")
    (folder / "weights").mkdir()
    file = backbone.weights_files(192)[0].removesuffix(".h5") + ".weights.h5"
    backbone.build(192).save_weights(str(folder / "weights" / file))
    return folder


@pytest.fixture
def scratch(tmp_path, files):
    return shutil.copytree(files, check_out(tmp_path / "repository"), dirs_exist_ok=True)


def script(page):
    """The page's commands as one shell would be given them."""
    steps = ["set -e", 'trap "kill \\$(jobs -p) 2>/dev/null || true" EXIT', BEFORE.get(page, "")]
    for command in run_here(page):
        line = command.line
        steps.append(f"echo {shlex.quote(line)} >&2")
        if line.startswith(". "):  # "once the server has printed its lines"
            file = line.split()[1]
            steps.append(f"for _ in $(seq 300); do test -s {file} && break; sleep .2; done")
        steps.append(f"if {line}\nthen exit 97; fi" if command.error else line)
    return "\n".join(steps)


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if run_here(page)])
def test_the_commands_of_a_page_run_in_its_order(page, scratch, monkeypatch):
    monkeypatch.setenv("PATH", f"{scratch / '.venv/bin'}{os.pathsep}{os.environ['PATH']}")
    done = subprocess.run(
        ["bash", "-c", script(page)], cwd=scratch, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    output = done.stdout + done.stderr
    assert [c.error for c in run_here(page) if c.error not in output] == []

"""The tool as a process: its exit codes, and errors in one message."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelkit.sweep import specification

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "sweep.py"
SHIPPED = sorted((ROOT / "notebooks" / "sweeps").glob("*.yaml"))


def sweep(*arguments, cwd):
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tiny.py").write_text(
        '# %% tags=["parameters"]\na = 1  # >= 0: a number\n\n# %%\nassert a < 2\n'
    )
    (tmp_path / "good.yaml").write_text("notebook: tiny.py\ngrid: {a: [0, 1]}\n")
    (tmp_path / "bad.yaml").write_text("notebook: tiny.py\ngrid: {a: [1, 2]}\n")
    (tmp_path / "typo.yaml").write_text("notebook: tiny.py\ngrdi: {a: [1, 2]}\n")
    return tmp_path


def test_help_comes_at_once(folder):
    begun = time.monotonic()

    done = sweep("--help", cwd=folder)

    assert "SWEEP.yaml" in done.stdout
    assert time.monotonic() - begun < 2  # half a second on a machine that does nothing else


def test_a_typo_ends_in_2_and_one_line(folder):
    done = sweep("typo.yaml", cwd=folder)

    assert done.returncode == 2
    assert done.stderr == "error: typo.yaml: a sweep has no key 'grdi': did you mean grid?\n"
    assert not (folder / "runs").exists()


def test_a_dry_run_runs_nothing(folder):
    done = sweep("good.yaml", "--dry-run", cwd=folder)

    assert done.returncode == 0
    assert "2 runs, 0 done, 2 to run" in done.stdout
    assert not (folder / "runs").exists()


@pytest.mark.long
def test_failed_runs_end_in_6_with_a_list(folder):
    done = sweep("bad.yaml", "--no-report", cwd=folder)

    assert done.returncode == 6
    assert "1 of 2 runs done" in done.stdout
    assert "AssertionError" in done.stderr
    assert (folder / "runs" / "bad" / "index.html").is_file()


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_a_sweep_that_ships_fits_its_notebook_and_says_how_to_run_it(file):
    asked = specification.read(file)

    header = [line for line in file.read_text().splitlines() if line.startswith("#")]
    assert f"#   python tools/sweep.py notebooks/sweeps/{file.name}" in header
    assert any(line.startswith("# The result to expect") for line in header)
    assert asked.warm
    assert asked.search or len(asked.runs) >= 3

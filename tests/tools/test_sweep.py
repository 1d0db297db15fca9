"""The tool as a process, and the sweeps that ship."""

import subprocess
import sys
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
    (tmp_path / "bad.yaml").write_text("notebook: tiny.py\ngrid: {a: [1, 2]}\n")
    return tmp_path


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

"""docs/reference/cli.md says what the commands' own help says, and nothing else."""

import runpy
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return runpy.run_path(str(ROOT / "docs/cli_reference.py"))


def test_the_page_is_as_the_commands_are_today(tool, tmp_path):
    page = tmp_path / "cli.md"
    result = CliRunner().invoke(tool["main"], ["--output", str(page)])
    assert result.exit_code == 0, result.output
    assert page.read_text() == (ROOT / "docs/reference/cli.md").read_text(), "run `make docs`"


def test_every_tool_and_every_command_is_on_the_page(tool):
    from kernelkit.commands.console import COMMANDS

    named = {*tool["same"](), *tool["commands"]()}
    paths = (ROOT / "tools").glob("[!_]*.py")
    assert {f"python tools/{path.name}" for path in paths} <= named
    assert tool["same"]()["python tools/sweep.py"] == "kernelkit sweep"
    page = (ROOT / "docs/reference/cli.md").read_text()
    assert [name for name in COMMANDS if f"\n## kernelkit {name}\n" not in page] == []


@click.group()
def sample():
    """Does things."""


@sample.command()
@click.argument("folder")
@click.option("--size", metavar="N|all", help="Pixels | all.")
@click.option("--old", hidden=True)
def write(folder, size, old):
    """Write FOLDER.

    More of it.
    """


def test_each_command_has_a_section_with_its_usage_help_and_options(tool):
    page = tool["markdown"]({"python tools/t.py": sample}, {})
    assert "is the command" not in page
    assert "## python tools/t.py\n" in page
    section = page.split("## python tools/t.py write\n")[1]
    assert "`python tools/t.py write [OPTIONS] FOLDER`" in section
    assert "\nWrite FOLDER.\n\nMore of it.\n" in section
    assert "| `--size N\\|all` | Pixels \\| all. |" in section
    assert "--old" not in section and "--help" in section


def test_other_words_that_start_a_command_are_in_a_table_before_the_sections(tool):
    page = tool["markdown"]({"kit": sample}, {"python tools/t.py": "kit write"})
    assert "| `python tools/t.py` | `kit write` |" in page.split("\n## ")[0]

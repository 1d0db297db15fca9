"""docs/reference/cli.md says what the commands' own help says, and nothing else."""

import click
import pytest
from checkouts import ROOT

from kernelkit.commands.console import COMMANDS


@pytest.fixture
def page(tool):
    """What makes the page; its tools are imported from beside `tools/_python.py`."""
    return tool("../docs/cli_reference")


def test_the_page_is_as_the_commands_are_today(call, tmp_path):
    written = tmp_path / "cli.md"
    result = call("../docs/cli_reference", "--output", written)
    assert result.exit_code == 0, result.output
    assert written.read_text() == (ROOT / "docs/reference/cli.md").read_text(), "run `make docs`"


def test_every_tool_and_every_command_is_on_the_page(page):
    same = page["same"]()
    tools = {f"python tools/{path.name}" for path in (ROOT / "tools").glob("[!_]*.py")}
    assert tools <= {*same, *page["commands"]()}
    assert same["python tools/sweep.py"] == "kernelkit sweep"
    text = (ROOT / "docs/reference/cli.md").read_text()
    assert [name for name in COMMANDS if f"\n## kernelkit {name}\n" not in text] == []


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


def test_each_command_has_a_section_with_its_usage_help_and_options(page):
    text = page["markdown"]({"python tools/t.py": sample}, {"python t.py": "kit write"})
    assert "| `python t.py` | `kit write` |" in text.split("\n## ")[0]
    assert "## python tools/t.py\n" in text
    section = text.split("## python tools/t.py write\n")[1]
    assert "`python tools/t.py write [OPTIONS] FOLDER`" in section
    assert "\nWrite FOLDER.\n\nMore of it.\n" in section
    assert "| `--size N\\|all` | Pixels \\| all. |" in section
    assert "--old" not in section and "--help" in section

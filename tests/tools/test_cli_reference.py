"""docs/reference/cli.md says what the commands' own help says, and nothing else."""

import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return runpy.run_path(str(ROOT / "tools/cli_reference.py"))


def test_the_page_is_as_the_commands_are_today(tool, tmp_path):
    page = tmp_path / "cli.md"
    result = CliRunner().invoke(tool["main"], ["--output", str(page)])
    assert result.exit_code == 0, result.output
    assert page.read_text() == (ROOT / "docs/reference/cli.md").read_text(), "run `make docs`"


def test_every_tool_and_every_command_has_its_section(tool):
    from kernelkit.commands.console import COMMANDS

    sections = (ROOT / "docs/reference/cli.md").read_text()
    for command in COMMANDS:
        assert f"\n## kernelkit {command}\n" in sections
    tools = {words for words in tool["commands"]() if words.startswith("python")}
    assert {"python tools/make_tfrecords.py", "python tools/benchmark.py"} <= tools


def test_the_tools_that_are_commands_of_kernelkit_are_named_with_them(tool):
    page = (ROOT / "docs/reference/cli.md").read_text()
    assert tool["same"]()["python tools/sweep.py"] == "kernelkit sweep"
    assert "| `python tools/tpu_check.py` | `kernelkit tpu` |" in page
    told = set(tool["same"]()) | set(tool["commands"]())
    paths = (ROOT / "tools").glob("[!_]*.py")
    assert {f"python tools/{path.name}" for path in paths} <= told

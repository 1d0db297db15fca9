"""docs/reference/cli.md says what the commands' own help says, and nothing else."""

import pytest
from checkouts import ROOT

from kernelkit.cli.console import COMMANDS


@pytest.fixture
def page(tool):
    """What makes the page; its tools are imported from beside `tools/_python.py`."""
    return tool("../docs/cli_reference")


def test_the_page_is_as_the_commands_are_today(call, tmp_path):
    written = tmp_path / "cli.md"
    result = call("../docs/cli_reference", "--output", written)
    assert result.exit_code == 0, result.output
    assert written.read_text() == (ROOT / "docs/reference/cli.md").read_text(), "run `make docs`"


def test_every_command_and_every_tool_for_users_is_on_the_page(page):
    same = page["same"]()
    names = {path.stem for path in (ROOT / "tools").glob("[!_]*.py")}
    assert names > set(page["FOR_CONTRIBUTORS"])
    tools = {f"python3 tools/{name}.py" for name in names.difference(page["FOR_CONTRIBUTORS"])}
    assert tools <= {*same, *page["commands"]()}
    assert same["python3 tools/push_kernel.py"] == "kernelkit push"
    text = (ROOT / "docs/reference/cli.md").read_text()
    assert [name for name in COMMANDS if f"\n## kernelkit {name}\n" not in text] == []


def test_what_all_commands_share_stands_once(page):
    text = page["markdown"](page["commands"](), page["same"]())
    of_kernelkit = text.partition("\n## python3 ")[0]
    assert [of_kernelkit.count(f"| `{option}` |") for option in ("--json", "--quiet")] == [1, 1]
    assert "| `--retry-failed` |" in of_kernelkit

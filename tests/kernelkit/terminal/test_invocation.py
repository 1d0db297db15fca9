"""A hint names the command in the way in which this one was typed."""

import sys
from pathlib import Path

import pytest

from kernelkit.commands.console import COMMANDS
from kernelkit.terminal import invocation

TOOLS = Path(__file__).parents[3] / "tools"


@pytest.mark.parametrize(
    ("typed", "name", "hint"),
    [
        ("/usr/bin/kernelkit", "resume", "kernelkit resume"),
        ("C:\\Scripts\\kernelkit.exe", "push", "kernelkit push"),
        ("/lib/kernelkit/__main__.py", "dataset", "python -m kernelkit dataset"),
        ("/elsewhere/sweep.py", "push", "kernelkit push"),
        ("", "push", "kernelkit push"),
    ],
)
def test_a_hint_follows_what_was_typed(monkeypatch, typed, name, hint):
    monkeypatch.setattr(sys, "argv", [typed])
    assert invocation.command(name) == hint


@pytest.mark.parametrize("tool", sorted({tool.split()[0] for tool in invocation.TOOLS.values()}))
def test_a_tool_names_the_tool_that_is_the_command(monkeypatch, tool):
    monkeypatch.chdir(TOOLS.parent)
    monkeypatch.setattr(sys, "argv", [f"tools/{tool}"])
    assert invocation.command("resume") == "python tools/push_kernel.py --resume"
    assert invocation.command("dataset") == "python tools/push_dataset.py"
    assert invocation.command("quota") == "kernelkit quota"


def test_every_tool_is_there_and_every_command_too():
    assert set(invocation.TOOLS) <= set(COMMANDS)
    for tool in invocation.TOOLS.values():
        assert (TOOLS / tool.split()[0]).is_file()


def test_no_message_names_a_tool_outright():
    sources = (TOOLS.parent / "src" / "kernelkit").rglob("*.py")
    assert [path.name for path in sources if "tools/" in path.read_text()] == []

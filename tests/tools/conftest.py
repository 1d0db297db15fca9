"""A tool called in this process."""

import runpy

import pytest
from checkouts import ROOT
from click.testing import CliRunner

TOOLS = ROOT / "tools"


@pytest.fixture
def tool(monkeypatch):
    """The names that a tool defines, of which `main` is its command."""
    monkeypatch.syspath_prepend(str(TOOLS))
    return lambda name: runpy.run_path(str(TOOLS / f"{name}.py"))


@pytest.fixture
def call(tool):
    """Calls a tool, or a command of it; gives its exit code and what it writes."""

    def call(name, *arguments):
        main = tool(name)["main"]
        return CliRunner().invoke(main, list(map(str, arguments)))

    return call

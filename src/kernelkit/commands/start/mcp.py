"""Serve the commands to an assistant as tools."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import click

from kernelkit import project
from kernelkit.commands import options
from kernelkit.errors import ParameterError


@options.command("mcp", ("--pushes 3 --hours 2", "--skill"), events=False)
@click.option("--hours", type=click.FloatRange(0), default=0, help="Session hours it may use.")
@click.option("--pushes", type=click.IntRange(0), default=0, help="Pushes it may make.")
@click.option("--submissions", type=click.IntRange(0), default=0, help="Submissions it may make.")
@click.option("--skill", is_flag=True, help="Print the SKILL.md for assistants, and end.")
def mcp(skill: bool, **values: Any) -> None:
    """Let an assistant check, rehearse, push and compare, within a budget.

    Serves the Model Context Protocol on standard input and output. Without a budget it spends
    nothing: checks, rehearsals and sweeps on this machine are free.
    """
    from kernelkit.assistant.budget import Budget
    from kernelkit.assistant.server import SKILL, serve

    if skill:
        click.echo(SKILL.read_text("utf-8"), nl=False)
        return
    if importlib.util.find_spec("mcp") is None:
        raise ParameterError("this needs the official SDK: pip install 'mcp>=2,<3'")
    serve(project.find_project(Path.cwd()).root, Budget(**values))

"""How this command was invoked, so that a hint can name the next command in the same form.

In kernelkit's own repository each command is also a tool.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

# {command: the equivalent tool, with the option that selects it}
TOOLS = {
    "dataset": "push_dataset.py",
    "push": "push_kernel.py",
    "rehearse": "push_kernel.py --local",
    "report": "report.py",
    "resume": "push_kernel.py --resume",
    "run": "run_notebook.py",
    "sweep": "sweep.py",
    "tpu": "tpu_check.py",
}


def takes(option: str) -> bool:
    """Whether the invoked command has an option of this name, such as "local"."""
    typed = click.get_current_context(silent=True)
    return typed is not None and option in {parameter.name for parameter in typed.command.params}


def command(name: str) -> str:
    """What to type for the command `name`: `kernelkit push`, or the tool if this is a tool."""
    started = Path(sys.argv[0])
    tools = {tool.split()[0] for tool in TOOLS.values()}
    if name in TOOLS and started.name in tools and started.with_name("push_kernel.py").is_file():
        tool, *options = TOOLS[name].split()
        return shlex.join(["python", str(started.with_name(tool)), *options])
    if started.parts[-2:] == ("kernelkit", "__main__.py"):
        return f"python -m kernelkit {name}"
    return f"kernelkit {name}"

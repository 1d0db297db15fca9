"""Show what is left of the week's hours."""

from __future__ import annotations

from typing import Any

from kernelkit.commands import options


@options.command("quota", local=True)
def command(**values: Any) -> None:
    """Show how many TPU and GPU hours are left this week."""
    from kernelkit.pushes.status import tell_quota

    tell_quota(**values)

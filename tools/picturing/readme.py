"""Pictures of a report and of a sweep's page, from a run and a sweep that took place."""

import platform
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from kernelkit.errors import KernelkitError
from picturing import page, terminal

LARGEST = 200_000  # bytes of a picture
_REPORT = re.compile(r"report +file://(\S+\.html)")


def draw(command: Sequence[str], sweep: Path, into: Path) -> list[Path]:
    """`report.png` and `sweep.png` in the folder `into`; returns their paths.

    Raises `KernelkitError` where the command failed or left no report, or a picture is too large.
    """
    report = report_of(terminal.screen(terminal.record(command)))
    into.mkdir(parents=True, exist_ok=True)
    made = [
        page.picture(report, into / "report.png", 1240, 1135),
        page.picture(sweep, into / "sweep.png", 1240, 1790),
    ]
    for path in made:
        if path.stat().st_size > LARGEST:
            raise KernelkitError(f"{path} has over {LARGEST // 1000} kB")
    return made


def report_of(lines: Sequence[str]) -> Path:
    """The report that a command names at its end; raises `KernelkitError` where it names none."""
    reports = _REPORT.findall(terminal.without_colours(lines))
    if not reports:
        raise KernelkitError("the command left no report")
    return Path(unquote(reports[-1]))


def check_private(text: str) -> None:
    """Raise `KernelkitError` for a text that tells of this machine."""
    names = (str(Path.home()), str(Path.cwd()), Path.home().name, platform.node())
    for private in names:
        if len(private) > 4 and private in text:
            raise KernelkitError(
                f"the recording shows {private}, which belongs to this machine only"
            )

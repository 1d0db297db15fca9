"""The three pictures of README, from a run and a sweep that took place."""

import platform
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from kernelkit.errors import KernelkitError
from picturing import page, terminal

RECORDING = Path("runs/pictures/terminal.txt")
LARGEST = 200_000  # bytes of a picture
SHOWN_ROOT = "/home/you/kernelkit"  # in a picture, in place of the folder of this checkout
_REPORT = re.compile(r"report +file://(\S+\.html)")


def draw(command: Sequence[str], title: str, sweep: Path, into: Path) -> list[Path]:
    """`terminal.svg`, `report.png` and `sweep.png` in the folder `into`; returns their paths.

    `command` is recorded first, where it is given. Raises `KernelkitError` where there is no
    recording, the command failed or left no report, or where a picture would tell of this machine
    or is too large.
    """
    if command:
        RECORDING.parent.mkdir(parents=True, exist_ok=True)
        RECORDING.write_bytes(terminal.record(command).encode())
    if not RECORDING.is_file():
        raise KernelkitError(
            f"no recording in {RECORDING}: give the command, as make pictures does"
        )
    recording = RECORDING.read_bytes().decode()
    reports = _REPORT.findall(terminal.without_colours(terminal.screen(recording)))
    if not reports:
        raise KernelkitError(f"the command in {RECORDING} left no report")
    lines = terminal.screen(recording.replace(str(Path.cwd()), SHOWN_ROOT))
    _check_private(terminal.without_colours(lines))
    into.mkdir(parents=True, exist_ok=True)
    made = [
        terminal.as_svg(lines, title, into / "terminal.svg"),
        page.picture(Path(unquote(reports[-1])), into / "report.png", 1240, 1135),
        page.picture(sweep, into / "sweep.png", 1240, 1790),
    ]
    for path in made:
        if path.stat().st_size > LARGEST:
            raise KernelkitError(f"{path} has over {LARGEST // 1000} kB")
    return made


def _check_private(text: str) -> None:
    names = (str(Path.home()), str(Path.cwd()), Path.home().name, platform.node())
    for private in names:
        if len(private) > 4 and private in text:
            raise KernelkitError(
                f"the recording shows {private}, which belongs to this machine only"
            )

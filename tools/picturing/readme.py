"""The three pictures of README, from a run and a sweep that took place."""

import re
from collections.abc import Sequence
from pathlib import Path

from kernelkit.errors import KernelkitError
from picturing import page, terminal

RECORDING = Path("runs/pictures/terminal.txt")
LARGEST = 200_000  # bytes of a picture
_REPORT = re.compile(r"^\W*(?:\[rehearsal\] +)?report +(\S+\.html)$", re.M)


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
    # Show paths from the root of the repository: where a checkout lies is private.
    recording = RECORDING.read_bytes().decode().replace(f"{Path.cwd()}/", "")
    lines = terminal.screen(recording)
    reports = _REPORT.findall(terminal.without_colours(lines))
    if not reports:
        raise KernelkitError(f"the command in {RECORDING} left no report")
    _check_private(terminal.without_colours(lines))
    into.mkdir(parents=True, exist_ok=True)
    made = [
        terminal.as_svg(lines, title, into / "terminal.svg"),
        page.picture(Path(reports[-1]), into / "report.png", 1240, 985),
        page.picture(sweep, into / "sweep.png", 1240, 1436),
    ]
    for path in made:
        if path.stat().st_size > LARGEST:
            raise KernelkitError(f"{path} has over {LARGEST // 1000} kB")
    return made


def _check_private(text: str) -> None:
    for private in {str(Path.home()), str(Path.cwd()), Path.home().name}:
        if len(private) > 4 and private in text:
            raise KernelkitError(f"the recording shows {private}, which is of this machine alone")

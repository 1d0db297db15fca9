"""What a run left beside its notebook: its files, and the log of its session."""

from collections.abc import Sequence
from pathlib import Path

from kernelkit.files import size_of
from kernelkit.pages.cells import notebook_html
from kernelkit.pages.shared import trail
from kernelkit.runs import kit_folder, run_folder
from kernelkit.terminal import safe_text


def files(folder: Path) -> list[Path]:
    """The files in a run's folder that are not the kit's own, by name."""
    every = sorted(folder.rglob("*"))
    return [p for p in every if kit_folder.NAME not in p.relative_to(folder).parts and p.is_file()]


def listed(own: Sequence[Path], folder: Path, place: Path) -> list[tuple[str, str, str]]:
    """(name, size, address) of each of a run's `files`, for a page that stands in `place`."""
    page = run_folder.report_place(folder)
    rows = []
    for path in own:
        if path != page:
            name = safe_text.plain(path.relative_to(folder).as_posix())
            rows.append((name, size_of(path.stat().st_size), trail.address(path, place)))
    return rows


def log(folder: Path) -> str:
    """The readable log of a run's session; "" without one."""
    log = kit_folder.path(folder, kit_folder.LOG_TEXT)
    if not log.is_file():
        return ""
    text = log.read_text("utf-8", "replace")
    return safe_text.plain(
        safe_text.excerpt(text, notebook_html.LONGEST_TEXT, "the session's log has all of it")
    )

"""The files in which a session recorded what its cells showed. See `session.recording`."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.runs import kit_folder
from kernelkit.session.places import FOLDER, SHOWN
from kernelkit.session.recording import MOST_BYTES

Entry = dict[str, Any]
LARGEST = 2 * MOST_BYTES  # of what is read


def recorded(folder: Path) -> list[str]:
    """The names, in the run's output, of the files with what its cells showed, the oldest first."""
    paths = sorted(kit_folder.path(folder, kit_folder.SESSION).glob(SHOWN))
    return [f"{FOLDER}/{path.name}" for path in paths]


def clear_secrets(folder: Path, clear: Callable[[str], str]) -> None:
    """Take the secrets out of what a run's session recorded; `clear` does that of a text."""
    for path in kit_folder.path(folder, kit_folder.SESSION).rglob("*"):
        if path.is_file() and path.stat().st_size > LARGEST:
            path.unlink()  # none of a recorder's
        elif path.is_file():
            text = path.read_text("utf-8", "replace")
            cleared = clear(text)
            if cleared != text:
                files.write_text(path, cleared)


def streams(path: Path) -> str:
    """What cells wrote to their output, by one of the recorded files; each begins a line."""
    texts = []
    for entry in entries([path]):
        output = entry.get("output")
        if "cell" in entry:
            texts.append("\n")
        elif isinstance(output, dict) and output.get("output_type") == "stream":
            texts.append(str(output.get("text", "")))
    return "".join(texts)


def entries(paths: Iterable[Path]) -> Iterator[Entry]:
    """The entries in some of these files, in their order, up to `LARGEST` bytes."""
    left = LARGEST
    for path in paths:
        with path.open("rb") as lines:
            while line := lines.readline(left + 1):
                left -= len(line)
                if left < 0:
                    return
                try:
                    entry = files.parse_json(line.decode("utf-8", "replace"))
                except (ValueError, RecursionError):  # what a kill left of it
                    continue
                if isinstance(entry, dict):
                    yield entry

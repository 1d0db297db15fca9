"""A run's measures as a Markdown table, for the summary of a CI job."""

from html import escape
from pathlib import Path

from kernelkit import files, project
from kernelkit.scores.metrics import Metrics
from kernelkit.session_records import proved
from kernelkit.terminal import safe_text


def table(folder: Path, title: str) -> str:
    """A heading and a table of what the run in the folder measured, if it measured anything."""
    shown = project.shown(folder)
    metrics = Metrics.of_run(folder, shown.score)
    rows = list(shown.texts(metrics.numbers).values())
    device = str(metrics.device)
    if device:
        rows.append(("device", device))
    head = f"### {_cell(title)}\n\n"
    if not rows:
        return f"{head}The run left no measures.\n"
    unverified = metrics.doubt(folder)
    if unverified:
        rows.insert(0, (proved.NOT_VERIFIED, unverified))
    lines = ["| measure | value |", "|---|---|"]
    return head + "\n".join([*lines, *(f"| {_cell(a)} | {_cell(b)} |" for a, b in rows)]) + "\n"


def failure(title: str, message: str) -> str:
    """A heading and the error that ended the command, as it is."""
    plain = escape(safe_text.plain(message), quote=False)
    # An empty line would end the block, and the lines after it would be read as Markdown.
    lines = "\n".join(line or " " for line in plain.splitlines())
    return f"### {_cell(title)}\n\n<pre>{lines}</pre>\n"


def append(file: Path, text: str) -> None:
    """Put the text at the file's end, and an empty line before it."""
    files.make_folder(file.parent)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(f"\n{text}")


def _cell(text: str) -> str:
    """The text, escaped for a heading or a table's cell."""
    shown = escape(safe_text.one_line(text), quote=False)
    for mark in "\\`*_[]|~":
        shown = shown.replace(mark, f"&#{ord(mark)};")
    return shown

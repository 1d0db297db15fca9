"""A run's measures as a Markdown table, for the summary of a CI job."""

from html import escape
from pathlib import Path

from kernelkit import files, project
from kernelkit.runs import metrics, proved, run_folder
from kernelkit.terminal import safe_text


def table(folder: Path, title: str) -> str:
    """A heading and a table of the measures in the folder's `metrics.json`, if it has any."""
    written = metrics.read(folder)
    head = f"### {_cell(title)}\n\n"
    if written is None or not written.values:
        return f"{head}The run left no `{run_folder.METRICS}`.\n"
    rows = list(project.shown(folder).texts(written.numbers).values())
    device = str(written.device)
    if device:
        rows.append(("device", device))
    unverified = proved.doubt(folder, run_folder.METRICS)
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

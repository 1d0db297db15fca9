"""What a pushed notebook's session recorded: what its cells showed. See `session.recording`.

The files come from a session, so nothing in them is trusted: what does not look like an output of a
notebook is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_output

from kernelkit import files
from kernelkit.notebook.document import cell_source
from kernelkit.runs import kit_folder
from kernelkit.session.places import FOLDER, SHOWN
from kernelkit.session.recording import MOST_BYTES, mark

Entry = dict[str, Any]
KINDS = ("display_data", "execute_result")
LARGEST = 2 * MOST_BYTES  # of what is read


def recorded(folder: Path) -> list[str]:
    """The names, in the run's output, of the files with what its cells showed, the oldest first."""
    paths = sorted(kit_folder.path(folder, kit_folder.SESSION).glob(SHOWN))
    return [f"{FOLDER}/{path.name}" for path in paths]


def clear(folder: Path, clear: Callable[[str], str]) -> None:
    """Take the secrets out of what a run's session recorded; `clear` does that of a text."""
    for path in kit_folder.path(folder, kit_folder.SESSION).rglob("*"):
        if path.is_file() and path.stat().st_size > LARGEST:
            path.unlink()  # none of a recorder's
        elif path.is_file():
            text = path.read_text("utf-8", "replace")
            cleared = clear(text)
            if cleared != text:
                files.write_text(path, cleared)


def with_outputs(cells: list[NotebookNode], folder: Path) -> list[NotebookNode]:
    """The cells of the notebook that ran, each with what the session recorded of it.

    Cells that ran have an execution count. Outputs before the first cell, as a script's are all,
    belong to a cell of their own at the end.
    """
    cells = [nbformat.from_dict({**cell, "source": cell_source(cell)}) for cell in cells]
    code = [cell for cell in cells if cell.cell_type == "code"]
    for cell in code:
        cell.outputs = []
        cell.execution_count = None
    by_mark: dict[str, list[int]] = {}
    for number, cell in enumerate(code):
        by_mark.setdefault(mark(cell.source), []).append(number)
    rest = nbformat.v4.new_code_cell(metadata={"tags": ["remove_input"]})
    current = rest
    after = -1  # the number of the cell that ran last: a notebook runs from top to bottom
    count = 0
    shown: dict[str, NotebookNode] = {}  # outputs by their display ids
    for entry in _entries(kit_folder.output(folder, name) for name in recorded(folder)):
        if "cell" in entry:
            later = [number for number in by_mark.get(str(entry["cell"]), ()) if number > after]
            if later:  # else a cell runs the text of another
                after = later[0]
                current = code[after]
                count += 1
                current.execution_count = count
        elif "clear" in entry:
            current.outputs = []
        elif "update" in entry:
            changed = shown.get(str(entry.get("id")))
            if changed is not None:
                changed.data, changed.metadata = _data(entry["update"])
        else:
            output = _output(entry.get("output"), count)
            if output is None:
                continue
            _append(current.outputs, output)
            if entry.get("id"):
                shown[str(entry["id"])] = current.outputs[-1]
    return [*cells, rest] if rest.outputs else cells


def streams(path: Path) -> str:
    """What cells wrote to their output, by one of the recorded files; each begins a line."""
    texts = []
    for entry in _entries([path]):
        output = _output(entry.get("output"), 0)
        if "cell" in entry:
            texts.append("\n")
        elif output and output.output_type == "stream":
            texts.append(output.text)
    return "".join(texts)


def _entries(paths: Iterable[Path]) -> Iterator[Entry]:
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


def _output(written: object, count: int) -> NotebookNode | None:
    """A recorded output as notebooks have it; None for anything else."""
    if not isinstance(written, dict):
        return None
    kind = written.get("output_type")
    if kind == "stream":
        name = "stderr" if written.get("name") == "stderr" else "stdout"
        return new_output("stream", name=name, text=str(written.get("text", "")))
    if kind == "error":
        lines = written.get("traceback")
        traceback = [str(line) for line in lines] if isinstance(lines, list) else []
        name, value = (str(written.get(key, "")) for key in ("ename", "evalue"))
        return new_output("error", ename=name, evalue=value, traceback=traceback)
    if kind not in KINDS:
        return None
    data, metadata = _data(written)
    output = new_output(kind, data=data, metadata=metadata)
    if kind == "execute_result":
        output.execution_count = count
    return output


def _data(written: object) -> tuple[NotebookNode, NotebookNode]:
    """The forms of an output by their MIME types, and the sizes of its pictures."""
    source = written if isinstance(written, dict) else {}
    data = {}
    for kind, value in _table(source.get("data")).items():
        if "json" in kind:
            data[kind] = value
        elif isinstance(value, str | list):
            data[kind] = "".join(map(str, value))
    metadata = {}
    for kind, values in _table(source.get("metadata")).items():
        sizes = _table(values)
        metadata[kind] = {
            name: sizes[name] for name in ("width", "height") if isinstance(sizes.get(name), int)
        }
    return nbformat.from_dict(data), nbformat.from_dict(metadata)


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _append(outputs: list[NotebookNode], output: NotebookNode) -> None:
    """Add an output; text continues that of the same stream, up to another kind of output."""
    if output.output_type == "stream":
        for before in reversed(outputs):
            if before.output_type != "stream":
                break
            if before.name == output.name:
                before.text += output.text
                return
    outputs.append(output)

"""The cells of a pushed notebook as they ran, each with what its session recorded of it.

The record comes from a session, so nothing in it is trusted: what does not look like an output of a
notebook is left out.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_output

from kernelkit.notebook.document import cell_source
from kernelkit.runs import kit_folder
from kernelkit.session.recording import mark
from kernelkit.session_records import shown_outputs

KINDS = ("display_data", "execute_result")


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
    files = [kit_folder.output(folder, name) for name in shown_outputs.recorded(folder)]
    shown: dict[str, NotebookNode] = {}  # outputs by their display ids
    for entry in shown_outputs.entries(files):
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

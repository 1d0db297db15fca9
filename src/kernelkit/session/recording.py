"""Keep what a session shows: Kaggle hands out a run's files and its log, not the executed notebook.

This source rides in a pushed notebook and becomes a module there, so it imports only the standard
library. `begin` makes the notebook's process tell a `Recorder` what it sends to whoever runs it;
that appends it to a file, each as a line of JSON:

    {"cell": MARK}                     the cell that the next outputs belong to
    {"output": {…}, "id": DISPLAY_ID}  an output as notebooks have it; by its id it may change
    {"update": {…}, "id": DISPLAY_ID}  the new data of an output
    {"clear": true}                    the cell's outputs until here were taken back

Whatever goes wrong here is one line on stderr, after which nothing more is kept.
"""

import base64
import hashlib
import importlib.util
import io
import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

MOST_BYTES = 20_000_000  # of all that is kept; above it, that is shrunk, and recording ends
LONGEST_TEXT = 500_000  # characters of a stream between two other outputs, half from each end
PIECE = 1_000_000  # characters that are looked at in one go
MOST_WAITING = 2_000_000  # characters of outputs that are not written yet
PAUSE_SECONDS = 5.0  # between two writes while a cell runs
FIELDS = {
    "display_data": ("data", "metadata"),
    "execute_result": ("data", "metadata", "execution_count"),
    "error": ("ename", "evalue", "traceback"),
}
# What a progress bar wrote over.
REWRITTEN = re.compile(r"(?m)^[^\n]*\r(?!\Z)")


def mark(source: str) -> str:
    """What tells a cell from others: a hash of its text."""
    return hashlib.sha256(source.strip().encode("utf-8", "replace")).hexdigest()[:16]


class Stream:
    """The text of a stream until another kind of output comes; lines that were rewritten, once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.line = ""  # which has not ended yet
        self.text = ""  # of the beginning, not taken yet
        self.room = LONGEST_TEXT // 2  # for more of it
        self.end = ""  # of what has no room
        self.omitted = 0  # characters between the two

    def add(self, text: str) -> None:
        """Take more of the stream."""
        for start in range(0, len(text), PIECE):
            piece = self.line + text[start : start + PIECE]
            if "\r" in piece:
                piece = REWRITTEN.sub("\r", piece.replace("\r\n", "\n"))
            lines, newline, self.line = piece.rpartition("\n")
            if len(self.line) > PIECE:
                lines, newline, self.line = piece, "", ""
            self.keep(lines + newline)

    def keep(self, text: str) -> None:
        """Keep text of which nothing will be rewritten."""
        self.text += text[: self.room]
        end = self.end + text[self.room :]
        self.room -= min(self.room, len(text))
        self.end = end[-LONGEST_TEXT // 2 :]
        self.omitted += len(end) - len(self.end)

    def take(self, last: bool) -> str:
        """What came since the call before.

        Of a long text that is its beginning, up to `room`; its end, and how much is left out, come
        with the `last` call.
        """
        if self.room or last:
            line, self.line = self.line, ""
            self.keep(line)
        text, self.text = self.text, ""
        if last and self.omitted:
            text += f"\n… {self.omitted:,} characters omitted: the session's log has them …\n"
        return text + self.end if last else text


class Recorder:
    """Keeps what cells show in files of a folder; a file that is closed changes no more."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.process = os.getpid()
        self.lock = threading.RLock()
        self.over = False  # whether keeping failed, so that nothing more is kept
        self.pauses = False  # whether nothing is kept: from the end of a file to the next cell
        self.file = self.folder / "shown-001.jsonl"
        self.closed = 0  # bytes of the files before
        self.has_written = False  # whether outputs of this cell are written
        self.clears = False  # whether the next output takes the place of those before
        self.in_widget = False  # whether an Output widget of ipywidgets takes what is shown
        self.waiting: list[Any] = []  # streams, and entries of the file, that are not written yet
        self.streams: dict[str, Stream] = {}  # those that go on, by name
        self.weight = 0  # characters of outputs that wait
        threading.Thread(target=self.keep_writing, daemon=True).start()

    def attempt(self, act: Any, *values: Any) -> None:
        """Do something, unless an earlier thing failed or this is a process that was forked."""
        if self.over or os.getpid() != self.process:
            return
        try:
            with self.lock:
                act(*values)
        except Exception as error:
            self.over = True
            self.waiting = []
            words = f"the report lacks what cells show from here on: {error!r}\n"
            os.write(2, words.encode("utf-8", "replace"))

    def begin_cell(self, source: str) -> None:
        """The next outputs are those of the cell with this text."""
        self.write(last=True)
        self.has_written = self.clears = self.pauses = False
        self.waiting.append({"cell": mark(source)})

    def take(self, kind: str, content: Any) -> None:
        """Keep a message of the notebook's process, if it shows something."""
        if self.pauses:
            return
        if kind == "comm_msg":
            state = content.get("data", {}).get("state")
            if isinstance(state, dict) and "msg_id" in state:
                self.in_widget = bool(state["msg_id"])
        elif kind == "clear_output" and not self.in_widget:  # what came before is the cell's own
            self.clears = True
            if not content.get("wait"):
                self.clear()
        elif kind == "stream":
            self.clear()
            name = content["name"]
            if name not in self.streams:
                self.streams[name] = Stream(name)
                self.waiting.append(self.streams[name])
            self.streams[name].add(content["text"])
        elif kind == "update_display_data" or kind in FIELDS:
            self.show(kind, content)

    def show(self, kind: str, content: Any) -> None:
        """Keep an output, or the new data of one."""
        identity = (content.get("transient") or {}).get("display_id")
        shown = {name: content[name] for name in FIELDS.get(kind, ("data", "metadata"))}
        self.weight += sum(len(str(value)) for value in shown.get("data", shown).values())
        if kind == "update_display_data":
            for entry in self.waiting:
                if isinstance(entry, dict) and identity and entry.get("id") == identity:
                    entry["output" if "output" in entry else "update"].update(shown)
                    break
            else:
                self.waiting.append({"update": shown, "id": identity})
        else:
            self.clear()
            self.streams = {}
            self.waiting.append({"output": {"output_type": kind, **shown}, "id": identity})
        if self.weight > MOST_WAITING:
            self.write()

    def clear(self) -> None:
        """Take back what the cell showed, if `clears`; an entry takes back what is written."""
        if self.clears:
            stay = [entry for entry in self.waiting if isinstance(entry, dict)]
            self.waiting = [entry for entry in stay if "output" not in entry]
            self.streams = {}
            if self.has_written:
                self.waiting.append({"clear": True})
            self.has_written = self.clears = False

    def keep_writing(self) -> None:
        """Write now and then, for a process that is killed has no end."""
        pause = threading.Event()
        while not self.over:
            pause.wait(PAUSE_SECONDS)
            self.attempt(self.write)

    def write(self, last: bool = False) -> None:
        """Append what waits; a stream that goes on stays."""
        waiting, self.waiting, self.weight = self.waiting, [], 0
        lines = []
        for entry in waiting:
            if isinstance(entry, Stream):
                goes_on = not last and self.streams.get(entry.name) is entry
                if goes_on:
                    self.waiting.append(entry)
                text = entry.take(last=not goes_on)
                entry = {"output": {"output_type": "stream", "name": entry.name, "text": text}}
                if not text:
                    continue
            self.has_written = self.has_written or "output" in entry
            lines.append(json.dumps(entry).encode() + b"\n")
        if last:
            self.streams = {}
        if lines:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.file.open("ab") as file:
                file.writelines(lines)
            if self.closed + self.file.stat().st_size > MOST_BYTES:
                self.shrink()

    def shrink(self) -> None:
        """Leave out what was replaced, and then the largest outputs, pictures first."""
        lines = self.file.read_bytes().splitlines(keepends=True)
        newest: dict[str, int] = {}  # {display id: the place of its last update}
        of_cell: list[int] = []  # the places of what its cell has shown so far
        large: list[tuple[bool, int, int]] = []  # (is no picture, -bytes, place)
        for place, line in enumerate(lines):
            entry = json.loads(line)
            if "cell" in entry or "clear" in entry:
                if "clear" in entry:
                    for gone in of_cell:
                        lines[gone] = b""
                of_cell = []
            elif "update" in entry:
                lines[newest.get(entry["id"], place)] = b""
                lines[place] = line
                newest[entry["id"]] = place
            else:
                of_cell.append(place)
            shown = entry.get("output") or entry.get("update") or {}
            if "data" in shown and len(line) > 1000:
                picture = any(kind.startswith("image/") for kind in shown["data"])
                large.append((not picture, -len(line), place))
        size = self.closed + sum(map(len, lines))
        for _, _, place in sorted(large):
            if size <= MOST_BYTES * 0.75:
                break
            entry = json.loads(lines[place] or b"{}")
            shown = entry.get("output") or entry.get("update")
            if shown:
                words = "[left out of the record of this session: an output of "
                words += f"{len(lines[place]) / 1e6:.1f} MB, since all are more than 20 MB]"
                shown["data"] = {"text/plain": words}
                line = json.dumps(entry).encode() + b"\n"
                size -= len(lines[place]) - len(line)
                lines[place] = line
        part = self.file.with_suffix(".part")
        part.write_bytes(b"".join(lines))
        part.replace(self.file)
        if size > MOST_BYTES:
            raise RuntimeError(f"they are more than {MOST_BYTES / 1e6:.0f} MB")

    def close(self) -> None:
        """Write all; the next cell begins another file, so that this one can be hashed."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.write(last=True)
        self.pauses = True
        if self.file.exists():
            self.closed += self.file.stat().st_size
            number = int(self.file.stem[-3:]) + 1
            self.file = self.folder / f"shown-{number:03d}.jsonl"


def begin(folder: str) -> Any:
    """Keep from now on what the notebook's cells show, or the figures of a script, in `folder`.

    Returns what ends a file of it.
    """
    recorder = Recorder(folder)
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    kernel = getattr(shell, "kernel", None)
    if shell and kernel:
        send = kernel.session.send

        def send_and_keep(
            stream: Any, msg_or_type: Any, content: Any = None, *others: Any, **named: Any
        ) -> Any:
            sent = send(stream, msg_or_type, content, *others, **named)
            message = msg_or_type if isinstance(msg_or_type, dict) else {}
            kind = message.get("header", {}).get("msg_type", msg_or_type)
            recorder.attempt(recorder.take, kind, message.get("content", content))
            return sent

        kernel.session.send = send_and_keep

        def cell(info: Any) -> None:
            recorder.attempt(recorder.begin_cell, info.raw_cell)

        recorder.pauses = True  # the rest of this cell is of no notebook
        shell.events.register("pre_run_cell", cell)
    else:
        sys.meta_path.insert(0, Figures(recorder))
    return lambda: recorder.attempt(recorder.close)


class Figures:
    """Keeps a script's figures where matplotlib shows them; an import hook, until it is there."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.kept: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Let `matplotlib.pyplot` be imported as ever, and look when it shows figures."""
        if name != "matplotlib.pyplot":
            return None
        sys.meta_path.remove(self)
        spec: Any = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def load_and_watch(module: Any) -> None:
            load(module)
            show = module.show

            def show_and_keep(*arguments: Any, **named: Any) -> Any:
                self.recorder.attempt(self.keep, module)
                return show(*arguments, **named)

            module.show = show_and_keep

        spec.loader.exec_module = load_and_watch
        return spec

    def keep(self, pyplot: Any) -> None:
        """Keep the open figures as pictures, each once."""
        current = pyplot.get_fignums() and pyplot.gcf().number
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            picture = io.BytesIO()
            figure.savefig(picture, format="png", bbox_inches="tight")
            encoded = base64.b64encode(picture.getvalue()).decode()
            if mark(encoded) in self.kept:  # shown before, and still open
                continue
            self.kept.add(mark(encoded))
            titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
            data = {"image/png": encoded, "text/plain": next(filter(None, titles), "")}
            self.recorder.show("display_data", {"data": data, "metadata": {}})
        if current:
            pyplot.figure(current)

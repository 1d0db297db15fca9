"""Reading what a run left: its log, its measures, the machine it had, its report."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import AcceleratorMismatchError
from kernelkit.notebooks.document import KERNELSPEC, has_tag
from kernelkit.run_folders import kit_folder
from kernelkit.run_folders import log as logs
from kernelkit.shown import Shown

METRICS, REPORT = "metrics.json", "report.html"
WORDS = "figures.json"  # {a figure's file: {"caption", "text" for who cannot see it}}
OUT_OF_TIME = "time limit"  # the value of `stopped` in the metrics of a run that is not done
EXECUTED = ("run.ipynb", "__notebook__.ipynb")
IN_A_LINE = 4  # measures
FIGURES = (".png", ".jpg", ".jpeg")
Clear = Callable[[str], str]


def keep(folder: Path, log: str, pushed_text: str, clear: Clear = str) -> None:
    """Write the session's log, as Kaggle keeps it and as people read it, and what was pushed.

    `clear` takes the secrets out of a text.
    """
    if log:
        log = clear(log)
        files.write_text(kit_folder.path(folder, kit_folder.LOG), logs.harmless(log))
        # Once more: a secret that was printed in two pieces is whole only here.
        text = clear(logs.text(logs.decode(log)))
        files.write_text(kit_folder.path(folder, kit_folder.LOG_TEXT), text)
    if pushed_text:
        files.write_text(kit_folder.path(folder, kit_folder.PUSHED), clear(pushed_text))


def metrics(folder: Path) -> dict[str, Any] | None:
    """The run's `metrics.json`; None when there is none that can be read."""
    try:
        values = json.loads((folder / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def ended(values: Mapping[str, Any], written: float) -> float:
    """When a run ended, in seconds since 1970: as its metrics say, else when it was `written`."""
    try:
        return datetime.fromisoformat(str(values["ended"])).timestamp()
    except (KeyError, ValueError):
        return written


def data_name(data: Mapping[str, Any]) -> str:
    """What people call the data of a run, of the `data` in its metrics."""
    return str(data.get("name") or Path(str(data.get("source", ""))).name)


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """The plain numbers of a run's metrics."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def summary(measured: Mapping[str, Any], shown: Shown) -> str:
    """The first measures in a line, with the device they were made on."""
    texts = list(shown.texts(measured).items())[:IN_A_LINE]
    message = [_in_words(name, label, text) for name, (label, text) in texts]
    device = measured.get("device")
    if isinstance(device, Mapping):
        replicas = device.get("replicas", 1)
        notes = [f"{replicas} replicas"] if isinstance(replicas, int) and replicas > 1 else []
        notes += ["a rehearsal"] if device.get("rehearsal") else []
        more = f" ({', '.join(notes)})" if notes else ""
        message.append(f"on {device.get('name') or device.get('kind')}{more}")
    return ", ".join(message)


def _in_words(name: str, label: str, text: str) -> str:
    if name == "seconds":
        return text
    thing, per_second, _ = name.partition("_per_second")
    return f"{text} {thing}/s" if per_second else f"{label} {text}"


def names_device(measured: Mapping[str, Any]) -> bool:
    """Whether a run's metrics say what it ran on: {"device": {"kind": "gpu"}}."""
    device = measured.get("device")
    return isinstance(device, Mapping) and bool(device.get("kind"))


def check_accelerator(measured: Mapping[str, Any], asked: str, *, rehearsal: bool) -> None:
    """Raise `AcceleratorMismatchError` unless the run had the kind of machine asked for.

    A stand-in that calls itself a rehearsal counts at a rehearsal only. A run that names no
    kind (`names_device`) is not judged.
    """
    if not names_device(measured):
        return
    device = measured["device"]
    had = str(device["kind"]).lower()
    if had == asked and (rehearsal or not device.get("rehearsal")):
        return
    stood_in = " (a stand-in)" if device.get("rehearsal") else ""
    raise AcceleratorMismatchError(
        f"the run was to have a {asked.upper()} and had {had.upper()}{stood_in}: its figures do "
        "not count. Check the quota and the phone verification at Kaggle, then push again"
    )


def report(folder: Path, title: str, pushed_text: str = "", clear: Clear = str) -> Path:
    """Write a report from the executed notebook, or without one from the log; returns its path.

    `clear` takes the secrets out of a text. Raises what
    `kernelkit.reports.report_page.write_report` raises.
    """
    from kernelkit.reports.report_page import write_report

    left = kit_folder.left_by_run(folder)
    names = [name for name in EXECUTED if left is None or name in left]
    notebook = next((folder / n for n in names if _is_notebook(folder / n)), None)
    if notebook is None:
        notebook = kit_folder.place(folder, EXECUTED[0])
        assembled = json.dumps(_assembled(folder, title, pushed_text), indent=1)
        files.write_text(notebook, clear(assembled))
    return write_report(notebook, report_place(folder), folder, clear)


def report_place(folder: Path) -> Path:
    """Where a run folder's report stands, or would stand."""
    return kit_folder.place(folder, REPORT)


def executed(folder: Path) -> Path | None:
    """The notebook that a report of the folder shows: the run's, or the kit's own."""
    left = kit_folder.left_by_run(folder)
    of_run = [folder / name for name in EXECUTED if left is None or name in left]
    notebooks = (p for p in (*of_run, kit_folder.place(folder, EXECUTED[0])) if p.is_file())
    return next(notebooks, None)


def _log(folder: Path) -> str:
    """The log as text; folders of before have it beside the run's files."""
    kept = kit_folder.path(folder, kit_folder.LOG_TEXT)
    if not kept.is_file() and kit_folder.left_by_run(folder) is None:
        kept = folder / kit_folder.LOG_TEXT
    return kept.read_text(encoding="utf-8") if kept.is_file() else ""


def _is_notebook(path: Path) -> bool:
    try:
        return "cells" in json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def _assembled(folder: Path, title: str, pushed_text: str) -> dict[str, Any]:
    """A notebook of the run: Kaggle hands out files and a log, not the executed notebook."""
    cells = [_markdown(f"# {title}")]
    words = _words(folder)
    figures = {
        p.relative_to(folder).as_posix(): p
        for p in sorted(folder.rglob("*"))
        if p.suffix.lower() in FIGURES
    }
    if figures:
        order = dict.fromkeys([*(name for name in words if name in figures), *figures])
        cells.append(_markdown("## Figures"))
        cells += [_figure(figures[name], name, words.get(name, {})) for name in order]
    if log := _log(folder):
        cells += [_markdown("## Log"), _output(log)]
    kept = kit_folder.path(folder, kit_folder.PUSHED)
    if not pushed_text and kept.is_file():
        pushed_text = kept.read_text(encoding="utf-8")
    if pushed_text:
        cells.append(_markdown("## The notebook that ran"))
        cells += [c for c in json.loads(pushed_text)["cells"] if not _rides(c)]
    for number, cell in enumerate(cells):
        cell["id"] = f"run-{number:03d}"
    metadata = {"kernelspec": KERNELSPEC, "language_info": {"name": "python"}, "title": title}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _rides(cell: Mapping[str, Any]) -> bool:
    return has_tag(cell, "bundle")


def _markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _output(text: str) -> dict[str, Any]:
    return _code({"output_type": "stream", "name": "stdout", "text": text})


def _words(folder: Path) -> dict[str, dict[str, str]]:
    """What the run says of its figures, in the order in which it drew them."""
    try:
        found = json.loads((folder / WORDS).read_text(encoding="utf-8"))
        return {
            str(name): {str(k): str(v) for k, v in told.items()} for name, told in found.items()
        }
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def _figure(path: Path, name: str, words: Mapping[str, str]) -> dict[str, Any]:
    kind = "image/png" if path.suffix.lower() == ".png" else "image/jpeg"
    picture = base64.b64encode(path.read_bytes()).decode()
    data = {kind: picture, "text/plain": name}
    if words:
        alt, caption = (html.escape(words.get(one, "")) for one in ("text", "caption"))
        data["text/html"] = (
            f'<figure><img src="data:{kind};base64,{picture}" alt="{alt or caption or name}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    return _code({"output_type": "display_data", "data": data, "metadata": {}})


def _code(output: dict[str, Any]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": ["remove_input"]},
        "outputs": [output],
        "source": "",
    }


def report_or_why(
    folder: Path, title: str, pushed_text: str = "", clear: Clear = str
) -> tuple[Path | None, str]:
    """The report, or why there is none: a broken figure must not cost a finished run."""
    try:
        return report(folder, title, pushed_text, clear), ""
    except OSError:
        raise
    except Exception as error:  # nbconvert and jinja raise a dozen kinds
        return None, f"{type(error).__name__}: {error}"

"""The page of many runs: of a sweep, or of a folder of runs. Table, filters, curves, pictures."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from kernelkit.reports import shell
from kernelkit.run_folders import history
from kernelkit.shown import Shown

NOTES = "notes.yaml"  # beside the page: {id of a run: {tags: [...], note: "..."}}
PARTS = "data table effects parallel importance curves compare notes export live page"
SCRIPTS = (shell.CHART, *(f"runs/{part}.js" for part in PARTS.split()))


@dataclass(frozen=True)
class ShownRun:
    """A run as the page has it; addresses are relative to the page, times in seconds.

    `setting` is its name without the seed, `data` says what its score is measured on, `group` the
    sweep it belongs to, with `sweep` for that sweep's page, `log` the last lines of an active run.
    """

    id: str
    name: str
    setting: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, float]
    state: str = ""
    seconds: float | None = None
    when: float = 0.0
    error: str = ""
    note: str = ""
    report: str = ""
    folder: str = ""
    group: str = ""
    sweep: str = ""
    device: str = ""
    data: str = ""
    curve: Sequence[float] = ()
    log: str = ""


@dataclass(frozen=True)
class RunsPage:
    """A page over runs.

    columns   parameters with a column each; in a sweep those that vary
    base      what all runs of a sweep were given, and `defaults` the rest; None for no sweep
    curve     the column of the history that the runs' curves are of
    folder    where the page will stand; the runs' ids are addresses from there
    notebook  what `kernelkit run` repeats a run with; "" where the runs are of several
    live      of a page that is served: {"text": how far it is, "until": when it should end, in
              seconds since 1970 or None, "over": whether nothing more comes}
    """

    title: str
    runs: Sequence[ShownRun]
    shown: Shown
    columns: Sequence[str]
    base: Mapping[str, Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    curve: str = ""
    folder: Path = Path()
    notebook: str = ""
    live: Mapping[str, Any] = field(default_factory=dict)

    def html(self, back: Mapping[str, str] | None = None) -> str:
        """The page; `back`: {name: address} of the pages above it."""
        folders = [self.folder / unquote(run.id) for run in self.runs]
        scores = list(map(self._classes, folders))
        classes = list(dict.fromkeys(name for own in scores for name in own))
        notes, damage = self._notes()
        sent = ("columns", "defaults", "curve", "notebook", "live")
        data = {name: getattr(self, name) for name in sent} | {
            "sweep": self.base is not None,
            "axes": self.columns if self.base is not None else [],
            "base": self.base or {},
            "score": self.shown.score,
            "labels": self.shown.measures,
            "minimize": self.shown.minimize,
            "classes": classes,
            "notes": notes,
            "damage": damage,
            "runs": [
                vars(run)
                | {
                    "curve": [round(value, 5) for value in run.curve],
                    "along": history.along(folder) if run.curve else {},
                    "classes": [own.get(name) for name in classes] if own else [],
                }
                for run, folder, own in zip(self.runs, folders, scores, strict=True)
            ],
        }
        example = f"{self.columns[0]}=… " if self.columns else ""
        body = shell.rendered("runs.html.j2", title=self.title, example=example)
        return shell.page(self.title, body, SCRIPTS, data, back)

    def _classes(self, folder: Path) -> dict[str, str]:
        """{class: score} of a run, from the CSV of the first section of bars; {} without it."""
        name = next((own.file for own in self.shown.sections if own.kind == "bars"), "")
        try:
            with (folder / name).open(encoding="utf-8", newline="") as lines:
                return {row[0]: row[1] for row in list(csv.reader(lines))[1:] if len(row) > 1}
        except (OSError, ValueError, csv.Error):
            return {}

    def _notes(self) -> tuple[object, str]:
        """What `notes.yaml` beside the page holds, as JSON can say it, and what is wrong there."""
        try:
            notes = yaml.safe_load((self.folder / NOTES).read_text(encoding="utf-8")) or {}
            if not all(isinstance(entry, dict) for entry in notes.values()):
                raise ValueError("an entry is no table")
            return json.loads(json.dumps(notes, default=str)), ""
        except FileNotFoundError:
            return {}, ""
        except (OSError, ValueError, TypeError, AttributeError, RecursionError, yaml.YAMLError):
            return {}, "is not YAML of the form {id of a run: {tags: [...], note: ...}}"

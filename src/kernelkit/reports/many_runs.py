"""The page of many runs: of a sweep, or of a folder of runs. Table, filters, curves, pictures."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from kernelkit.reports import sections, shell
from kernelkit.run_folders import history
from kernelkit.shown import Shown

GUESSED = 12  # runs, the best, whose guesses at every photo are on the page
MOST_PICTURES = 150  # of photos on which those runs disagree, about 8 kB each
NOTES = "notes.yaml"  # beside the page: {id of a run: {tags: [...], note: "..."}}
PREDICTIONS = "val_predictions.npz"
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

    columns   parameters with a column each
    axes      the parameters of a sweep that vary
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
    axes: Sequence[str] = ()
    base: Mapping[str, Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    curve: str = ""
    folder: Path = Path()
    notebook: str = ""
    live: Mapping[str, Any] = field(default_factory=dict)

    def html(self, back: Mapping[str, str] | None = None) -> str:
        """The page; `back`: {name: address} of the pages above it."""
        tables = [self._rows("bars", run)[1:] for run in self.runs]
        scores = [{row[0]: row[1] for row in rows if len(row) > 1} for rows in tables]
        classes = list(dict.fromkeys(name for own in scores for name in own))
        photos, guesses = self._guesses()
        notes, damage = self._notes()
        data = {
            "sweep": self.base is not None,
            "score": self.shown.score,
            "labels": self.shown.measures,
            "minimize": self.shown.minimize,
            "columns": list(self.columns),
            "axes": list(self.axes),
            "base": self.base or {},
            "defaults": self.defaults,
            "curve": self.curve,
            "classes": classes,
            "photos": photos,
            "notes": notes,
            "damage": damage,
            "notebook": self.notebook,
            "live": self.live,
            "runs": [
                vars(run)
                | {
                    "curve": [round(value, 5) for value in run.curve],
                    "along": history.along(self._place(run)) if run.curve else {},
                    "classes": [own.get(name) for name in classes] if own else [],
                    "guesses": guesses.get(run.id),
                }
                for run, own in zip(self.runs, scores, strict=True)
            ],
        }
        example = f"{self.columns[0]}=… " if self.columns else ""
        body = shell.rendered("runs.html.j2", title=self.title, example=example)
        return shell.page(self.title, body, SCRIPTS, data, back)

    def _place(self, run: ShownRun) -> Path:
        return self.folder / unquote(run.id)

    def _rows(self, kind: str, run: ShownRun) -> list[list[str]]:
        """The CSV that the first section of this kind shows of a run; [] if it cannot be read."""
        name = next((own.file for own in self.shown.sections if own.kind == kind), "")
        try:
            with (self._place(run) / name).open(encoding="utf-8", newline="") as lines:
                return list(csv.reader(lines))
        except (OSError, ValueError, csv.Error):
            return []

    def _guesses(self) -> tuple[dict[str, Any], dict[str, list[int]]]:
        """What was validated on, and the guesses of the best runs by their ids.

        Runs that were validated on something else than the best of them are left out.
        """
        best = [run for run in self.runs if self.shown.score in run.metrics]
        best.sort(key=lambda run: run.metrics[self.shown.score], reverse=not self.shown.minimize)
        read = {run.id: _guesses(self._place(run) / PREDICTIONS) for run in best[:GUESSED]}
        ids, labels, _ = first = next(filter(None, read.values()), ([], [], []))
        names = next(iter(self._rows("matrix", best[0])), [])[1:] if ids else []
        alike = {id: own[2] for id, own in read.items() if own and own[:2] == first[:2]}
        apart = {
            str(id) for id, *own in zip(ids, *alike.values(), strict=True) if len(set(own)) > 1
        }
        pictures = self._pictures([run for run in best if run.id in alike], apart)
        return {"ids": ids, "truths": labels, "names": names, "pictures": pictures}, alike

    def _pictures(self, runs: Sequence[ShownRun], ids: Container[str]) -> dict[str, str]:
        """By their ids, the photos among these that the runs' own sections of photos hold."""
        pictures: dict[str, str] = {}
        own = [section for section in self.shown.sections if section.kind == "photos"]
        contents = [sections.filled(section, self._place(run)) for run in runs for section in own]
        for photo in (photo for content in contents if content for photo in content["photos"]):
            if (id := photo["texts"].get("id")) in ids and len(pictures) < MOST_PICTURES:
                pictures.setdefault(id, photo["picture"])
        return pictures

    def _notes(self) -> tuple[object, str]:
        """What `notes.yaml` beside the page holds, as JSON can say it, and what is wrong there."""
        try:
            notes = yaml.safe_load((self.folder / NOTES).read_text(encoding="utf-8"))
            notes = json.loads(json.dumps({} if notes is None else notes, default=str))
        except FileNotFoundError:
            return {}, ""
        except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
            mark = getattr(error, "problem_mark", None)
            return {}, "cannot be read" + (f": see line {mark.line + 1}" if mark else "")
        entries = notes.values() if isinstance(notes, dict) else [notes]
        whole = all(isinstance(entry, dict) for entry in entries)
        return notes, "" if whole else "has entries that are not {tags: [...], note: ...} of a run"


def _guesses(path: Path) -> tuple[list[Any], list[int], list[int]] | None:
    """The ids, classes and guessed classes of a run's predictions; None if they cannot be read."""
    try:
        import numpy as np  # there where a run left such a file

        with np.load(path) as arrays:
            guesses = arrays["probabilities"].argmax(axis=1)
            return arrays["ids"].tolist(), arrays["labels"].tolist(), guesses.tolist()
    except (ImportError, OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None

"""The page of many runs: of a sweep, or of a folder of runs. Table, filters, curves, pictures."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kernelkit.pages.shared import sections, standalone, trail
from kernelkit.runs import run_folder
from kernelkit.scores import history
from kernelkit.scores.evaluation import Evaluation
from kernelkit.shown import Shown

GUESSED = 12  # runs, the best, whose guesses at every photo are on the page
MOST_PICTURES = 150  # of photos on which those runs disagree, about 8 kB each
NOTES = "notes.yaml"  # beside the page: {id of a run: {tags: [...], note: "..."}}
SCRIPT = "runs/page.js"


@dataclass(frozen=True, kw_only=True)
class ShownRun(Evaluation):
    """A run as the page has it; addresses are relative to the page, times in seconds.

    id           the address of its folder
    setting      its name without the seed
    notebook     what it is a run of; "" if that is unknown, and in a sweep
    error        the whole text that it ended in, of which `reason` is one line
    note         what to know of it beside its measures
    reached_end  whether all of its notebook ran; else it is never the best
    report       the address of its report
    group        the sweep that it belongs to, and `sweep` the address of that sweep's page
    public       the public score of its last submission
    contradicts  whether that is at odds with its validation
    curve        its score by epoch, which `results.json` has; the page reads the whole history
    log          the last lines of an active run
    thumbnail    the `data:` address of a small picture that it drew
    """

    id: str
    name: str
    setting: str
    notebook: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    state: str = ""
    seconds: float | None = None
    error: str = ""
    reason: str = ""
    note: str = ""
    reached_end: bool = True
    report: str = ""
    group: str = ""
    sweep: str = ""
    device: str = ""
    public: float | None = None
    contradicts: bool = False
    curve: Sequence[float] = ()
    log: str = ""
    thumbnail: str = ""


@dataclass(frozen=True)
class RunsPage:
    """A page over runs.

    columns   parameters with a column each; in a sweep those that vary
    base      what all runs of a sweep were given, and `defaults` the rest; None for no sweep
    ends      {a parameter of a sweep: the ends of what its notebook allows}
    folder    where the page will stand; the runs' ids are addresses from there
    notebook  what `kernelkit run` repeats a run with; "" where the runs are of several
    agreement whether public scores follow the validation scores, in a sentence; "" if unknown
    searched  whether a search chose the runs one after the other
    live      of a page that follows what goes on: what `going_on` returns; else empty
    """

    title: str
    runs: Sequence[ShownRun]
    shown: Shown
    columns: Sequence[str]
    base: Mapping[str, Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    folder: Path = Path()
    notebook: str = ""
    searched: bool = False
    live: Mapping[str, Any] = field(default_factory=dict)
    agreement: str = ""

    def html(self, back: Mapping[str, str] | None = None) -> str:
        """The page; `back`: {name: address} of the pages above it."""
        folders = [self.folder / trail.path_of(run.id) for run in self.runs]
        scores = [sections.bars(self.shown.sections, folder) for folder in folders]
        histories = [history.read(folder) for folder in folders]
        curves = [history.curve_name(columns, self.shown.score) for columns in histories]
        classes = list(dict.fromkeys(name for own in scores for name in own))
        measured = dict.fromkeys(name for run in self.runs for name in run.metrics)
        notes, damage = self._notes()
        runs = []
        for run, columns, own, name in zip(self.runs, histories, scores, curves, strict=True):
            shown = {
                # With nan in empty cells, so that every value keeps its epoch.
                "curve": [round(value, 5) for value in history.numbers(columns.get(name, ()))],
                "along": history.along(columns) if name else {},
                "classes": [own.get(each) for each in classes] if own else [],
            }
            runs.append(vars(run) | shown)
        is_sweep = self.base is not None
        data = {
            "sweep": is_sweep,
            "searched": self.searched,
            "live": self.live,
            "agreement": self.agreement,
            "notebook": self.notebook,
            "columns": self.columns,
            "axes": self.columns if is_sweep else [],
            "base": self.base or {},
            "defaults": self.defaults,
            "ends": self.ends,
            "curve": next(filter(None, curves), ""),
            "score": self.shown.score,
            "labels": self.shown.labels(measured),
            "minimize": self.shown.minimize,
            "classes": classes,
            "photos": self._photos(),
            "notes": notes,
            "damage": damage,
            "runs": runs,
        }
        example = f"{self.columns[0]}=… " if self.columns else ""
        body = standalone.rendered("runs.html.j2", title=self.title, example=example)
        return standalone.page(self.title, body, SCRIPT, data, back)

    def _photos(self) -> dict[str, Any]:
        """The guesses of the best runs by their ids, with what shows the photos they are of.

        Runs that were validated on something else than the best of them are left out.
        """
        score = self.shown.score
        best = [run for run in self.runs if score in run.metrics and run.reached_end]
        best.sort(key=lambda run: run.metrics[score], reverse=not self.shown.minimize)
        truths: list[tuple[str, int]] = []
        guesses: dict[str, list[int]] = {}
        names: list[str] = []
        pictures: dict[str, str] = {}
        for run in best[:GUESSED]:
            folder = self.folder / trail.path_of(run.id)
            own, guessed = _predictions(folder)
            truths = truths or own
            if not own or own != truths:
                continue
            guesses[run.id] = guessed
            for content in filter(None, (sections.filled(s, folder) for s in self.shown.sections)):
                names = names or content.get("matrix", {}).get("names", [])
                for photo in content.get("photos", ()):
                    pictures.setdefault(photo["texts"].get("id"), photo["picture"])
        rows = zip(truths, *guesses.values(), strict=False)
        apart = {truth[0] for truth, *taken in rows if len({*taken}) > 1}
        shown = [photo for photo in pictures.items() if photo[0] in apart][:MOST_PICTURES]
        return {"truths": truths, "guesses": guesses, "names": names, "pictures": dict(shown)}

    def _notes(self) -> tuple[object, str]:
        """What `notes.yaml` beside the page holds, as JSON can say it, and what is wrong there."""
        try:
            notes = yaml.safe_load((self.folder / NOTES).read_text("utf-8")) or {}
            if not all(isinstance(entry, dict) for entry in notes.values()):
                raise ValueError("an entry is not a table")
            return json.loads(json.dumps(notes, default=str)), ""
        except FileNotFoundError:
            return {}, ""
        except (OSError, ValueError, TypeError, AttributeError, RecursionError, yaml.YAMLError):
            return {}, "is not YAML of the form {id of a run: {tags: [...], note: ...}}"


def going_on(text: str, again: float, until: float | None = None) -> dict[str, Any]:
    """What a page says of what goes on, as `RunsPage.live` takes it; empty if nothing does.

    `text`: how far it is; `again`: the seconds until the page is written again, 0 for never;
    `until`: when it should end, in seconds since 1970.
    """
    if not again:
        return {}
    return {"text": text, "until": until, "again": again, "written": time.time()}


def _predictions(folder: Path) -> tuple[list[tuple[str, int]], list[int]]:
    """The id and class of each photo, by id, and what the run took it for; empty if unreadable.

    Runs may have the same photos in any order.
    """
    try:
        import numpy as np  # there where a run left such a file

        with np.load(folder / run_folder.PREDICTIONS) as arrays:
            ids = arrays["ids"].astype(str).tolist()
            labels = arrays["labels"].tolist()
            guesses = arrays["probabilities"].argmax(axis=1).tolist()
            photos = sorted(zip(ids, labels, guesses, strict=True))
            return [(id, label) for id, label, _ in photos], [guess for _, _, guess in photos]
    except Exception:  # a damaged file can have any shape
        return [], []

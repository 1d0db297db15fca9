"""A hidden test set for a code competition's second run, made from its own training data.

The organisers' advice is to predict training rows as if they were the test set. So a part of the
training data is taken out of it, gets new ids and the test set's form, and becomes the test set of
a copy of the competition's folder; its targets are kept apart, as answers.

Tables are divided by SQL, with the files that are named by their ids (`from_tables`). Of anything
else, such as photos in folders of classes or TFRecords, the project says how in a command of its
own (`from_command`).
"""

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.hidden.competition.unknown import Unknown, ask
from kernelkit.hidden.data import scoring_rules
from kernelkit.hidden.data.from_command import make_from_command
from kernelkit.hidden.data.from_tables import make_from_tables
from kernelkit.hidden.data.hidden_content import HiddenContent
from kernelkit.hidden.division.divide import SEED
from kernelkit.project import Project
from kernelkit.rehearsal.inputs import content_of

KEPT = "made"  # in a catalogue: the hidden data that was made, between its runs
MANIFEST = ".made_by_kernelkit.json"  # in a hidden folder that was made
VERSION = 8  # of how hidden data is made: another one makes it anew


@dataclass(frozen=True)
class Made:
    """A hidden test set: its folder and its rows, one for each id.

    `reused`: whether it was there already; `notes`: how it was made, each a line.
    """

    folder: Path
    rows: int
    reused: bool
    notes: Sequence[str] = ()


def make_hidden_data(
    catalogue: Path,
    slug: str,
    project: Project,
    count: int | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Made:
    """Make the hidden test set of a competition whose public files are in a catalogue.

    Writes `catalogue/hidden/SLUG` from `catalogue/competitions/SLUG`, and the answers
    `catalogue/solutions/SLUG.hidden.csv`, with a manifest; what was made before from the same files
    and settings is used again. Where the settings name a metric, the rules of the score are written
    each time. `count`: the number of hidden rows; None for a default. `tell` gets the lines of a
    command of the project, and which large tables are read or written.

    Raises `ParameterError` for what is missing or not certain, and if the hidden folder is
    somebody's own.
    """
    public = catalogue / "competitions" / slug
    if not public.is_dir():
        raise ParameterError(
            f"{public} has no files of {slug} to make hidden data from: put the competition's "
            "public files there"
        )
    folder = catalogue / "hidden" / slug
    answers = catalogue / "solutions" / f"{slug}.hidden.csv"
    if folder.is_symlink() or (folder.is_dir() and not (folder / MANIFEST).is_file()):
        raise ParameterError(f"{folder} already has hidden data of your own: run without --make")
    recipe = {
        "version": VERSION,
        "settings": asdict(project.hidden),
        "count": count,
        "seed": SEED,
        "files": content_of(public),
    }
    rules = answers.with_name(f"{slug}.toml")
    unknown = scoring_rules.unknown_metric(rules, project.hidden)
    earlier = files.read_object(folder / MANIFEST)
    is_made = earlier.get("recipe") == recipe and earlier.get("answers") == _hash(answers)
    if is_made and not unknown:
        scoring_rules.write(rules, project, earlier["columns"])
        return Made(folder, int(earlier["rows"]), True, earlier["notes"])
    part = folder.with_name(f".{slug}.part")
    part_answers = answers.with_name(f".{slug}.part.csv")
    shutil.rmtree(part, ignore_errors=True)  # of a command that was killed
    part_answers.unlink(missing_ok=True)
    content = _make(public, part, part_answers, unknown, project, count, tell)
    notes = [f"made from the training data of {slug}", *content.notes]
    manifest = {
        "recipe": recipe,
        "rows": content.rows,
        "columns": list(content.columns),
        "answers": _hash(part_answers),
        "notes": notes,
    }
    files.write_text(part / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    part_answers.replace(answers)
    if folder.is_dir():
        shutil.rmtree(folder)
    part.rename(folder)
    scoring_rules.write(rules, project, content.columns)
    return Made(folder, content.rows, False, notes)


def _make(
    public: Path,
    folder: Path,
    answers: Path,
    unknown: Sequence[Unknown],
    project: Project,
    count: int | None,
    tell: Callable[[str], None],
) -> HiddenContent:
    """Write a hidden folder and its answers.

    Raises `ParameterError` for what is `unknown`, together with all else that is not certain.
    """
    if not project.hidden.command:
        return make_from_tables(public, folder, answers, project.hidden, count, unknown, tell)
    if unknown:
        raise ask(unknown, project.hidden)
    return make_from_command(public, folder, answers, project, count, tell)


@contextlib.contextmanager
def made_in_place(catalogue: Path, slug: str) -> Iterator[None]:
    """A block in which hidden data that was made is in its place; it is kept elsewhere afterwards.

    With a hidden folder in place the local Kaggle takes only notebooks for the competition, which
    other rehearsals of it would not expect. A folder that somebody else put there stays.
    """
    kept = catalogue / KEPT / slug
    place = catalogue / "hidden" / slug
    if kept.is_dir() and not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        kept.rename(place)
    try:
        yield
    finally:
        if not place.is_symlink() and (place / MANIFEST).is_file():
            shutil.rmtree(kept, ignore_errors=True)
            kept.parent.mkdir(parents=True, exist_ok=True)
            place.rename(kept)


def _hash(path: Path) -> str:
    """The SHA-256 of a file; "" if there is none."""
    return files.sha256_of(path) if path.is_file() else ""

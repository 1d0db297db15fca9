"""A hidden test set for a code competition's second run, made from its own training data.

The organisers' advice is to predict training rows as if they were the test set. So rows of the
training table are taken out of it, get new ids and the test table's columns, and become the test
set of a copy of the competition's folder; what they hold of the target is kept apart, as answers.
Files that are named by a row's id, such as images, come along under the new id.
"""

import csv
import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.project import HiddenSettings

MANIFEST = ".made_by_kernelkit.json"
SEED = 0
SHARE = 5  # by default one training row in so many becomes hidden, at most
MORE = 4  # by default the hidden set has so many times the rows of the public one
FEWEST = 200  # rows that the hidden set has by default, if there are enough

Row = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """A hidden test set: its folder, its rows, and whether it was there already."""

    folder: Path
    rows: int
    reused: bool


@dataclass(frozen=True)
class _Table:
    """A table; `name` is its file's. A CSV holds texts; a Parquet file has a `schema`."""

    name: str
    columns: Sequence[str]
    rows: list[Row]
    schema: Any = None


def make_hidden_data(
    catalogue: Path, slug: str, settings: HiddenSettings, count: int | None = None
) -> Made:
    """Make the hidden test set of a competition whose public files are in a catalogue.

    `catalogue/competitions/SLUG` needs a train and a test table (CSV, or Parquet if pyarrow is
    installed) and a sample submission. Writes `catalogue/hidden/SLUG` and the answers
    `catalogue/solutions/SLUG.hidden.csv`, with a manifest; what was made before from the same files
    and settings is used again. `count`: the number of hidden rows.

    Raises `ParameterError` for what is missing and cannot be guessed, and if the hidden folder is
    somebody's own.
    """
    public = catalogue / "competitions" / slug
    if not public.is_dir():
        raise ParameterError(
            f"{public} has no files of {slug} to make hidden data from: put the competition's "
            "public files there"
        )
    folder = catalogue / "hidden" / slug
    made = folder / MANIFEST
    if folder.is_dir() and not made.is_file():
        raise ParameterError(f"{folder} already has hidden data of your own: run without --make")
    recipe = {"settings": asdict(settings), "count": count, "seed": SEED, "files": _stamps(public)}
    earlier = files.read_object(made)
    if earlier.get("recipe") == json.loads(json.dumps(recipe)):
        return Made(folder, int(earlier["rows"]), reused=True)
    sample = _find_table(public, "sample")
    test = _find_table(public, "test")
    train = _find_table(public, "train")
    name, targets = _columns(settings, sample, train, test)
    rules = _rules(catalogue, slug, settings, [name, *targets])
    chosen = _choose(train, test, settings.group, count)
    renamed = _new_ids(chosen, train, test, name)
    part = folder.parent / f".{slug}.part"
    shutil.rmtree(part, ignore_errors=True)  # of a command that was killed
    _link_others(public, part, {sample.name, test.name, train.name})
    hidden_ids = {row[name] for row in chosen}
    kept = [row for row in train.rows if row[name] not in hidden_ids]
    _write(part, train, kept)
    # A new id has the type of the old one, which a Parquet file keeps.
    tested = [{**row, name: type(row[name])(renamed[str(row[name])])} for row in chosen]
    _write(part, test, tested)
    usual = sample.rows[0] if sample.rows else dict.fromkeys(sample.columns, "0")
    _write(part, sample, [{**usual, name: row[name]} for row in tested])
    _link_named_files(public, part, renamed)
    content = {"recipe": recipe, "rows": len(chosen), "made": f"from {train.name} of {slug}"}
    files.write_text(part / MANIFEST, json.dumps(content, indent=1) + "\n")
    solutions = catalogue / "solutions"
    _write(solutions, _Table(f"{slug}.hidden.csv", [name, *targets], []), tested)
    if rules:
        files.write_text(solutions / f"{slug}.toml", rules)
    if folder.is_dir():
        shutil.rmtree(folder)
    part.rename(folder)
    return Made(folder, len(chosen), reused=False)


def _stamps(public: Path) -> dict[str, list[int]]:
    """Size and time of each table of a folder: what a change of it changes."""
    stamps = {}
    for path in sorted(public.iterdir()):
        if path.is_file():
            stat = path.stat()
            stamps[path.name] = [stat.st_size, stat.st_mtime_ns]
    return stamps


def _find_table(public: Path, kind: str) -> _Table:
    """The table of this kind: `train.csv`, `test.parquet`, `sample_submission.csv` …"""
    stems = {"sample": ("sample_submission", "sampleSubmission"), "train": ("train",)}
    for stem in stems.get(kind, (kind,)):
        for ending, read in _READERS.items():
            path = public / f"{stem}{ending}"
            if path.is_file():
                return read(path)
    names = " or ".join(f"{stem}.csv" for stem in stems.get(kind, (kind,)))
    raise ParameterError(
        f"{public} has no {names}, so no hidden data can be made: write it yourself and name its "
        "folder with --hidden FOLDER"
    )


def _read_csv(path: Path) -> _Table:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        rows = [{str(name): value or "" for name, value in row.items()} for row in reader]
        return _Table(path.name, list(reader.fieldnames or []), rows)


def _read_parquet(path: Path) -> _Table:
    try:
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise ParameterError(f"{path.name} is a Parquet file: pip install pyarrow") from None
    table = parquet.read_table(path)
    return _Table(path.name, list(table.column_names), table.to_pylist(), table.schema)


_READERS: Mapping[str, Callable[[Path], _Table]] = {".csv": _read_csv, ".parquet": _read_parquet}


def _columns(
    settings: HiddenSettings, sample: _Table, train: _Table, test: _Table
) -> tuple[str, list[str]]:
    """The column of ids and those to predict."""
    name = settings.id or next(iter(sample.columns), "")
    targets = list(settings.target) or [column for column in sample.columns if column != name]
    for table in (train, test):
        if name not in table.columns:
            raise _ask(f"{table.name} has no column {name!r}", 'id = "COLUMN"')
    lacking = [column for column in targets if column not in train.columns]
    if lacking or not targets:
        shown = ", ".join(map(repr, lacking)) or "a column to predict"
        raise _ask(f"{train.name} lacks {shown}", 'target = ["COLUMN"]')
    absent = [column for column in test.columns if column not in train.columns]
    if absent:
        raise ParameterError(
            f"{test.name} has {', '.join(absent)}, which {train.name} lacks, so its rows cannot "
            "stand for a test set: make the hidden folder yourself, with --hidden FOLDER"
        )
    if settings.group and settings.group not in train.columns:
        raise _ask(f"{train.name} has no column {settings.group!r}", 'group = "COLUMN"')
    ids = [row[name] for row in train.rows]
    if len(set(ids)) < len(ids):
        raise _ask(f"{train.name} names several rows by one {name!r}", 'id = "COLUMN"')
    return name, targets


def _ask(what: str, line: str) -> ParameterError:
    return ParameterError(
        f"{what}: say which it is, with hidden = {{{line}}} below [tool.kernelkit] in "
        "pyproject.toml"
    )


def _rules(catalogue: Path, slug: str, settings: HiddenSettings, columns: Sequence[str]) -> str:
    """What `solutions/SLUG.toml` should hold; "" if it is there and nothing else was said."""
    if not settings.metric:
        if (catalogue / "solutions" / f"{slug}.toml").is_file():
            return ""
        raise _ask(f"it is not known how {slug} is scored", 'metric = "rmse"')
    return f"metric = {json.dumps(settings.metric)}\ncolumns = {json.dumps(list(columns))}\n"


def _choose(train: _Table, test: _Table, group: str, count: int | None) -> list[Row]:
    """The rows that become hidden, shuffled; whole groups where there are any."""
    rng = random.Random(SEED)
    together: dict[str, list[Row]] = {}
    for number, row in enumerate(train.rows):
        together.setdefault(str(row[group]) if group else str(number), []).append(row)
    order = list(together)
    rng.shuffle(order)
    wanted = count or min(max(MORE * len(test.rows), FEWEST), len(train.rows) // SHARE)
    chosen: list[Row] = []
    for key in order:
        if len(chosen) >= wanted:
            break
        chosen += together[key]
    if not chosen or len(chosen) >= len(train.rows):
        raise ParameterError(
            f"{train.name} has {len(train.rows):,} rows: too few for {wanted:,} hidden ones and "
            "something to train on. Give fewer with --make-rows"
        )
    rng.shuffle(chosen)
    return chosen


def _new_ids(chosen: Sequence[Row], train: _Table, test: _Table, name: str) -> dict[str, str]:
    """{id: new id} of the chosen rows; numbers stay numbers, other ids keep their length."""
    known = {str(row[name]) for table in (train, test) for row in table.rows}
    numbers = [int(one) for one in known if one.isdecimal()]
    if len(numbers) == len(known):
        first = max(numbers) + 1
        return {str(row[name]): str(first + place) for place, row in enumerate(chosen)}
    renamed = {}
    for row in chosen:
        old = str(row[name])
        digest = hashlib.sha256(f"{SEED} {old}".encode()).hexdigest()
        length = max(8, len(old))
        while digest[:length] in known:
            length += 1
        renamed[old] = digest[:length]
    return renamed


def _write(folder: Path, like: _Table, rows: Sequence[Row]) -> None:
    """Write rows as the file of a table: its name, its columns, and the types of a Parquet file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / like.name
    if like.schema is not None:
        import pyarrow
        from pyarrow import parquet

        shown = [{name: row.get(name) for name in like.columns} for row in rows]
        parquet.write_table(pyarrow.Table.from_pylist(shown, schema=like.schema), path)
        return
    part = path.with_name(f".{path.name}{files.PART}")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, like.columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)


def _link_others(public: Path, folder: Path, written: set[str]) -> None:
    """Link everything in the public folder but the tables that are written anew."""
    folder.mkdir(parents=True)
    for path in public.iterdir():
        if path.name in written:
            continue
        if path.is_dir():
            shutil.copytree(path, folder / path.name, copy_function=_link)
        else:
            _link(path, folder / path.name)


def _link(source: str | Path, place: str | Path) -> None:
    """A hard link, or a copy where the file system has none; a session may not write to either."""
    try:
        os.link(Path(source).resolve(), place)
    except OSError:
        shutil.copy2(source, place)


def _link_named_files(public: Path, folder: Path, renamed: Mapping[str, str]) -> None:
    """Move what training folders hold of a hidden row to the test folder beside them.

    `train_images/ID.png` becomes `test_images/NEW.png`, and `train/a/ID.jpg` `test/a/NEW.jpg`.
    """
    for path in public.rglob("*"):
        place = path.relative_to(public)
        if path.is_dir() or path.stem not in renamed or len(place.parts) < 2:
            continue
        top = place.parts[0]
        if "train" not in top:
            continue
        (folder / place).unlink(missing_ok=True)
        new = f"{renamed[path.stem]}{path.suffix}"
        target = folder / top.replace("train", "test") / Path(*place.parts[1:]).with_name(new)
        target.parent.mkdir(parents=True, exist_ok=True)
        _link(path, target)

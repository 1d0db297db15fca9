"""Which files of a competition are its tables.

That is `train` and `test`, and `train_X` and `test_X` where there are more of them, such as one of
patients beside one of visits; with a gateway, those that it serves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit.errors import ParameterError
from kernelkit.hidden.tables import gateway_files, table_files
from kernelkit.hidden.tables.table_engine import Table, TableEngine
from kernelkit.hidden.tables.table_files import TEST, TRAIN

MAKE_IT_YOURSELF = (
    "make the hidden data with a command of the project, hidden = {command = "
    '"python -m package.module {public} {hidden} {answers} {rows}"} below [tool.kernelkit] in '
    "pyproject.toml, or write it into a folder and name that with --hidden FOLDER"
)


@dataclass(frozen=True)
class Found:
    """Where the tables of a competition lie.

    `pairs` are a training and a test table each, and `others` tables that no test table belongs
    to. `notes` say what was taken for what, each a line.
    """

    train: Path
    test: Path
    sample: Path | None
    pairs: Sequence[tuple[Path, Path]]
    others: Sequence[Path]
    notes: Sequence[str]


@dataclass(frozen=True)
class CompetitionTables:
    """The tables of a competition, loaded into DuckDB; the others are not."""

    train: Table
    test: Table
    sample: Table | None
    pairs: Sequence[tuple[Table, Table]]
    others: Sequence[Path]


def find(public: Path) -> Found | None:
    """Where the tables of a competition lie; None if it has no test table.

    Without one the sample submission is it, if there is a training table: then the test set is
    files that are named by an id.
    """
    gateway = gateway_files.find_gateway(public)
    served = gateway_files.served_files(public, gateway) if gateway else []
    test = table_files.find(public, (TEST, TEST.capitalize()))
    if test is None:
        test = next((public / name for name in served if is_test(public / name)), None)
    packed = table_files.find_packed(public)
    if packed and (test is None or _train_of(test) is None):
        raise ParameterError(f"{packed} is packed: unpack it there")
    sample = table_files.find_sample(public)
    if test is not None:
        train = _train_of(test)
    else:
        test = sample
        train = table_files.find(public, (TRAIN, TRAIN.capitalize()))
        if test is None or train is None:
            return None
    if train is None:
        raise _absent(public, _train_name(test))
    if sample is None and gateway is None:
        raise _absent(public, "sample_submission.csv")
    notes = []
    if gateway:
        notes.append(f"{gateway.name} serves {', '.join(served) or 'no file that it names'}")
    if sample and sample.stem not in table_files.SAMPLES:
        notes.append(f"{sample.name} is taken as the sample submission")
    pairs = []
    others = []
    for path in sorted(filter(table_files.is_table, public.iterdir())):
        if path in (test, train, sample):
            continue
        twin = _train_of(path) if is_test(path) else None
        if twin:
            pairs.append((twin, path))
        elif path.name in served and is_test(path):
            raise ParameterError(
                f"the gateway serves {path.name}, and there is no {_train_name(path)} to make it "
                f"from: {MAKE_IT_YOURSELF}"
            )
        else:
            others.append(path)
    paired = {own for own, _ in pairs}
    return Found(train, test, sample, pairs, [one for one in others if one not in paired], notes)


def _absent(public: Path, name: str) -> ParameterError:
    return ParameterError(
        f"{public} has no {name}, so no hidden data can be made: write it yourself and name its "
        "folder with --hidden FOLDER"
    )


def load(engine: TableEngine, found: Found) -> CompetitionTables:
    """The tables of a competition in DuckDB."""
    train = engine.load("train", found.train)
    if not train.rows:
        raise ParameterError(f"{found.train} has no rows to make hidden ones of")
    pairs = []
    for number, (own, tested) in enumerate(found.pairs):
        pair = (
            engine.load(f"train_{number}", own),
            engine.load(f"test_{number}", tested),
        )
        pairs.append(pair)
    return CompetitionTables(
        train,
        engine.load("test", found.test),
        engine.load("sample", found.sample) if found.sample else None,
        pairs,
        found.others,
    )


def is_test(path: Path) -> bool:
    """Whether a file or folder is a table of a test set, by its name."""
    return table_files.is_table(path) and TEST in path.stem.lower()


def _train_name(test: Path) -> str:
    return test.name.replace(TEST, TRAIN).replace(TEST.capitalize(), TRAIN.capitalize())


def _train_of(test: Path) -> Path | None:
    """The training table beside a test table, which may have the other ending."""
    name = Path(_train_name(test))
    for ending in dict.fromkeys((name.suffix, *table_files.ENDINGS)):
        path = test.with_name(f"{name.stem}{ending}")
        if path != test and table_files.is_table(path):
            return path
    return None

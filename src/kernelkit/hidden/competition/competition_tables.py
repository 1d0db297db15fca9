"""Which files of a competition are its tables.

That is `train` and `test`, and `train_X` and `test_X` where there are more of them, such as one of
patients beside one of visits; with a gateway, those that it serves. All of them lie at the top of
the competition's folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit.errors import ParameterError
from kernelkit.hidden.competition import gateway_files
from kernelkit.hidden.competition.unknown import MAKE_IT_YOURSELF
from kernelkit.hidden.tables import table_files
from kernelkit.hidden.tables.table_engine import Table, TableEngine
from kernelkit.hidden.tables.table_files import TEST, TEST_IN_NAME, TRAIN


@dataclass(frozen=True)
class TablePaths:
    """Where the tables of a competition lie.

    train, test, sample  of the rows to predict; the sample submission may be None with a gateway
    pairs                a training table and its test table each, such as those of people
    others               tables that are in none of these places
    notes                what was taken for what, each a line
    """

    train: Path
    test: Path
    sample: Path | None
    pairs: Sequence[tuple[Path, Path]]
    others: Sequence[Path]
    notes: Sequence[str]


@dataclass(frozen=True)
class CompetitionTables:
    """The tables of a competition, as in `TablePaths`, loaded into DuckDB but for `others`."""

    train: Table
    test: Table
    sample: Table | None
    pairs: Sequence[tuple[Table, Table]]
    others: Sequence[Path]


def find(public: Path) -> TablePaths:
    """Find the tables of a competition among its public files.

    Raises `ParameterError` for a table that is packed or missing, and for a test table that a
    gateway serves and that cannot be made.
    """
    gateway = gateway_files.find_gateway(public)
    served = gateway_files.served_files(public, gateway) if gateway else []
    sample = table_files.find_sample(public)
    train, test = _train_and_test(public, served, sample)
    if sample is None and gateway is None:
        raise _absent(public, "sample_submission.csv")
    notes = []
    if gateway:
        notes.append(f"{gateway.name} serves {', '.join(served) or 'no file that it names'}")
    if sample and sample.stem not in table_files.SAMPLES:
        notes.append(f"{sample.name} is taken as the sample submission")
    tables = sorted(filter(table_files.is_table, public.iterdir()))
    rest = [path for path in tables if path not in (test, train, sample)]
    pairs = _pairs(rest)
    paired = {path for pair in pairs for path in pair}
    others = [path for path in rest if path not in paired]
    return TablePaths(train, test, sample, pairs, others, notes)


def _train_and_test(public: Path, served: Sequence[str], sample: Path | None) -> tuple[Path, Path]:
    """The training table, and the test table: `test`, or the first one that a gateway serves.

    With a training table alone, the sample submission is the test table: then the test set is files
    that are named by an id. Raises `ParameterError` as `find`.
    """
    test = table_files.find(public, (TEST,)) or _served_test(public, served)
    train = _train_of(test) if test else table_files.find(public, (TRAIN,))
    packed = table_files.find_packed(public)
    if packed and not (test and train):
        raise ParameterError(f"{packed} is packed: unpack it there")
    _check_served(public, served)
    if train and not test:
        test = sample
    if test is None:
        raise _absent(public, "test.csv or test.parquet to make another one of")
    if train is None:
        raise _absent(public, _train_name(test))
    return train, test


def load(engine: TableEngine, paths: TablePaths) -> CompetitionTables:
    """Load the tables of a competition into DuckDB.

    Raises `ParameterError` for one that cannot be read, and for a training table without rows.
    """
    train = engine.load("train", paths.train)
    if not train.rows:
        raise ParameterError(f"{paths.train} has no rows to make hidden ones of")
    pairs = []
    for number, (train_path, test_path) in enumerate(paths.pairs):
        train_of_pair = engine.load(f"train_{number}", train_path)
        test_of_pair = engine.load(f"test_{number}", test_path)
        pairs.append((train_of_pair, test_of_pair))
    return CompetitionTables(
        train,
        engine.load("test", paths.test),
        engine.load("sample", paths.sample) if paths.sample else None,
        pairs,
        paths.others,
    )


def is_test(path: Path) -> bool:
    """Whether a file or folder is a table of a test set, by its name."""
    return table_files.is_table(path) and bool(TEST_IN_NAME.search(path.stem))


def _served_test(public: Path, served: Sequence[str]) -> Path | None:
    """The first test table that a gateway serves; None without one."""
    return next((public / name for name in served if is_test(public / name)), None)


def _check_served(public: Path, served: Sequence[str]) -> None:
    """Raise `ParameterError` for a test table that a gateway serves and that cannot be made."""
    for name in served:
        path = public / name
        if is_test(path) and (path.parent != public or _train_of(path) is None):
            raise ParameterError(
                f"the gateway serves {name}, which does not lie beside a {_train_name(path)} at "
                f"the top of the folder: {MAKE_IT_YOURSELF}"
            )


def _pairs(tables: Sequence[Path]) -> list[tuple[Path, Path]]:
    """The test tables among these that have a training table: (training table, test table)."""
    pairs = []
    for path in filter(is_test, tables):
        train = _train_of(path)
        if train:
            pairs.append((train, path))
    return pairs


def _absent(public: Path, name: str) -> ParameterError:
    return ParameterError(f"{public} has no {name}: {MAKE_IT_YOURSELF}")


def _train_name(test: Path) -> str:
    return TEST_IN_NAME.sub(TRAIN, test.name)


def _train_of(test: Path) -> Path | None:
    """The training table beside a test table, which may have the other ending."""
    name = Path(_train_name(test))
    for ending in dict.fromkeys((name.suffix, *table_files.ENDINGS)):
        path = test.with_name(f"{name.stem}{ending}")
        if path != test and table_files.is_table(path):
            return path
    return None

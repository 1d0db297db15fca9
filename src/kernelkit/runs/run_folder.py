"""What a run leaves in its folder: measures, its notebook, its report, a file to submit."""

from pathlib import Path, PurePosixPath

from kernelkit.runs import fetched, kit_folder

METRICS = "metrics.json"
PREDICTIONS = "val_predictions.npz"  # ids, labels and probabilities of the validation data
EXECUTED = "run.ipynb"  # the executed notebook
EXECUTED_NAMES = (EXECUTED, "__notebook__.ipynb")  # the second is Kaggle's own
PART = f".{EXECUTED}.part.ipynb"  # as papermill saves it, until the run's end
LEFT_BY_A_RUN = (METRICS, *EXECUTED_NAMES, PART)
SUBMITTED_ENDINGS = (".csv", ".parquet", ".zip", ".tar.gz")  # of files that competitions accept
SUBMISSIONS = tuple(f"submission{ending}" for ending in SUBMITTED_ENDINGS)


def is_run(folder: Path) -> bool:
    """Whether the folder is a run's."""
    return any((folder / name).is_file() for name in LEFT_BY_A_RUN)


def place(folder: Path, name: str) -> Path:
    """The path of the kit's file `name`: beside the run's files, or among the kit's own if the run
    wrote such a file."""
    names = fetched.names(folder) or frozenset()
    taken = {PurePosixPath(each).parts[0].casefold() for each in names}
    return kit_folder.path(folder, name) if name.casefold() in taken else folder / name


def notebooks_of_run(folder: Path) -> list[Path]:
    """The executed notebooks among a push's files, or the one that papermill made at home."""
    known = fetched.names(folder)
    names = [name for name in EXECUTED_NAMES if known is None or name in known]
    return [folder / name for name in names if (folder / name).is_file()]


def executed(folder: Path) -> Path | None:
    """The notebook that a report of the folder shows: the run's, or the kit's own.

    Of a run that goes on or was killed it is what papermill saved last.
    """
    places = [*notebooks_of_run(folder), place(folder, EXECUTED), folder / PART]
    return next(filter(Path.is_file, places), None)


def report_place(folder: Path) -> Path:
    """The path of a run folder's report, which need not exist; aside if the run wrote its own."""
    own = kit_folder.path(folder, kit_folder.REPORT)
    return own if own.is_file() else place(folder, kit_folder.REPORT)


def submissions(folder: Path, named: str) -> list[Path]:
    """The files in a run's folder that may be submitted: the one that its project has `named`.

    Where the project names none, each of `SUBMISSIONS` that is there.
    """
    names = [named] if named else SUBMISSIONS
    return [folder / name for name in names if (folder / name).is_file()]


def written(folder: Path) -> float:
    """When its metrics or its notebook was last written, in seconds since 1970; 0 without both."""
    paths = (folder / name for name in LEFT_BY_A_RUN)
    return max((path.stat().st_mtime for path in paths if path.is_file()), default=0.0)

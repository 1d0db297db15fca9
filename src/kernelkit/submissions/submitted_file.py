"""Which file of a run is submitted."""

from pathlib import Path

from kernelkit.errors import OutputsError
from kernelkit.project import find_project
from kernelkit.runs import run_folder

TAKEN = (
    "a competition takes a file called submission.csv, submission.parquet, submission.zip or "
    "submission.tar.gz; name another with submission in [tool.kernelkit] of pyproject.toml"
)
PARTIAL = ".partial."  # in the name of a file that lacks rows, as a trial writes it


def output_of(folder: Path, root: Path | None) -> Path:
    """The file in a run's folder to submit.

    That is the one that `[tool.kernelkit]` of the project in `root` names, or the only one of
    `run_folder.SUBMISSIONS`. Raises `OutputsError` if there is none or more than one, and for a
    file that is `PARTIAL`.
    """
    named = find_project(root or Path.cwd()).submission
    there = run_folder.submissions(folder, named)
    if not there:
        for path in sorted(folder.glob(f"submission{PARTIAL}*")):
            check_is_whole(path)
        taken = f"the file that [tool.kernelkit] names is {named}" if named else TAKEN
        raise OutputsError(f"nothing to submit in {folder}: {taken}")
    if len(there) > 1:
        names = " and ".join(file.name for file in there)
        raise OutputsError(
            f"{folder} holds {names}: say which to submit, with submission = "
            f'"{there[0].name}" below [tool.kernelkit] in pyproject.toml'
        )
    check_is_whole(there[0])
    return there[0]


def check_is_whole(file: Path) -> None:
    """Raise `OutputsError` for a file whose name says that it lacks rows."""
    if PARTIAL in file.name:
        raise OutputsError(
            f"{file} is not submitted: its name says that it lacks rows of the test set, as after "
            "a trial run; run it on all of them"
        )

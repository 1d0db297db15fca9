"""Hidden data from a command of the project, for what no table holds, such as TFRecords.

hidden = { command = "python -m blossom.hidden {public} {hidden} {answers} {rows}" } below
[tool.kernelkit]. `{public}` becomes the folder of the competition's public files, `{hidden}` an
empty folder to fill as Kaggle's would be, `{answers}` the CSV file to write, with the id and what
is to be predicted, one row each, and `{rows}` the number of rows that are wanted, 0 for as many as
the command thinks right. The command runs in the project's root with the project's packages
importable; what it prints is shown as its progress.
"""

import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from kernelkit.errors import ParameterError
from kernelkit.hidden.data.hidden_content import HiddenContent
from kernelkit.hidden.tables import table_files
from kernelkit.interpreter import imports_from, with_python
from kernelkit.project import Project

PLACES = ("public", "hidden", "answers", "rows")
LAST_LINES = 5  # of a command that failed


def make_from_command(
    public: Path,
    folder: Path,
    answers: Path,
    project: Project,
    count: int | None,
    tell: Callable[[str], None],
) -> HiddenContent:
    """Run the project's command and check what it left; `tell` gets each line that it writes.

    Raises `ParameterError` if it fails, and if it wrote no answers, none for a row of the hidden
    sample submission, or ids of the public one.
    """
    folder.mkdir(parents=True)
    answers.parent.mkdir(parents=True, exist_ok=True)
    values = (public.absolute(), folder.absolute(), answers.absolute(), count or 0)
    words = shlex.split(project.hidden.command)
    for name, value in zip(PLACES, values, strict=True):
        words = [word.replace(f"{{{name}}}", str(value)) for word in words]
    _run(words, project, tell)
    if not answers.is_file():
        raise _wrong("it wrote no {answers}")
    try:
        columns, _ = table_files.read(answers)
        ids = table_files.ids(answers)
        public_ids = set(table_files.ids(table_files.find_sample(public)))
        sample = table_files.find_sample(folder)
        sample_ids = set(table_files.ids(sample))
    except ParameterError as error:
        raise _wrong(str(error)) from None
    if len(columns) < 2 or not ids:
        raise _wrong("its {answers} need a row for each id, with an id and what is to be predicted")
    if len(set(ids)) < len(ids):
        raise _wrong("its {answers} have an id twice")
    if public_ids & set(ids):
        raise _wrong(
            f"its {{answers}} have {min(public_ids & set(ids))!r}, an id of the public set"
        )
    if sample and sample_ids != set(ids):
        raise _wrong("the ids of its {answers} are not those of its sample submission")
    return HiddenContent(columns, len(ids))


def _run(words: Sequence[str], project: Project, tell: Callable[[str], None]) -> None:
    """Run a command in the project's root; `tell` gets each line that it writes."""
    words = with_python(words, project.root)
    lines: list[str] = []
    try:
        with (
            imports_from(project.import_paths()),
            subprocess.Popen(
                words,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                cwd=project.root,
            ) as process,
        ):
            for line in process.stdout or ():
                lines.append(line.rstrip("\n"))
                tell(lines[-1])
    except OSError as error:
        raise _wrong(str(error)) from None
    if process.returncode:
        last = [line for line in lines if line.strip()][-LAST_LINES:]
        raise _wrong(
            "\n    ".join([f"{words[0]} ended with exit code {process.returncode}", *last])
        )


def _wrong(what: str) -> ParameterError:
    return ParameterError(
        "the hidden data could not be made with hidden = {command = …} of [tool.kernelkit] in "
        f"pyproject.toml: {what}"
    )

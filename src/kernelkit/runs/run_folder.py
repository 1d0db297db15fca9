"""The contents of a run's folder: its notebook, its report, its log; `metrics` are its measures."""

import json
from collections.abc import Callable
from pathlib import Path

from kernelkit import files
from kernelkit.runs import kit_folder
from kernelkit.runs import log as logs

METRICS = "metrics.json"
PREDICTIONS = "val_predictions.npz"  # ids, labels and probabilities of the validation data
EXECUTED = "run.ipynb"  # the executed notebook
EXECUTED_NAMES = (EXECUTED, "__notebook__.ipynb")  # the second is Kaggle's own
PART = f".{EXECUTED}.part.ipynb"  # as papermill saves it, until the run's end
LEFT_BY_A_RUN = (METRICS, *EXECUTED_NAMES, PART)


def keep(folder: Path, log: str, pushed_text: str, clear: Callable[[str], str] = str) -> None:
    """Write the session's log, as Kaggle stores it and as readable text, and the pushed notebook.

    `clear` removes the secrets from a text.
    """
    is_script = not pushed_text.startswith("{")
    texts = {kit_folder.PUSHED_SCRIPT if is_script else kit_folder.PUSHED: pushed_text}
    if log:
        log = clear(log)
        whole, readable = logs.texts(log)
        cleared = clear(whole)
        if cleared != whole:  # a secret was split over two entries
            log = json.dumps([{"stream_name": "stdout", "time": 0, "data": cleared}])
            readable = logs.texts(log)[1]
        texts[kit_folder.LOG] = logs.harmless(log)
        texts[kit_folder.LOG_TEXT] = readable
    for name, text in texts.items():
        if text:
            files.write_text(kit_folder.path(folder, name), clear(text))


def is_run(folder: Path) -> bool:
    """Whether the folder is a run's."""
    return any((folder / name).is_file() for name in LEFT_BY_A_RUN)


def notebooks_of_run(folder: Path) -> list[Path]:
    """The executed notebooks among a push's files, or the one that papermill made at home."""
    fetched = kit_folder.downloaded(folder)
    names = [name for name in EXECUTED_NAMES if fetched is None or name in fetched]
    return [folder / name for name in names if (folder / name).is_file()]


def executed(folder: Path) -> Path | None:
    """The notebook that a report of the folder shows: the run's, or the kit's own.

    Of a run that goes on or was killed it is what papermill saved last.
    """
    places = [*notebooks_of_run(folder), kit_folder.place(folder, EXECUTED), folder / PART]
    return next(filter(Path.is_file, places), None)


def report_place(folder: Path) -> Path:
    """The path of a run folder's report, which need not exist; aside if the run wrote its own."""
    own = kit_folder.path(folder, kit_folder.REPORT)
    return own if own.is_file() else kit_folder.place(folder, kit_folder.REPORT)


def written(folder: Path) -> float:
    """When its metrics or its notebook was last written, in seconds since 1970; 0 without both."""
    paths = (folder / name for name in LEFT_BY_A_RUN)
    return max((path.stat().st_mtime for path in paths if path.is_file()), default=0.0)

"""Run a submitted version again on a competition's hidden data, and record everything about it.

Kaggle reports only a score or one of the messages below. The folder `reruns/<submission>` contains
everything else: the log, the outputs and `rerun.json`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from local_kaggle.execution import gateways
from local_kaggle.execution.running import Outcome, SessionPlan, run

# What a competitor is told, as public threads quote Kaggle.
EXCEPTION = "Notebook Threw Exception"
PAST = {
    "time": "Notebook Timeout",
    "memory": "Notebook Out of Memory",
    "disk": "Notebook Exceeded Allowed Compute",
}
NO_FILE = "Submission File Not Found"
# What is said of a gateway's result; which of its errors gets which text is our reading of them.
SERVER_ERROR = "Notebook Inference Server Error"
OF_GATEWAY = {
    "SERVER_NEVER_STARTED": "Notebook Inference Server Never Started",
    "SERVER_CONNECTION_FAILED": SERVER_ERROR,
    "SERVER_RAISED_EXCEPTION": SERVER_ERROR,
    "SERVER_MISSING_ENDPOINT": SERVER_ERROR,
    "GRPC_DEADLINE_EXCEEDED": SERVER_ERROR,
    "INVALID_SUBMISSION": "Submission Format Error",
}
KAGGLE_ERROR = "Kaggle Error"  # what the host's own code did
TRUTH = "rerun.json"


@dataclass(frozen=True)
class Rerun(Outcome):
    """How a rerun ended: what Kaggle would say (empty where it gives a score), and the truth.

    `folder` has `log.jsonl` and the outputs in `working`; `file` is what is scored.
    """

    message: str = ""
    seconds: float = 0.0
    folder: str = ""
    file: str = ""


def folder_of(root: Path, submission: int) -> Path:
    """Where the rerun of a submission keeps its files, below the root of the server."""
    return root / "reruns" / str(submission)


def run_again(
    plan: SessionPlan, image: Callable[[], Path], stop: threading.Event, file: str
) -> None:
    """Run a plan, its sources hidden already, and record what came of it and its output `file`."""
    began = time.monotonic()
    outcome = run(plan, image, stop)
    working = plan.folder / (gateways.FOLDER if plan.gateway else "") / "working"
    message, why = "", outcome.why
    if outcome.state != "COMPLETE":
        message = PAST.get(outcome.limit, EXCEPTION)
    elif plan.gateway:
        message, why = _verdict(working)
    if not message and not (working / file).is_file():
        message, why = NO_FILE, f"the run left no {file}"
    truth = asdict(outcome) | {
        "why": why,
        "message": message,
        "seconds": time.monotonic() - began,
        "folder": str(plan.folder),
        "file": str(working / file),
    }
    part = plan.folder / f"{TRUTH}.part"
    part.write_text(json.dumps(truth))
    part.replace(plan.folder / TRUTH)


def _verdict(working: Path) -> tuple[str, str]:
    """What Kaggle would say of a gateway's end, and the gateway's own reason; empty if all went."""
    try:
        result = json.loads((working / gateways.RESULT).read_text())
        if result["Succeeded"]:
            return "", ""
        name, details = str(result["ErrorName"]), str(result.get("ErrorDetails") or "")
    except (OSError, ValueError, KeyError, TypeError):
        return KAGGLE_ERROR, f"the gateway ended without a result: see its {gateways.LOG}"
    return OF_GATEWAY.get(name, KAGGLE_ERROR), f"{name}: {details}".removesuffix(": ")


def read(folder: Path) -> Rerun | None:
    """The truth that a rerun left in its folder; None where it is not over."""
    try:
        return Rerun(**json.loads((folder / TRUTH).read_text()))
    except FileNotFoundError:
        return None

"""Run a submitted version again on a competition's hidden data, and record everything about it.

Kaggle reports only a score or one of the messages below. The folder `reruns/<submission>` contains
everything else: the log, the outputs and `rerun.json`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
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
FOLDER, TRUTH = "reruns", "rerun.json"


@dataclass(frozen=True)
class Rerun(Outcome):
    """How a rerun ended: what Kaggle would say (empty where it gives a score), and the truth.

    `folder` has `log.jsonl` and the outputs in `working`; `file` is what is scored.
    """

    message: str = ""
    seconds: float = 0.0
    folder: str = ""
    file: str = ""


class Reruns:
    """The reruns of one server, each in a thread. Thread-safe."""

    def __init__(self, root: Path, image: Callable[[], Path]) -> None:
        self._root, self._image = root / FOLDER, image
        self._threads: dict[int, threading.Thread] = {}
        self._stop = threading.Event()

    def folder(self, submission: int) -> Path:
        """Where a submission's rerun keeps its files."""
        return self._root / str(submission)

    def start(self, submission: int, plan: SessionPlan, file: str) -> None:
        """Run `plan` again, its sources hidden already, and look for the output `file`."""
        folder = self.folder(submission)
        folder.mkdir(parents=True, exist_ok=True)  # from here on the submission waits for its end
        plan = replace(plan, folder=folder)
        thread = threading.Thread(target=self._live, args=(plan, file), name=f"rerun-{submission}")
        self._threads[submission] = thread
        thread.start()

    def close(self) -> None:
        """Kill all reruns."""
        self._stop.set()
        for thread in list(self._threads.values()):
            thread.join()

    def _live(self, plan: SessionPlan, file: str) -> None:
        began = time.monotonic()
        outcome = run(plan, self._image, self._stop)
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

"""Run a submitted version again on a competition's hidden data, and keep the whole truth of it.

What Kaggle says of a rerun is a score or one of the messages below, and nothing else. The folder
`reruns/<submission>` holds what it does not say: the log, the outputs, and `rerun.json`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from local_kaggle.execution.running import SessionPlan, Usage, run

# What a competitor is told, as public threads quote Kaggle.
EXCEPTION = "Notebook Threw Exception"
PAST = {
    "time": "Notebook Timeout",
    "memory": "Notebook Out of Memory",
    "disk": "Notebook Exceeded Allowed Compute",
}
NO_FILE = "Submission File Not Found"
FOLDER, TRUTH = "reruns", "rerun.json"


@dataclass(frozen=True)
class Rerun:
    """How a rerun ended: what Kaggle would say (empty where it gives a score), and the truth.

    `state` is COMPLETE, ERROR or CANCEL_ACKNOWLEDGED; `why` is the local Kaggle's own reason for
    ending it; `memory` and `working` are the most bytes that it held; `folder` has `log.jsonl` and
    the outputs in `working`.
    """

    message: str
    state: str
    why: str
    seconds: float
    memory: float
    working: float
    folder: str


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
        plan = replace(plan, folder=folder, internet=False, rerun=True)
        thread = threading.Thread(target=self._live, args=(plan, file), name=f"rerun-{submission}")
        self._threads[submission] = thread
        thread.start()

    def ended(self, submission: int) -> Rerun | None:
        """How the rerun of a submission ended; None where it runs still or there was none."""
        return read(self.folder(submission))

    def close(self) -> None:
        """Kill all reruns."""
        self._stop.set()
        for thread in list(self._threads.values()):
            thread.join()

    def _live(self, plan: SessionPlan, file: str) -> None:
        usage, began = Usage(), time.monotonic()
        try:
            state, why = run(plan, self._image(), self._stop, usage)
        except Exception as error:  # a rerun must end, whatever happens to it
            state, why = "ERROR", f"the rehearsal itself failed: {error!r}"
        message = "" if state == "COMPLETE" else PAST.get(usage.past, EXCEPTION)
        if not message and not (plan.folder / "working" / file).is_file():
            message, why = NO_FILE, f"the run left no {file}"
        rerun = Rerun(
            message=message,
            state=state,
            why=why or "",
            seconds=time.monotonic() - began,
            memory=usage.memory,
            working=usage.working,
            folder=str(plan.folder),
        )
        part = plan.folder / f"{TRUTH}.part"
        part.write_text(json.dumps(asdict(rerun)))
        part.replace(plan.folder / TRUTH)


def read(folder: Path) -> Rerun | None:
    """The truth that a rerun left in its folder; None where it is not over."""
    try:
        return Rerun(**json.loads((folder / TRUTH).read_text()))
    except FileNotFoundError:
        return None

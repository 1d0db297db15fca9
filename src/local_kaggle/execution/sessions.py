"""Sessions: which versions are queued or running, how many may be, and how they end.

A code competition runs a submitted version again, on hidden data. Kaggle reports only a score or
one of the messages below; the folder `reruns/<submission>` contains everything else: the log, the
outputs and `rerun.json`.
"""

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from local_kaggle.execution import gateways, leftovers
from local_kaggle.execution.gateways import KAGGLE_ERROR
from local_kaggle.execution.image import build_image
from local_kaggle.execution.running import STOPPED, Outcome, SessionPlan, run
from local_kaggle.limits import Kind, ServerLimits
from local_kaggle.store import Store

ALIVE = ("QUEUED", "RUNNING")
# What a competitor is told, as public threads quote Kaggle.
EXCEPTION = "Notebook Threw Exception"
PAST = {
    "time": "Notebook Timeout",
    "memory": "Notebook Out of Memory",
    "disk": "Notebook Exceeded Allowed Compute",
}
NO_FILE = "Submission File Not Found"
SESSIONS, RERUNS, TRUTH = "sessions", "reruns", "rerun.json"
MEMORY = "memory.txt"  # in a session's folder: the most bytes that it held


class Sessions:
    """Runs versions and reruns, each in a thread and a process of its own. Thread-safe."""

    def __init__(self, root: Path, store: Store, limits: ServerLimits) -> None:
        self._root = root
        self._store = store
        self._limits = limits
        self.closing = False
        self._python: Path | None = None
        # By version; a rerun has the number of its submission below zero.
        self._running: dict[int, tuple[threading.Event, threading.Thread]] = {}
        self._building = threading.Lock()
        self._starting = threading.Lock()
        for name in (SESSIONS, RERUNS):  # what runs may leave is not for other users' eyes
            (root / name).mkdir(exist_ok=True)
            (root / name).chmod(0o700)
        for row in self._store.rows("SELECT version FROM sessions WHERE ended IS NULL"):
            leftovers.make_harmless(self.folder(row["version"]) / "working")
        # When they ended nobody knows: no time is counted for them.
        self._store.change(
            "UPDATE sessions SET status = 'ERROR', failure = ?, "
            "ended = coalesce(started, queued) WHERE ended IS NULL",
            STOPPED.why,
        )
        for folder in (root / RERUNS).glob("*"):
            if read_rerun(folder) is None:
                asked = folder / gateways.FOLDER
                for left in (folder / "working", asked / "working", asked / gateways.SHARED):
                    leftovers.make_harmless(left)
                _record(Rerun(**asdict(STOPPED), message=KAGGLE_ERROR, folder=str(folder)))

    def folder(self, version: int) -> Path:
        """Where the session of a version keeps its folders and its log."""
        return self._root / SESSIONS / str(version)

    def memory(self, version: int) -> float:
        """The most bytes that the session of a version held; 0 if that is not known."""
        with suppress(OSError, ValueError):
            return float((self.folder(version) / MEMORY).read_text())
        return 0.0

    def is_alive(self, version: int) -> bool:
        """Whether the session of a version is queued or running."""
        query = "SELECT 1 FROM sessions WHERE version = ? AND ended IS NULL"
        return self._store.row(query, version) is not None

    def alive(self, user: str, kind: Kind) -> int:
        """How many sessions of `user` on that kind of machine are queued or running."""
        query = "SELECT 1 FROM sessions WHERE user = ? AND kind = ? AND ended IS NULL"
        return len(self._store.rows(query, user, kind))

    def submit(self, version: int, plan: SessionPlan, user: str) -> None:
        """Queue a version."""
        insert = "INSERT INTO sessions VALUES (?, ?, ?, ?, 'QUEUED', NULL, ?, NULL, NULL)"
        self._store.change(insert, version, user, plan.kind, plan.seconds, time.time())
        self._start(version, self._live, plan)

    def rerun(self, submission: int, plan: SessionPlan, file: str) -> None:
        """Run a plan again for the score of a submission, which is its output `file`."""
        plan = replace(plan, folder=rerun_folder(self._root, submission))
        plan.folder.mkdir(parents=True)  # from here on the submission waits for its end
        self._start(-submission, self._live_again, plan, file)

    def _start(self, number: int, live: Callable[..., None], *arguments: Any) -> None:
        stop = threading.Event()
        thread = threading.Thread(target=live, args=(number, stop, *arguments))
        with self._starting:
            if self.closing:  # the next server on this root finds it, and ends it in ERROR
                return
            self._running[number] = stop, thread
            thread.start()

    def remove(self, version: int) -> None:
        """Stop a session and remove its folders; the time that it took still counts."""
        if session := self._running.get(version):
            stop, thread = session
            stop.set()
            thread.join()
            self._running.pop(version, None)
        leftovers.remove(self.folder(version))

    def close(self) -> None:
        """Kill all sessions; they end in ERROR."""
        with self._starting:
            self.closing = True
        running = list(self._running.values())
        for stop, _ in running:
            stop.set()
        for _, thread in running:
            thread.join()

    def _live(self, version: int, stop: threading.Event, plan: SessionPlan) -> None:
        def machine() -> Path:
            python = self.image()  # to build it is not the session's time
            change = "UPDATE sessions SET status = 'RUNNING', started = ? WHERE version = ?"
            self._store.change(change, time.time(), version)
            return python

        is_stopped = stop.wait(self._limits.queue_seconds)
        outcome = STOPPED if is_stopped else run(plan, machine, stop)
        if plan.folder.is_dir():
            (plan.folder / MEMORY).write_text(str(outcome.memory))
        change = "UPDATE sessions SET status = ?, failure = ?, ended = ? WHERE version = ?"
        self._store.change(change, outcome.state, outcome.why or None, time.time(), version)

    def _live_again(self, _: int, stop: threading.Event, plan: SessionPlan, file: str) -> None:
        """Run a plan, its sources hidden already; record what came of it and its output `file`."""
        began = time.monotonic()
        outcome = run(plan, self.image, stop)
        working = plan.folder / "working"
        if plan.gateway:
            working = plan.folder / gateways.FOLDER / "working"
        message = ""
        why = outcome.why
        if outcome.state != "COMPLETE":
            message = PAST.get(outcome.limit, KAGGLE_ERROR if why else EXCEPTION)
            unanswered = gateways.waiting(working.parent) if outcome.limit == "time" else ""
            if unanswered:
                why = f"{why}; {unanswered}"
        elif plan.gateway:
            message, why = gateways.verdict(working.parent)
        if not message and not (working / file).is_file():
            message = NO_FILE
            why = f"the run left no {file}"
        truth = asdict(outcome) | {
            "why": why,
            "message": message,
            "seconds": time.monotonic() - began,
            "first_seconds": plan.first_seconds,
            "first_memory": plan.first_memory,
            "folder": str(plan.folder),
            "file": str(working / file),
        }
        _record(Rerun(**truth))

    def image(self) -> Path:
        """The interpreter of the sessions' environment, which the first caller builds."""
        with self._building:
            if self._python is None:
                self._python = build_image(self._root / "image")
            return self._python


@dataclass(frozen=True)
class Rerun(Outcome):
    """How a rerun ended: what Kaggle would say (empty where it gives a score), and the truth.

    `first_seconds` is how long the version ran on the public data, and `first_memory` the most
    bytes that it held then, 0 if that is not known. `folder` has `log.jsonl` and the outputs in
    `working`; `file` is what is scored.
    """

    message: str = ""
    seconds: float = 0.0
    first_seconds: float = 0.0
    first_memory: float = 0.0
    folder: str = ""
    file: str = ""


def rerun_folder(root: Path, submission: int) -> Path:
    """Where the rerun of a submission keeps its files, below the root of the server."""
    return root / RERUNS / str(submission)


def _record(rerun: Rerun) -> None:
    truth = Path(rerun.folder, TRUTH)
    part = truth.with_suffix(".part")
    part.write_text(json.dumps(asdict(rerun)))
    part.replace(truth)


def read_rerun(folder: Path) -> Rerun | None:
    """The truth that a rerun left in its folder; None where it is not over."""
    try:
        return Rerun(**json.loads((folder / TRUTH).read_text()))
    except FileNotFoundError:
        return None

"""Sessions: which versions are queued or running, how many may be, and how they end."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from local_kaggle.execution import reruns
from local_kaggle.execution.image import build_image
from local_kaggle.execution.running import Outcome, SessionPlan, run
from local_kaggle.limits import Kind, ServerLimits
from local_kaggle.store import Store

ALIVE = ("QUEUED", "RUNNING")
STOPPED = "the local Kaggle was stopped while this ran"


class Sessions:
    """Runs versions and reruns, each in a thread and a process of its own. Thread-safe."""

    def __init__(self, root: Path, store: Store, limits: ServerLimits) -> None:
        self._root, self._store, self._limits = root, store, limits
        self.closing = False
        self._python: Path | None = None
        # By version; a rerun has the number of its submission below zero.
        self._running: dict[int, tuple[threading.Event, threading.Thread]] = {}
        self._building = threading.Lock()
        # When they ended nobody knows: no time is counted for them.
        self._store.change(
            "UPDATE sessions SET status = 'ERROR', failure = ?, "
            "ended = coalesce(started, queued) WHERE ended IS NULL",
            STOPPED,
        )

    def folder(self, version: int) -> Path:
        """Where the session of a version keeps its folders and its log."""
        return self._root / "sessions" / str(version)

    def is_alive(self, version: int) -> bool:
        """Whether the session of a version is queued or running."""
        query = "SELECT 1 FROM sessions WHERE version = ? AND ended IS NULL"
        return self._store.row(query, version) is not None

    def alive(self, user: str, kind: Kind) -> int:
        """How many sessions of `user` on that kind of machine are queued or running."""
        query = "SELECT 1 FROM sessions WHERE user = ? AND kind = ? AND ended IS NULL"
        return len(self._store.rows(query, user, kind))

    def submit(self, version: int, kind: Kind, plan: SessionPlan, user: str) -> None:
        """Queue a version. `kind` is the machine it counts as, `plan.runs_on` the one it gets."""
        insert = "INSERT INTO sessions VALUES (?, ?, ?, ?, 'QUEUED', NULL, ?, NULL, NULL)"
        self._store.change(insert, version, user, kind, plan.limit_seconds, time.time())
        stop = threading.Event()
        self._start(version, stop, self._live, version, plan, stop)

    def rerun(self, submission: int, plan: SessionPlan, file: str) -> None:
        """Run a plan again for the score of a submission, which is its output `file`."""
        plan = replace(plan, folder=reruns.folder_of(self._root, submission))
        plan.folder.mkdir(parents=True)  # from here on the submission waits for its end
        stop = threading.Event()
        self._start(-submission, stop, reruns.run_again, plan, self.image, stop, file)

    def _start(
        self, number: int, stop: threading.Event, target: Callable[..., None], *arguments: Any
    ) -> None:
        thread = threading.Thread(target=target, args=arguments, name=f"session {number}")
        self._running[number] = stop, thread
        thread.start()

    def _stop(self, version: int) -> None:
        """Kill the session of a version, if it is alive, and wait until it is gone."""
        if session := self._running.pop(version, None):
            stop, thread = session
            stop.set()
            thread.join()

    def remove(self, version: int) -> None:
        """Stop a session and remove its folders; the time that it took still counts."""
        self._stop(version)
        shutil.rmtree(self.folder(version), ignore_errors=True)

    def close(self) -> None:
        """Kill all sessions; they end in ERROR."""
        self.closing = True
        for stop, _ in list(self._running.values()):
            stop.set()
        for version in list(self._running):
            self._stop(version)

    def _live(self, version: int, plan: SessionPlan, stop: threading.Event) -> None:
        outcome = Outcome("CANCEL_ACKNOWLEDGED")
        if not stop.wait(self._limits.queue_seconds):
            change = "UPDATE sessions SET status = 'RUNNING', started = ? WHERE version = ?"
            self._store.change(change, time.time(), version)
            outcome = run(plan, self.image, stop)
        if self.closing:
            outcome = Outcome("ERROR", outcome.why or STOPPED)
        change = "UPDATE sessions SET status = ?, failure = ?, ended = ? WHERE version = ?"
        self._store.change(change, outcome.state, outcome.why or None, time.time(), version)

    def image(self) -> Path:
        """The interpreter of the sessions' environment, which the first caller builds."""
        with self._building:
            if self._python is None:
                self._python = build_image(self._root / "image")
            return self._python

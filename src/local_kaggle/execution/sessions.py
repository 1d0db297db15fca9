"""Sessions: which versions are queued or running, how many may be, and how they end."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

from local_kaggle.execution.image import build_image
from local_kaggle.execution.running import SessionPlan, run
from local_kaggle.limits import Kind, ServerLimits
from local_kaggle.store import Store

ALIVE = ("QUEUED", "RUNNING")
STOPPED = "the local Kaggle was stopped while this ran"


class Sessions:
    """Runs versions, each in a thread and a process of its own. Thread-safe."""

    def __init__(self, root: Path, store: Store, limits: ServerLimits) -> None:
        self._root, self._store, self._limits = root, store, limits
        self.closing = False
        self._python: Path | None = None
        self._running: dict[int, tuple[threading.Event, threading.Thread]] = {}
        self._building = threading.Lock()
        self._store.change(
            "UPDATE sessions SET status = 'ERROR', failure = ?, ended = ? "
            "WHERE status IN ('QUEUED', 'RUNNING')",
            STOPPED,
            time.time(),
        )

    def folder(self, version: int) -> Path:
        """Where the session of a version keeps its folders and its log."""
        return self._root / "sessions" / str(version)

    def of(self, version: int) -> sqlite3.Row | None:
        """The session of a version; None for a version that was saved without running."""
        return self._store.row("SELECT * FROM sessions WHERE version = ?", version)

    def alive(self, user: str, kind: Kind) -> int:
        """How many sessions of `user` on that kind of machine are queued or running."""
        row = self._store.row(
            "SELECT count(*) AS n FROM sessions JOIN versions ON versions.id = version "
            "JOIN kernels ON kernels.id = kernel "
            "WHERE owner = ? AND kind = ? AND status IN ('QUEUED', 'RUNNING')",
            user,
            kind,
        )
        return int(row["n"]) if row else 0

    def submit(self, version: int, kind: Kind, plan: SessionPlan, user: str) -> None:
        """Queue a version. `kind` is the machine it counts as, `plan.runs_on` the one it gets."""
        insert = "INSERT INTO sessions VALUES (?, ?, ?, '', ?, 'QUEUED', NULL, ?, NULL, NULL)"
        values = version, kind, plan.runs_on, plan.limit_seconds, time.time()
        self._store.change(insert, *values)
        stop = threading.Event()
        thread = threading.Thread(
            target=self._live, args=(version, kind, plan, user, stop), name=f"session-{version}"
        )
        self._running[version] = stop, thread
        thread.start()

    def stop(self, version: int) -> None:
        """Kill the session of a version, if it is alive, and wait until it is gone."""
        if session := self._running.pop(version, None):
            stop, thread = session
            stop.set()
            thread.join()

    def remove(self, version: int) -> None:
        """Stop a session and forget its folders."""
        self.stop(version)
        shutil.rmtree(self.folder(version), ignore_errors=True)
        self._store.change("DELETE FROM sessions WHERE version = ?", version)

    def close(self) -> None:
        """Kill all sessions; they end in ERROR."""
        self.closing = True
        for stop, _ in list(self._running.values()):
            stop.set()
        for version in list(self._running):
            self.stop(version)

    def _live(
        self, version: int, kind: Kind, plan: SessionPlan, user: str, stop: threading.Event
    ) -> None:
        if stop.wait(self._limits.queue_seconds):
            self._end(version, "CANCEL_ACKNOWLEDGED", None)
            return
        started = time.time()
        try:
            python = self.image()
            self._store.change(
                "UPDATE sessions SET status = 'RUNNING', started = ? WHERE version = ?",
                started,
                version,
            )
            outcome, failure = run(plan, python, stop)
        except Exception as error:  # a session must end, whatever happens to it
            outcome, failure = "ERROR", f"the rehearsal itself failed: {error!r}"
        self._store.change(
            "INSERT INTO usage VALUES (?, ?, ?, ?)",
            user,
            kind,
            time.time(),
            time.time() - started,
        )
        self._end(version, outcome, failure)

    def _end(self, version: int, status: str, failure: str | None) -> None:
        if self.closing:
            status, failure = "ERROR", failure or STOPPED
        values: tuple[Any, ...] = (status, failure, time.time(), version)
        self._store.change(
            "UPDATE sessions SET status = ?, failure = ?, ended = ? WHERE version = ?", *values
        )

    def image(self) -> Path:
        """The interpreter of the sessions' environment, which the first caller builds."""
        with self._building:
            if self._python is None:
                self._python = build_image(self._root / "image")
            return self._python

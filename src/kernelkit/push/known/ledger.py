"""The ledger: every push of a repository and how far it got, in `runs/pushes.sqlite`.

A push is entered before anything is sent, and its entry changes as it proceeds, so that the last
known state survives a crash of this machine. Each change is one transaction: commands that run at
the same time lose nothing of each other's.
"""

import contextlib
import datetime
import enum
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelkit import files, typed
from kernelkit.errors import StorageError
from kernelkit.kaggle.kernel import Kernel

NAME = "pushes.sqlite"
LOCK_SECONDS = 60.0  # to wait for another command's transaction
SCHEMA = """
CREATE TABLE IF NOT EXISTS pushes (
    key TEXT PRIMARY KEY,    -- when it was entered, which is unique to the microsecond
    pushed TEXT NOT NULL,    -- the same
    fields TEXT NOT NULL);   -- those of a `Push`, and what later versions add, as JSON
CREATE TABLE IF NOT EXISTS submissions (key TEXT PRIMARY KEY, fields TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS attempts (key TEXT PRIMARY KEY, fields TEXT NOT NULL);
"""


class State(enum.StrEnum):
    """How far a push got.

    `sending`    notes SENDING, then SENT, SAVED or REFUSED; FAILED for a push that Kaggle did not
                 save as requested; later LOST, and SENT for a lost one that is there again
    `awaited`    notes UNFETCHED for a run that is complete, or LOST; a failed run stays SENT
    `delivered`  notes COMPLETE once all files are here, or FAILED once what can be fetched is
    `watching`   notes STOPPED
    """

    SENDING = "sending"  # SaveKernel is about to be sent, or was sent and not answered
    REFUSED = "refused"  # by Kaggle; if it was saved all the same, `sending.arrived` finds it
    SENT = "sent"  # it is on Kaggle, and its run is not known to be complete
    UNFETCHED = "not fetched"  # the run is complete, but not all outputs are downloaded
    COMPLETE = "complete"
    FAILED = "failed"  # its run, or it got another machine or fewer inputs than requested
    STOPPED = "stopped"  # by `kernelkit stop`, which deletes its kernel
    SAVED = "saved"  # as a version without a session
    LOST = "lost"  # Kaggle shows no version of it, or no session


@dataclass(frozen=True)
class Push:
    """One push in the ledger; `content` identifies what it runs, and on which inputs and
    machine."""

    kernel: str
    content: str
    git: str
    accelerator: str
    parameters: dict[str, Any] = field(default_factory=dict)
    timeout_minutes: float | None = None
    competition: str | None = None
    version: int | None = None
    state: str = State.SENDING
    pushed: str = ""
    number: str = ""  # random and unique to this push; see `awaited.proof`
    minutes_queued: float | None = None
    minutes_run: float | None = None
    score: str | None = None
    rank: int | None = None  # on the public leaderboard when the score came, among so many
    teams: int | None = None
    folder: str | None = None
    rehearsal: bool = False
    bundle: str = ""  # the bundle's content hash, which is also in its first cell
    submission: int | None = None  # its number in the competition, once submitted
    submissions_before: list[int] | None = None  # those that existed before submitting
    submitting_since: float | None = None  # by Kaggle's clock, in seconds since 1970
    message: str = ""  # of the submission
    submitted_sha256: str = ""  # of the file that was submitted
    compared: str = ""  # whether Kaggle holds these bytes: "same", "different", "not compared"
    inputs: dict[str, int] = field(default_factory=dict)  # as in an `Account`
    sources: list[str] = field(default_factory=list)  # those requested, as "dataset me/leaves"
    runs: bool = True  # False: it saves a version without a session
    stays: list[str] = field(default_factory=list)  # patterns of outputs to leave on Kaggle
    estimate: dict[str, Any] = field(default_factory=dict)  # of its step; see `TpuRun.estimate`

    @property
    def name(self) -> Kernel:
        """The kernel's name on Kaggle."""
        return Kernel.of(self.kernel)

    @property
    def reference(self) -> str:
        """`owner/slug/N`, as `kernelkit resume` accepts it; without a version, the kernel."""
        return f"{self.kernel}/{self.version}" if self.version else self.kernel

    @property
    def words(self) -> str:
        """The kernel and its version, in a sentence."""
        return f"{self.kernel} version {self.version}"

    def folder_in(self, runs: Path) -> Path:
        """Where its outputs are: in the folder that was claimed for them, if that still stands, or
        else in its own below the folder of `runs`."""
        if self.folder and Path(self.folder).is_dir():
            return Path(self.folder)
        prefix = "rehearsal-" if self.rehearsal else ""
        return runs / f"{prefix}{self.name.slug}-v{self.version}"


def since_deleted(pushes: Sequence[Push]) -> Sequence[Push]:
    """Those of a kernel's pushes that were made since it was last deleted, oldest first.

    `kernelkit stop` deletes it, and so may its owner on the site. What is pushed then is a new
    kernel of the same name, whose versions begin at 1: where they do not rise, it was deleted.
    """
    since: list[Push] = []
    for push in pushes:
        latest = next((each.version for each in reversed(since) if each.version), 0)
        if push.state == State.STOPPED:
            since = []
        elif push.version and push.version <= latest:
            since = [push]
        else:
            since.append(push)
    return since


class LedgerError(StorageError):
    """The file of the ledger, or an entry of it, cannot be used."""


class Ledger:
    """The pushes of a folder of runs, in the order in which they were entered.

    `clear` removes the secrets from a text. With `rehearsal`, `of` and `last` see only
    rehearsals, without it only pushes to Kaggle.

    Reading changes no file. Every method raises `LedgerError` if the file cannot be used.
    """

    def __init__(
        self, runs: Path, clear: Callable[[str], str] = str, *, rehearsal: bool = False
    ) -> None:
        self.path = runs / NAME
        self._clear = clear
        self._rehearsal = rehearsal

    def pushes(self) -> list[Push]:
        """All pushes, oldest first."""
        pushes = [_push(text) for (text,) in self._rows("SELECT fields FROM pushes")]
        return sorted(filter(None, pushes), key=lambda push: push.pushed)

    def of(self, kernel: str = "") -> list[Push]:
        """The pushes of this kernel, or of any, oldest first."""
        ours = [push for push in self.pushes() if push.rehearsal == self._rehearsal]
        return [push for push in ours if kernel in ("", push.kernel)]

    def last(self) -> Push | None:
        """The latest push that got a version."""
        return next((push for push in reversed(self.of()) if push.version), None)

    def unreadable(self) -> list[str]:
        """The keys of entries that are no pushes, which every list leaves out."""
        rows = self._rows("SELECT key, fields FROM pushes")
        return [str(key) for key, text in rows if _push(text) is None]

    def entry(self, push: Push) -> Push | None:
        """A push as the ledger has it now; None if it is not there, as one from elsewhere."""
        if not push.pushed:
            return None
        rows = self._rows("SELECT fields FROM pushes WHERE key = ?", push.pushed)
        return _push(rows[0][0]) if rows else None

    def begin(self, push: Push) -> Push:
        """Enter a push with the current time and a new random number; returns it as entered.

        It is a rehearsal if the ledger is opened for those.
        """
        with self._change() as database:
            ((latest,),) = database.execute("SELECT MAX(pushed) FROM pushes").fetchall()
            begun = replace(
                push,
                rehearsal=self._rehearsal,
                pushed=_now_after(latest or ""),
                number=secrets.token_hex(8),
            )
            self._put(database, begun.pushed, asdict(begun))
        return begun

    def update(self, push: Push, **changes: Any) -> Push:
        """Change these fields of a push as the ledger has it now; returns the new push."""
        with self._change() as database:
            query = "SELECT fields FROM pushes WHERE key = ?"
            row = database.execute(query, (push.pushed,)).fetchone()
            text = row[0] if row else ""
            changed = replace(_push(text) or push, **changes)
            # What later versions of the kit add stays.
            self._put(database, push.pushed, (_json_object(text) or {}) | asdict(changed))
        return changed

    def add_submission(self, key: str, fields: dict[str, Any]) -> None:
        """Enter a submission by its key, in place of an earlier entry of the same one."""
        with self._change() as database:
            row = (key, self._clear(json.dumps(fields)))
            database.execute("INSERT OR REPLACE INTO submissions VALUES (?, ?)", row)

    def submissions(self) -> list[dict[str, Any]]:
        """The fields of each submission, in the order in which they were entered.

        A row that holds no JSON object is left out.
        """
        return [fields for _, fields in self.submission_rows() if fields is not None]

    def submission_rows(self) -> list[tuple[str, dict[str, Any] | None]]:
        """Key and fields of each submission, in the order in which they were entered.

        The fields are None for a row that holds no JSON object.
        """
        rows = self._rows("SELECT key, fields FROM submissions ORDER BY rowid", of="submissions")
        return [(str(key), _json_object(text)) for key, text in rows]

    def attempt(self, key: str) -> dict[str, Any]:
        """The fields of the last attempt to submit this result, which has no line among the
        pushes; none before the first."""
        query = "SELECT fields FROM attempts WHERE key = ?"
        rows = self._rows(query, self._of_attempt(key), of="attempts")
        return (_json_object(rows[0][0]) if rows else None) or {}

    def note_attempt(self, key: str, **changes: Any) -> None:
        """Change these fields of an attempt that `attempt` returns."""
        key = self._of_attempt(key)
        with self._change() as database:
            query = "SELECT fields FROM attempts WHERE key = ?"
            row = database.execute(query, (key,)).fetchone()
            fields = (_json_object(row[0]) if row else None) or {}
            text = self._clear(json.dumps(fields | changes))
            database.execute("INSERT OR REPLACE INTO attempts VALUES (?, ?)", (key, text))

    def _of_attempt(self, key: str) -> str:
        """The key of its row: a rehearsal sends nothing to Kaggle."""
        return f"rehearsal {key}" if self._rehearsal else key

    def _put(self, database: sqlite3.Connection, key: str, fields: dict[str, Any]) -> None:
        text = self._clear(json.dumps(fields))
        row = (key, fields.get("pushed") or "", text)
        database.execute("INSERT OR REPLACE INTO pushes VALUES (?, ?, ?)", row)

    def _rows(self, query: str, *values: str, of: str = "pushes") -> list[Any]:
        """The rows of a query of a table; none before the first change has made it."""
        if not os.path.lexists(self.path):
            return []
        with self._opened() as database:
            known = "SELECT 1 FROM sqlite_master WHERE name = ?"
            made = database.execute(known, (of,)).fetchone()
            return database.execute(query, values).fetchall() if made else []

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The database, which exists, for a block; it is closed afterwards."""
        try:
            uri = f"{self.path.absolute().as_uri()}?mode=rw"
            connection = sqlite3.connect(uri, timeout=LOCK_SECONDS, uri=True, isolation_level=None)
            with contextlib.closing(connection) as database:
                yield database
        except sqlite3.Error as error:
            remedy = (
                "free some space, or move the file away if it is damaged; pushes are then named "
                "OWNER/SLUG/N"
            )
            if "readonly" in str(error) or "unable to open" in str(error):
                remedy = "allow this account to read and write it and its folder"
            if "locked" in str(error):
                remedy = "another program holds it. Wait until that has ended, and repeat"
            raise LedgerError(
                f"the ledger {self.path} cannot be used ({error}): {remedy}"
            ) from None

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """One transaction, which no other command's interrupts."""
        files.make_folder(self.path.parent)
        with contextlib.suppress(FileExistsError):
            self.path.touch(exist_ok=False)
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                for statement in filter(str.strip, SCHEMA.split(";")):
                    database.execute(statement)
                yield database
            except BaseException:
                database.rollback()
                raise
            database.commit()


def _now_after(latest: str) -> str:
    """The time, or one just after `latest` if a clock that went back says an earlier one."""
    now = datetime.datetime.now(datetime.UTC)
    with contextlib.suppress(ValueError, TypeError, OverflowError):  # no time, or without a zone
        now = max(now, datetime.datetime.fromisoformat(latest) + datetime.timedelta(microseconds=1))
    return now.isoformat(timespec="microseconds")


def _json_object(text: str) -> dict[str, Any] | None:
    """The object in a row's text; None for whatever is none."""
    try:
        values = files.parse_json(text)
    except (ValueError, TypeError):
        return None
    return values if isinstance(values, dict) else None


def _push(text: str) -> Push | None:
    """The push in a row's text; None if that lacks a field, or one has not its type."""
    fields = _json_object(text)
    if fields is None:
        return None
    if fields.get("state") == "queued":  # as 0.4.0 wrote it
        fields = fields | {"state": State.SENT}
    return typed.read_whole(Push, fields)

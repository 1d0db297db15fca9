"""The state of the local Kaggle: one SQLite file, which any thread may use."""

import secrets
import sqlite3
import threading
from pathlib import Path
from typing import Any

from local_kaggle.errors import LocalKaggleError

FORMAT = 3  # of the tables below; it changes with them
BEFORE_PRIVATE_SCORES = 2  # the same, less one column
SCHEMA = f"""
PRAGMA user_version = {FORMAT};
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS kernels (
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, slug TEXT NOT NULL,
    title TEXT NOT NULL, private INTEGER NOT NULL, draft TEXT, UNIQUE (owner, slug));
CREATE TABLE IF NOT EXISTS versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kernel INTEGER NOT NULL, number INTEGER NOT NULL,
    request TEXT NOT NULL, created REAL NOT NULL, UNIQUE (kernel, number));
CREATE TABLE IF NOT EXISTS sessions (
    version INTEGER PRIMARY KEY, user TEXT NOT NULL, kind TEXT NOT NULL,
    limit_seconds REAL NOT NULL, status TEXT NOT NULL, failure TEXT,
    queued REAL NOT NULL, started REAL, ended REAL);
CREATE TABLE IF NOT EXISTS blobs (token TEXT PRIMARY KEY, name TEXT NOT NULL, size INTEGER);
CREATE TABLE IF NOT EXISTS pages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL, fields TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS page_versions (
    page INTEGER NOT NULL, number INTEGER NOT NULL, created REAL NOT NULL,
    failure TEXT, PRIMARY KEY (page, number));
CREATE TABLE IF NOT EXISTS submissions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, competition TEXT NOT NULL, user TEXT NOT NULL,
    description TEXT, name TEXT NOT NULL, size INTEGER NOT NULL, created REAL NOT NULL,
    status TEXT NOT NULL, score TEXT, failure TEXT, private_score TEXT);
"""


class Store:
    """The tables of one local Kaggle, in `root/kaggle.sqlite`; every change is committed.

    Raises LocalKaggleError for a root of an earlier version, and leaves it as it is.
    """

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.lock = threading.RLock()
        """Hold this to look and then change without another thread in between."""
        path = root / "kaggle.sqlite"
        path.touch(mode=0o600)  # it holds the keys; SQLite gives its other files this mode too
        path.chmod(0o600)
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.row_factory = sqlite3.Row
        (version,) = self.rows("PRAGMA user_version")[0]
        if version == BEFORE_PRIVATE_SCORES:
            self.change("ALTER TABLE submissions ADD COLUMN private_score TEXT")
            version = FORMAT
        if version != FORMAT and self.rows("SELECT 1 FROM sqlite_master"):
            self._database.close()
            raise LocalKaggleError(
                f"{root} was made by an earlier version: remove it, or choose another root"
            )
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.executescript(SCHEMA)

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """All rows of a query."""
        with self.lock:
            return self._database.execute(query, values).fetchall()

    def row(self, query: str, *values: Any) -> sqlite3.Row | None:
        """The first row of a query, or None."""
        return next(iter(self.rows(query, *values)), None)

    def change(self, statement: str, *values: Any) -> int:
        """Carry out one change; returns the id of the row it added, if it added one."""
        with self.lock, self._database:
            return self._database.execute(statement, values).lastrowid or 0

    def secret(self, name: str) -> str:
        """A random text that belongs to this root: drawn at the first call, then kept."""
        insert = "INSERT OR IGNORE INTO settings VALUES (?, ?)"
        self.change(insert, name, secrets.token_hex(16))
        return str(self.rows("SELECT value FROM settings WHERE name = ?", name)[0]["value"])

    def close(self) -> None:
        """Close the file; later calls raise sqlite3.ProgrammingError."""
        with self.lock:
            self._database.close()

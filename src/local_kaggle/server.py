"""The local Kaggle's interface: start it, point a client at it, stop it."""

import os
import shlex
import socket
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self
from unittest.mock import patch

from filelock import FileLock, Timeout

from local_kaggle.app import build_app
from local_kaggle.errors import LocalKaggleError
from local_kaggle.execution.sessions import Rerun, read_rerun, rerun_folder
from local_kaggle.serving import served
from local_kaggle.state import DEFAULT_USER, ServerState

UNSET_FOR_CLIENT = (
    "KAGGLE_API_TOKEN",
    "KAGGLE_CONFIG_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "KAGGLE_KERNEL_RUN_TYPE",
    "KAGGLE_API_V1_TOKEN",
)
"""Variables that would make the official client bypass the local Kaggle."""

IN_USE, CANNOT_WRITE = 13, 12  # exit codes
HOLDER = ".local-kaggle.pid"  # of the process that serves the root, or served it last
OWN = (".gitignore", "archives", "blobs", "environment.sh", "image", "sessions")
"""What a server overwrites in its root, or removes there."""


class LocalKaggle(ServerState):
    """A stand-in for Kaggle on 127.0.0.1, served from a thread of this process.

    root       folder of its state (SQLite, sessions, datasets), created if missing; a later server
               with the same root continues from there
    port       TCP port; 0 = a free one
    catalogue  folder of inputs: `competitions/<slug>/`, `datasets/<owner>/<slug>/`,
               `kernels/<owner>/<slug>/`, and `solutions/<slug>.csv` with the answers, which are
               scored as `<slug>.toml` beside them says; default `root/catalogue`
    faults     a `FaultSchedule`; may be replaced while serving (`kaggle.faults = …`)
    limits     caps, page sizes and delays
    accounts   {user: legacy key}; default `tester`; an empty key is replaced by a random one
    tokens     {access token: user}, for Bearer authentication

    Use it as a context manager, or call `start()` and `stop()`. Stopping kills running sessions.
    Raises LocalKaggleError on Windows, and in `start()` if the port is taken or another server
    uses the same root.

    Point a subprocess at it with `client_environment()`; in this process:

        with kaggle.attach():
            from kaggle.api.kaggle_api_extended import KaggleApi
            api = KaggleApi()
            api.authenticate()
    """

    default_user = DEFAULT_USER
    _opened: ExitStack | None = None

    def start(self) -> Self:
        """Start serving; afterwards `port` and `url` have their final values."""
        with ExitStack() as opened:
            try:
                opened.callback(_claim(self.root).release)
                listener = opened.enter_context(_listener(self.port))
                self.port = listener.getsockname()[1]
                self.open()
                (self.root / ".gitignore").write_text("*\n")  # it holds keys, and others' data
            except (OSError, sqlite3.DatabaseError) as error:
                message = f"cannot write in {self.root}: {error}"
                raise LocalKaggleError(message, CANNOT_WRITE) from None
            opened.callback(self.store.close)
            opened.enter_context(served(build_app(self), listener))
            opened.callback(self.sessions.close)
            self._opened = opened.pop_all()
        return self

    def stop(self) -> None:
        """Stop serving and kill running sessions, which end in ERROR."""
        if self._opened:
            self._opened.close()
            self._opened = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def rerun(self, submission: int) -> Rerun | None:
        """The result of a code competition's rerun, with what Kaggle hides; None before its end.

        `submission` is the number that CreateCodeSubmission answers with. Right without serving.
        """
        return read_rerun(rerun_folder(self.root, submission))

    def key(self, user: str = DEFAULT_USER) -> str:
        """The legacy key of `user`. Raises LocalKaggleError for a user it does not know."""
        if not self._opened:
            raise LocalKaggleError("the local Kaggle is not serving: start it first")
        if user not in self.accounts:
            names = sorted(self.accounts)
            raise LocalKaggleError(f"the local Kaggle has no user {user!r}, only {names}")
        return self.accounts[user]

    def environment(self, user: str = DEFAULT_USER) -> dict[str, str]:
        """The variables that point the genuine client, in a subprocess, at this server.

        They hold the user's key. The variables in `UNSET_FOR_CLIENT` must also be unset:
        `client_environment()` does both.
        """
        home = self.root / "client-home"
        # The client resumes uploads that it finds among the temporary files, wherever they went.
        temporary = self.root / "client-tmp"
        # Two clients that make their folder at the same moment would stop each other.
        for folder in (home / ".config" / "kaggle", temporary):
            folder.mkdir(parents=True, exist_ok=True)
        return {
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
            "KAGGLE_USERNAME": user,
            "KAGGLE_KEY": self.key(user),
            "http_proxy": self.url,
            "no_proxy": "",
            "NO_PROXY": "",
        }

    def client_environment(
        self, base: Mapping[str, str] | None = None, user: str = DEFAULT_USER
    ) -> dict[str, str]:
        """A whole environment for a subprocess: `base` (default: this process's) pointed here."""
        base = os.environ if base is None else base
        return {k: v for k, v in base.items() if k not in UNSET_FOR_CLIENT} | self.environment(user)

    @contextmanager
    def attach(self, user: str = DEFAULT_USER) -> Iterator[None]:
        """Point the client inside this process at this server, for the length of a block.

        Sets the environment (without a proxy), the SDK's local endpoint, and the flag that
        `KaggleApi` reads once at import. All of it is put back afterwards. Not thread-safe.
        """
        from kagglesdk import kaggle_env

        # Not the present value: this call may import the module.
        arguments = ["--local"] if os.environ.get("KAGGLE_API_ENVIRONMENT") == "LOCALHOST" else []
        environment = self.client_environment(user=user) | {"no_proxy": "127.0.0.1"}
        del environment["http_proxy"]
        with (
            patch.dict(os.environ, environment, clear=True),
            patch.dict(kaggle_env._env_to_endpoint, {kaggle_env.KaggleEnv.LOCAL: self.url}),
            patch.object(tempfile, "tempdir", None),
        ):
            from kaggle.api.kaggle_api_extended import KaggleApi

            KaggleApi.args = ["--local"]
            try:
                yield
            finally:
                KaggleApi.args = arguments


def _claim(root: Path) -> FileLock:
    """Lock the root against a second server, which would take this one's runs for dead.

    Refuses a folder with other files, which this server would overwrite or remove.
    """
    root.mkdir(parents=True, exist_ok=True)
    if not (root / "kaggle.sqlite").exists() and any((root / name).exists() for name in OWN):
        raise LocalKaggleError(
            f"{root} holds other files, which would be overwritten: choose a folder of its own, "
            f"such as {root}/.kaggle"
        )
    claim = FileLock(root / "lock", thread_local=False)  # any thread may stop the server
    try:
        claim.acquire(blocking=False)
    except Timeout as error:
        lines = shlex.quote(str(root / "environment.sh"))
        raise LocalKaggleError(
            f"another rehearsal or local-kaggle{_holder(root)} is using {root}. Wait for it, or "
            f"stop it. To push to it instead, first run `. {lines}` in this shell",
            IN_USE,
        ) from error
    part = root / f"{HOLDER}.part"
    part.write_text(str(os.getpid()), encoding="utf-8")
    part.replace(root / HOLDER)
    return claim


def _holder(root: Path) -> str:
    """The process that serves a root, in brackets, if it has said so."""
    try:
        return f" (pid {int((root / HOLDER).read_text(encoding='utf-8'))})"
    except (OSError, ValueError):
        return ""


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port), backlog=256)
    except (OSError, OverflowError) as error:
        raise LocalKaggleError(
            f"port {port} cannot be used ({error}): choose another, or 0 for a free one"
        ) from error

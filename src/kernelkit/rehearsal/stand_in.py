"""The local Kaggle of a rehearsal: its inputs, and the environment that leads clients to it."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.exits.signals import unwinding
from kernelkit.interpreter import imports_from, with_python
from kernelkit.machines import Kind
from kernelkit.project import find_project
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import LOG, PROGRESS, WAITING, Event

if TYPE_CHECKING:
    from local_kaggle import Rerun as Rerun

ALONE = "rehearsal.lock"  # in the local Kaggle's folder: one rehearsal at a time
CATALOGUE = "catalogue"  # the subfolder of the local Kaggle's folder with its inputs
FILLED = ".filled"  # in the catalogue: the commands that have run, one per line, see `_filling`
# Written into the catalogue by such a command: a path on each line. It runs again when one of them
# appears, changes or goes.
DEPENDS = ".depends"
NO_LOCAL_KAGGLE = (
    "a rehearsal needs local_kaggle, which is a separate wheel: pip install local_kaggle-*.whl"
)


@dataclass(frozen=True)
class Rehearsal:
    """What a rehearsal needs of its local Kaggle.

    catalogue  the project's command that makes the inputs; "" if there is none
    owner      the account's name on Kaggle, under which a session finds the account's own inputs
    memory     GB that a session may use; None for what Kaggle's machine has
    prepare    is called once the catalogue is filled, while this process's environment is still
               its own; returns inputs that lie elsewhere, by their places in the catalogue
    """

    catalogue: str = ""
    owner: str = ""
    memory: float | None = None
    prepare: Callable[[], Mapping[str, Path]] | None = None


@contextlib.contextmanager
def attached(
    local: Path,
    root: Path | None,
    tell: Callable[[Event, str], None],
    rehearsal: Rehearsal,
) -> Iterator[str]:
    """A block in which Kaggle's clients reach a local Kaggle with its state in `local`; its URL.

    The catalogue's command runs in `root`, by default the current folder, and runs again only when
    the scripts that it names change, or the files that it lists in the catalogue's `DEPENDS`;
    `tell` gets its steps as events. It inherits this process's environment, so that it finds caches
    under HOME, and can import the project's packages. Raises `ParameterError` if the package
    `local_kaggle` is not installed.
    """
    try:
        from local_kaggle import LocalKaggle, fill_catalogue
    except ModuleNotFoundError as error:
        if error.name != "local_kaggle":
            raise
        raise ParameterError(NO_LOCAL_KAGGLE) from None

    def tell_step(line: str) -> None:
        if safe_text.is_step(line):
            tell(LOG, line)

    def wait() -> None:
        tell(WAITING, "another rehearsal is running in this repository: waiting for it to finish")

    here = root or Path()
    catalogue = rehearsal.catalogue
    memory = rehearsal.memory
    if memory is not None and not math.isfinite(memory):
        raise ParameterError(f"--memory {memory}: give a number of GB")
    kaggle = LocalKaggle(local)
    kaggle.limits = replace(kaggle.limits, also_named=rehearsal.owner)
    if memory is not None:
        bytes_each = dict.fromkeys(kaggle.limits.memory_bytes, memory * 1e9)
        kaggle.limits = replace(kaggle.limits, memory_bytes=bytes_each)
    # This process is the rehearsal's Kaggle: its sessions must not outlive it.
    with unwinding(), files.locked(local / ALONE, wait), kaggle as server:
        filled = server.catalogue / FILLED
        earlier = filled.read_text("utf-8").splitlines() if filled.is_file() else []
        filling = _filling(catalogue, local, here)
        if catalogue and f"{filling} {_depends(server.catalogue)}".rstrip() not in earlier:
            for link in filter(Path.is_symlink, server.catalogue.glob("hidden/*")):
                link.unlink()  # of `rehearse --hidden`: the user's own folder
            tell(PROGRESS, "making the rehearsal's inputs, once")
            command = shlex.join(with_python(shlex.split(catalogue), here))
            with imports_from(find_project(here).import_paths()):
                fill_catalogue(server.catalogue, command, here, tell_step)
            done = f"{filling} {_depends(server.catalogue)}".rstrip()
            others = [line for line in earlier if not line.startswith(filling)]
            files.write_text(filled, "\n".join([*others, done]) + "\n")
        if rehearsal.prepare:
            server.serve_inputs(rehearsal.prepare())
        with server.attach():  # from here on, the environment is the rehearsal's, including HOME
            yield f"{server.url}/"


def _filling(catalogue: str, local: Path, root: Path) -> str:
    """The command, its project and a hash of its scripts, so that an edited script runs again."""
    words = [root / word for word in shlex.split(catalogue)]
    scripts = [path.read_bytes() for path in words if path.suffix == ".py" and path.is_file()]
    project = os.path.relpath(root, local)
    return f"{catalogue} # {project} {hashlib.sha256(b''.join(scripts)).hexdigest()[:16]}"


def _depends(catalogue: Path) -> str:
    """A hash of the state of the paths in the catalogue's `DEPENDS`; "" if there are none."""
    try:
        listed = (catalogue / DEPENDS).read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    states = []
    for path in sorted(filter(None, listed)):
        try:
            seen = Path(path).stat()
        except (OSError, ValueError):
            states.append(f"{path} is not there")
        else:
            states.append(f"{path} {seen.st_size} {seen.st_mtime_ns}")
    return hashlib.sha256("\n".join(states).encode()).hexdigest()[:16] if states else ""


def rerun_of(local: Path, submission: int) -> Rerun | None:
    """The result of a submission's rerun on the local Kaggle in this folder."""
    from local_kaggle import LocalKaggle

    return LocalKaggle(local).rerun(submission)


def username() -> str:
    """The name of the account of a rehearsal."""
    from local_kaggle import LocalKaggle

    return LocalKaggle.default_user


def why_not_isolated() -> str:
    """Why this machine cannot isolate sessions, and what to do; "" if it can."""
    import local_kaggle

    return local_kaggle.why_not_isolated()


def memory_limit(kind: Kind) -> float:
    """The bytes that a session on a kind of machine may hold."""
    from local_kaggle import ServerLimits

    return ServerLimits().memory_bytes[kind]

"""The Kaggle session: on Kaggle or not, mounts, attached files, cache."""

import os
from collections.abc import Iterator
from pathlib import Path

from petals.junk import is_junk

INPUT_ROOT = "KERNELKIT_INPUT_ROOT"  # moves /kaggle/input, for rehearsals and tests
CACHE = "PETALS_CACHE"
KEPT = "KERNELKIT_KEPT"  # in a sweep's session: the folder of files that runs share
SCRATCH = Path("/kaggle/tmp")
ONLINE = "KAGGLE_REHEARSAL_INTERNET"  # set in a rehearsal whose kernel has the internet
SEARCH_DEPTH = 5  # folders below a mount


def on_kaggle() -> bool:
    """Whether this runs in a Kaggle session, or in a rehearsal of one."""
    return "KAGGLE_KERNEL_RUN_TYPE" in os.environ


def at_the_desk() -> bool:
    """Whether a download that fails here fails for want of this machine's network, not Kaggle's.

    That is so at home, and in a rehearsal of a kernel that has the internet.
    """
    return not on_kaggle() or ONLINE in os.environ


def mounts() -> Path:
    """The folder where a session's inputs are mounted."""
    return Path(os.environ.get(INPUT_ROOT, "/kaggle/input"))


def runs_folder() -> Path:
    """The folder of local runs: `runs` in the repository."""
    return repository() / "runs"


def repository() -> Path:
    """The repository that contains the working directory, or else the working directory.

    Jupyter starts a notebook in the notebook's own folder, a tool starts it in the repository's. A
    session has only its working directory, even if it is rehearsed below a repository.
    """
    here = Path.cwd()
    marks = ("kernel-metadata.json", ".git")
    folders = () if on_kaggle() else (here, *here.parents)
    roots = (f for f in folders if any((f / mark).exists() for mark in marks))
    return next(roots, here)


def kept_folder() -> Path:
    """The folder of files that runs share: the sweep's in a session, otherwise the cache."""
    return Path(os.environ.get(KEPT) or cache_folder())


def cache_folder() -> Path:
    """The folder, outside the run's, for reproducible files that are kept between runs.

    On Kaggle these go to the scratch disk, which has about 1 TB beside a TPU.
    """
    default = SCRATCH if on_kaggle() and SCRATCH.is_dir() else "~/.cache"
    base = Path(os.environ.get("XDG_CACHE_HOME", default)).expanduser()
    return Path(os.environ.get(CACHE, base / "petals"))


def attached(name: str) -> list[Path]:
    """Files and folders of that name in attached datasets, models and outputs, nearest first."""
    places = (folder / name for folder in folders_below(mounts(), SEARCH_DEPTH + 2))
    return [place for place in places if place.exists()]


def folders_below(root: Path, depth: int) -> Iterator[Path]:
    """`root` and the folders below it, nearest first."""
    level = [root] if root.is_dir() else []
    for _ in range(depth + 1):
        yield from level
        children = [child for folder in level for child in folder.iterdir() if child.is_dir()]
        level = sorted(child for child in children if _may_hold_inputs(child.name))


def _may_hold_inputs(name: str) -> bool:
    """Whether a folder of this name may have attached files: not one of records, or junk."""
    return not is_junk(name) and not name.startswith("tfrecords-jpeg-")

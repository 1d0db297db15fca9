"""Which commit the files of a push come from, and whether they differ from it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Commit:
    """The commit of a checkout; `sha` is empty outside git, where all counts as dirty."""

    sha: str
    dirty: bool

    def __str__(self) -> str:
        if not self.sha:
            return "no commit"
        return self.sha[:12] + ("+changes" if self.dirty else "")


def of(root: Path, paths: Sequence[Path]) -> Commit:
    """The commit checked out at `root`; dirty if one of `paths` differs or is untracked."""
    sha = _git(root, "rev-parse", "HEAD")
    if not sha:
        return Commit("", dirty=True)
    changed = _git(root, "status", "--porcelain", "--", *map(str, paths))
    return Commit(sha.strip(), dirty=changed is None or bool(changed.strip()))


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments],  # noqa: S607 - whichever git the user has
            cwd=root,
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None

"""What git says of a checkout: its commit, and its files."""

import contextlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path


def commit_of(root: Path, paths: Iterable[Path], carried: tuple[str, ...]) -> tuple[str, bool]:
    """The commit of a checkout, empty outside git, and whether these paths differ from it.

    Of the files that git ignores, only those count whose paths end in one of `carried`.
    """

    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        output = subprocess.check_output(command, cwd=root, stderr=subprocess.DEVNULL, timeout=20)
        return os.fsdecode(output)

    status = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignored"]
    try:
        output = git(*status, "--", *map(str, paths))
    except (OSError, subprocess.SubprocessError):  # no git, no checkout, or a path outside it
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            return git("rev-parse", "HEAD").strip(), True
        return "", True
    sha = ""
    changed = False
    for line in os.fsdecode(output).split("\0"):
        if line.startswith("# branch.oid "):
            sha = line.rpartition(" ")[2].replace("(initial)", "")
        elif line.startswith("! "):
            changed |= line.endswith(carried)
        else:
            changed |= bool(line) and not line.startswith("# ")
    return sha, changed or not sha


def in_repository(top: Path, endings: Iterable[str]) -> list[Path]:
    """The files of a repository whose paths end in one of these, such as "kit/__init__.py", sorted.

    Files that git ignores are left out. Outside git only two levels of folders are looked through.
    """
    endings = list(endings)
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--"]
    command += [f":(glob)**/{ending}" for ending in endings]
    try:
        output = subprocess.check_output(command, cwd=top, stderr=subprocess.DEVNULL, timeout=20)
        paths = [top / name for name in os.fsdecode(output).split("\0") if name]
    except (OSError, subprocess.SubprocessError):  # no git, or no checkout
        depths = ("", "*/", "*/*/")
        paths = [
            path for ending in endings for depth in depths for path in top.glob(depth + ending)
        ]
    return sorted(path for path in paths if path.is_file())

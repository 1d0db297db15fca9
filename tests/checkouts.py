"""Copies of this repository, to change, build and commit."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def git(folder, *arguments):
    identity = ("user.name=a", "user.email=a@example.com", "commit.gpgsign=false")
    config = [word for setting in identity for word in ("-c", setting)]
    return subprocess.check_output(["git", "-C", folder, *config, *arguments], text=True)


def check_out(folder, environment=Path(sys.prefix)):
    """What git keeps, in a folder that shares an environment, so that `make` finds it whole."""
    names = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").mkdir()  # git ignores a folder of this name, and no link
    for path in environment.iterdir():
        if path.is_dir():
            (folder / ".venv" / path.name).symlink_to(path)
    shutil.copy(environment / "pyvenv.cfg", folder / ".venv")
    (folder / ".venv" / "installed").touch()  # after the lock, which it has to be newer than
    return folder

"""On Windows everything can be imported, and a rehearsal says what it needs."""

import subprocess
import sys

import pytest

from kernelkit.errors import PreflightError
from local_kaggle import LocalKaggle, LocalKaggleError

# Libraries are loaded as they are; then kernelkit is loaded anew without what Windows lacks.
IMPORT_ALL = """\
import builtins, importlib, os, pkgutil, signal, sys
import kernelkit

names = [m.name for m in pkgutil.walk_packages(kernelkit.__path__, "kernelkit.")]
names = [name for name in names if not name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
assert len(names) > 100
for name in [name for name in sys.modules if name.partition(".")[0] == "kernelkit"]:
    del sys.modules[name]
MISSING = {"fcntl", "termios", "resource", "pty", "pwd", "grp", "tty", "syslog"}
genuine = builtins.__import__

def guarded(name, globals=None, *others, **more):
    inside = (globals or {}).get("__name__", "").partition(".")[0] == "kernelkit"
    if inside and name in MISSING:
        raise ModuleNotFoundError(f"{globals['__name__']} imports {name}")
    return genuine(name, globals, *others, **more)

builtins.__import__ = guarded
for module, gone in ((os, "fork setsid killpg getuid getpgid geteuid uname".split()),
                     (signal, "SIGKILL SIGHUP SIGUSR1 SIGCHLD SIGALRM setitimer".split())):
    for name in gone:
        delattr(module, name)
for name in names:
    importlib.import_module(name)
print("imported", len(names))
"""


@pytest.mark.long
def test_all_of_kernelkit_can_be_imported(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", IMPORT_ALL]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)  # the probe writes
    assert done.stdout.startswith("imported"), done.stderr


def test_a_rehearsal_says_that_it_needs_wsl(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(LocalKaggleError, match="WSL") as raised:
        LocalKaggle(tmp_path / "kaggle")
    assert "\n" not in str(raised.value)
    assert raised.value.exit_code == PreflightError.exit_code
    assert not (tmp_path / "kaggle").exists()

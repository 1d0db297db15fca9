"""Download or install with pip, from the package index that the local pip is configured for."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kernelkit import image
from kernelkit.errors import KernelkitError, NetworkError, PreflightError

MINUTES = 20.0
CONNECTIONS = ("--retries=2", "--timeout=15")
_NO_ANSWER = re.compile(
    r"connection broken by|Could not fetch URL \S+: (?!4(?!29)\d\d )|Temporary failure in name|"
    r"HTTP error (?:5\d\d|429)|ReadTimeoutError|IncompleteRead|Connection aborted"
)
_REFUSED = re.compile(r"(?:Could not fetch URL \S+:|HTTP error) 40[137]\b")
# What to do where the index has no wheel: of those that a push brings, or here for a rehearsal.
_CORRECT_WHEELS = "correct wheels in [tool.kernelkit], or install it in another way"
_OTHER_PYTHON = "rehearse with Kaggle's Python, or without --packages"
_ADDRESS = re.compile(r"\S+://\S+")  # it may contain credentials, and names the index


def download(requirements: Sequence[str], flags: Sequence[str], python: str, folder: Path) -> None:
    """Download a wheel for each requirement into the folder, without its dependencies.

    `flags` describe the Python to choose for, which messages call `python`. Raises
    `PreflightError` if the index has no such wheel or pip is missing, and `NetworkError` if the
    index does not answer.
    """
    command = ["download", "--no-deps", f"--dest={folder}", *flags]
    _run(command, requirements, python, _CORRECT_WHEELS)


def install(modules: Iterable[str], versions: Mapping[str, str], folder: Path) -> list[str]:
    """Put the modules' distributions into `folder`, with what they need: in these versions where
    they are known, or else in the series of Kaggle's image, or in any if that has no wheel for this
    Python. What they need comes in these versions and series, too, where that can be had.

    Returns the requirements. Raises as `download` does.
    """
    names = [*dict.fromkeys(filter(None, map(image.distribution, modules)))]
    known = image.requirements()
    known |= {name: f"{name}=={version}" for name, version in versions.items()}
    limits = True
    while True:
        wanted = [known.get(name, name) for name in names]
        try:
            others = [known[name] for name in known if limits and name not in names]
            _install(wanted, others, folder)
            return wanted
        except _NoWheelError as error:
            lacks = [name for name, text in known.items() if text == error.requirement]
            is_seen = "~=" not in error.requirement  # a session has it in this very version
            if not lacks or (is_seen and lacks[0] in names):
                raise
            del known[lacks[0]]
        except PreflightError:  # what they need cannot be had so
            if not limits:
                raise
            limits = False


def _install(wanted: Sequence[str], limits: Iterable[str], folder: Path) -> None:
    """Install into `folder`, and nothing beyond the requirements in `limits`."""
    with tempfile.TemporaryDirectory() as scratch:
        constraints = Path(scratch, "constraints.txt")
        constraints.write_text("\n".join(limits), encoding="utf-8")
        command = ["install", f"--target={folder}", "--upgrade", f"--constraint={constraints}"]
        _run(command, wanted, "this Python", _OTHER_PYTHON)


class _NoWheelError(PreflightError):
    """The index has no wheel of a requirement."""

    def __init__(self, requirement: str, message: str) -> None:
        super().__init__(message)
        self.requirement = requirement


def _run(command: Sequence[str], requirements: Sequence[str], python: str, remedy: str) -> None:
    """Run pip; `remedy`: what to do where the index has no wheel for `python`."""
    if importlib.util.find_spec("pip") is None:
        raise PreflightError("this needs pip, which this Python does not have: python -m ensurepip")
    pip = [sys.executable, "-m", "pip", "-vv", "--no-input", "--disable-pip-version-check"]
    always = ["--progress-bar=off", "--only-binary=:all:"]
    # Colours would hide the lines that say why pip failed.
    environment = {n: v for n, v in os.environ.items() if n != "FORCE_COLOR"} | {"NO_COLOR": "1"}
    try:
        done = subprocess.run(
            [*pip, *CONNECTIONS, *command, *always, "--", *requirements],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60 * MINUTES,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise NetworkError(
            f"the package index did not send {', '.join(requirements)} within {MINUTES:.0f} "
            "minutes: try again"
        ) from None
    if done.returncode:
        raise _failure(requirements, python, remedy, done.stdout + done.stderr)


def _failure(requirements: Sequence[str], python: str, remedy: str, output: str) -> KernelkitError:
    """The error behind pip's output."""
    if _NO_ANSWER.search(output):
        return NetworkError(
            f"the package index did not answer when asked for {', '.join(requirements)}: check the "
            "connection and try again"
        )
    if _REFUSED.search(output):
        return PreflightError(
            "the package index refuses this machine's pip: correct its index-url and credentials"
        )
    if missing := re.search(r"No matching distribution found for (.+)", output):
        versions = re.search(r"\(from versions: (?!none\))(.+)\)", output)
        newest = f", only of {', '.join(versions[1].split(', ')[-3:])}" if versions else ""
        named = missing[1].strip()
        return _NoWheelError(
            named,
            f"the package index has no wheel of {named} for {python}{newest}: {remedy}",
        )
    reasons = re.findall(r"^ERROR: (.+)", output, re.MULTILINE) or ["it gave no reason"]
    return PreflightError(f"pip failed: {_ADDRESS.sub('[address]', reasons[-1])}")

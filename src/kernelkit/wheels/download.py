"""Download wheels with pip, from the package index that the local pip is configured for."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kernelkit.errors import KernelkitError, NetworkError, PreflightError
from kernelkit.wheels.targets import WheelTarget

MINUTES = 20.0
CONNECTIONS = ("--retries=2", "--timeout=15")
_NO_ANSWER = re.compile(
    r"connection broken by|Could not fetch URL \S+: (?!4(?!29)\d\d )|Temporary failure in name|"
    r"HTTP error (?:5\d\d|429)|ReadTimeoutError|IncompleteRead|Connection aborted"
)
_REFUSED = re.compile(r"(?:Could not fetch URL \S+:|HTTP error) 40[137]\b")
_ADDRESS = re.compile(r"\S+://\S+")  # it may contain credentials, and names the index


def download(requirements: Sequence[str], target: WheelTarget, folder: Path) -> None:
    """Download a wheel for each requirement into the folder, without its dependencies.

    Raises `PreflightError` if the index has no such wheel for the target or pip is missing, and
    `NetworkError` if the index does not answer.
    """
    options = ["--no-deps", f"--dest={folder}", *target.flags]
    _pip("download", options, requirements, target.words, "correct wheels in [tool.kernelkit]")


def install(requirements: Sequence[str], folder: Path) -> None:
    """Put what this Python would install for the requirements into the folder, with what they need.

    Raises as `download` does.
    """
    options = [f"--target={folder}", "--upgrade"]
    _pip("install", options, requirements, "this Python", "install it in another way")


def _pip(
    verb: str, options: Sequence[str], requirements: Sequence[str], words: str, advice: str
) -> None:
    if importlib.util.find_spec("pip") is None:
        raise PreflightError(
            "choosing wheels needs pip, which this Python does not have: python -m ensurepip"
        )
    pip = [sys.executable, "-m", "pip", "-vv", "--no-input", "--disable-pip-version-check"]
    always = ["--progress-bar=off", "--only-binary=:all:"]
    # Colours would hide the lines that say why pip failed.
    environment = {n: v for n, v in os.environ.items() if n != "FORCE_COLOR"} | {"NO_COLOR": "1"}
    try:
        done = subprocess.run(
            [*pip, *CONNECTIONS, verb, *always, *options, "--", *requirements],
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
        raise _failure(requirements, words, advice, done.stdout + done.stderr)


def _failure(requirements: Sequence[str], words: str, advice: str, output: str) -> KernelkitError:
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
        return PreflightError(
            f"the package index has no wheel of {missing[1].strip()} for {words}{newest}: {advice}"
        )
    reasons = re.findall(r"^ERROR: (.+)", output, re.MULTILINE) or ["it gave no reason"]
    return PreflightError(f"pip cannot download wheels: {_ADDRESS.sub('[address]', reasons[-1])}")

"""The newest releases of both clients on the package index, with the tests in their sources."""

import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

CLIENTS = ("kaggle", "kagglehub")
SDK = "kagglesdk"
SECONDS = 600
ABOUT = re.compile(r"""__version__\s*(?::\s*str)?\s*=\s*["']([^"']+)["']""")


@dataclass(frozen=True)
class Clients:
    """Folders with the sources of both clients, and one with the SDK that they ask for."""

    kaggle_cli: Path
    kagglehub: Path
    sdk: Path


def fetch(folder: Path) -> Clients:
    """Fetch the newest releases through pip. Raises CalledProcessError where it cannot."""
    _pip("download", "--no-deps", f"--no-binary={','.join(CLIENTS)}", f"-d{folder}", *CLIENTS)
    _pip("install", "--no-deps", f"--target={folder / SDK}", SDK)
    unpacked = {}
    for client in CLIENTS:
        (archive,) = folder.glob(f"{client}-*.tar.gz")
        with tarfile.open(archive) as sources:
            sources.extractall(folder / client, filter="data")
        (unpacked[client],) = (folder / client).iterdir()
    return Clients(unpacked["kaggle"], unpacked["kagglehub"], folder / SDK)


def version_of(checkout: Path) -> str:
    """The version that a client's sources name; empty where they name none."""
    for module in sorted(checkout.glob("src/*/__init__.py")):
        found = ABOUT.search(module.read_text())
        if found:
            return f"{module.parent.name} {found[1]}"
    return ""


def _pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", words[0], "--quiet", *words[1:]]
    subprocess.run(command, check=True, timeout=SECONDS)

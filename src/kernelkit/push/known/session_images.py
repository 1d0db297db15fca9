"""What earlier sessions reported of Kaggle's images: their Python and their modules."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from kernelkit.machines import Kind
from kernelkit.push.known.ledger import Ledger
from kernelkit.session_records import session_manifest
from kernelkit.session_records.session_manifest import Image


def python_seen(runs: Path, kind: Kind) -> tuple[int, int] | None:
    """The version of Python in the last session on this kind of machine that reported it."""
    for image in _reported(runs, kind):
        version = re.match(r"(\d+)\.(\d+)", image.python)
        if version:
            return int(version[1]), int(version[2])
    return None


def modules_seen(runs: Path, kind: Kind) -> Collection[str] | None:
    """The modules of the image, as the last such session reported them; None if none did."""
    lists = (image.modules for image in _reported(runs, kind))
    return next(filter(None, lists), None)


def _reported(runs: Path, kind: Kind) -> Iterator[Image]:
    """The image of each session on such a machine that left its manifest, the last one first."""
    for push in reversed(Ledger(runs).of()):
        if push.accelerator == kind:
            manifest = session_manifest.read(push.folder_in(runs))
            is_of_push = manifest and push.number in ("", manifest.push)
            if manifest and is_of_push:
                yield manifest.image

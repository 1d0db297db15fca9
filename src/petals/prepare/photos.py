"""Convert photos of any kind to square RGB JPEGs, in parallel threads.

Pillow releases Python's lock while it decodes, resizes and encodes, so a pool of threads
uses all cores and nothing has to be copied between processes.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from petals.data import photo_files
from petals.data.photo_files import PhotoError

JPEG_QUALITY = 92
UNLABELLED = -1  # the label of a photo whose class is unknown


@dataclass(frozen=True)
class Photo:
    """A photo, identified by the hash of its bytes; `label`: the position of its class."""

    path: Path
    label: int
    digest: str  # 32 hexadecimal digits

    @property
    def id(self) -> str:
        """Nine hexadecimal digits, as the competition's ids are."""
        return self.digest[:9]

    @property
    def position(self) -> float:
        """A number in [0, 1) that depends only on the content and decides the split."""
        return int(self.digest[16:], 16) / 16**16


def read(path: Path, label: int) -> Photo:
    """Read and hash a file. Raises `PhotoError` if it is empty or cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PhotoError(f"cannot be read ({error.strerror})") from None
    if not data:
        raise PhotoError("empty file")
    return Photo(path, label, hashlib.blake2b(data, digest_size=16).hexdigest())


def attempt(make: Callable[..., Any], *arguments: Any) -> Any:
    """What `make` returns, or as text the reason why the photo cannot be used."""
    try:
        return make(*arguments)
    except PhotoError as error:
        return str(error)


def encode(
    path: Path, sizes: Sequence[int], fit: str = "crop"
) -> tuple[dict[int, bytes], list[str]]:
    """The photo as a JPEG in each size (pixels), and its peculiarities.

    `fit` and the peculiarities are those of `petals.data.photo_files.squares`. Raises `PhotoError`,
    with the reason, if the file is not an image or is truncated.
    """
    pictures, peculiarities = photo_files.squares(path, sizes, fit)
    return {size: _jpeg(picture) for size, picture in pictures.items()}, peculiarities


def _jpeg(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()

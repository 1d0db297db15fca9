"""One photo of any kind made into a square RGB JPEG; threads do it in parallel.

Pillow releases Python's lock while it decodes, resizes and encodes, so a pool of threads
uses all cores and nothing has to be copied between processes.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

JPEG_QUALITY = 92
OVERSIZED = 50_000_000  # pixels; decoded at a reduced scale where the format can
UNLABELLED = -1  # in place of a label, where nobody knows the class
TOO_LARGE = 500_000_000  # pixels; 1.5 GB once decoded: left out
_EXIF_ORIENTATION = 0x0112


class PhotoError(Exception):
    """This photo cannot be used; the text is the reason."""


@dataclass(frozen=True)
class Photo:
    """A photo, known by the hash of its bytes; `label`: the position of its class."""

    path: Path
    label: int
    digest: str  # 32 hexadecimal digits

    @property
    def id(self) -> str:
        """Nine hexadecimal digits, as the competition's ids are."""
        return self.digest[:9]

    @property
    def position(self) -> float:
        """A number in [0, 1) from the content alone: what decides the split."""
        return int(self.digest[16:], 16) / 16**16


def read(path: Path, label: int) -> Photo:
    """Hash a file's content. Raises `PhotoError` for an empty or unreadable file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PhotoError(f"cannot be read ({error.strerror})") from None
    if not data:
        raise PhotoError("empty file")
    return Photo(path, label, hashlib.blake2b(data, digest_size=16).hexdigest())


def encode(
    path: Path, sizes: Sequence[int], fit: str = "crop"
) -> tuple[dict[int, bytes], list[str]]:
    """The photo as a JPEG of each size, and what was peculiar about it.

    `fit`: "crop" keeps the middle square, "squash" the whole picture. The peculiarities are
    among grey, CMYK, 16-bit, transparent, EXIF-rotated, oversized, enlarged. Raises `PhotoError`
    with the reason when the file is not an image or is cut short.
    """
    try:
        with Image.open(path) as image:
            if image.width * image.height > TOO_LARGE:
                raise PhotoError(f"too large ({image.width} x {image.height} pixels)")
            found = _peculiarities(image, max(sizes))
            _reduce(image, max(sizes))
            rgb = ImageOps.exif_transpose(_to_rgb(image))
    except PhotoError:
        raise
    except UnidentifiedImageError:
        raise PhotoError("not an image") from None
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, struct.error ...
        raise PhotoError(f"damaged image ({error})") from None
    return {size: _jpeg(_square(rgb, size, fit)) for size in sizes}, found


def _peculiarities(image: Image.Image, largest: int) -> list[str]:
    checks = {
        "grey": image.mode in ("1", "L", "LA") or image.mode.startswith(("I", "F")),
        "CMYK": image.mode == "CMYK",
        "16-bit": image.mode.startswith(("I", "F")),
        "transparent": image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info,
        "EXIF-rotated": image.getexif().get(_EXIF_ORIENTATION, 1) != 1,
        "oversized": image.width * image.height > OVERSIZED,
        "enlarged": min(image.size) < largest,
    }
    return [name for name, holds in checks.items() if holds]


def _reduce(image: Image.Image, size: int) -> None:
    # libjpeg can leave out the fine detail that the resize would throw away: a 12-megapixel
    # photo decodes several times faster. Twice the size is kept, so nothing visible is lost.
    image.draft("RGB" if image.mode == "RGB" else None, (2 * size, 2 * size))


def _to_rgb(image: Image.Image) -> Image.Image:
    orientation = image.getexif()
    if image.mode.startswith(("I", "F")):
        rgb = _eight_bit(image)
    elif image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        rgb = Image.new("RGB", rgba.size, "white")
        rgb.paste(rgba, mask=rgba.getchannel("A"))
    else:
        rgb = image if image.mode == "RGB" else image.convert("RGB")
    rgb.load()
    if rgb is not image:
        rgb.info["exif"] = orientation.tobytes()
    return rgb


def _eight_bit(image: Image.Image) -> Image.Image:
    values = np.asarray(image, dtype=np.float64)
    full = 65535.0 if values.max() > 255 else 255.0
    return Image.fromarray((values.clip(0, full) * (255 / full)).astype(np.uint8)).convert("RGB")


def _square(image: Image.Image, size: int, fit: str) -> Image.Image:
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    box = (left, top, left + side, top + side) if fit == "crop" else None
    if image.size == (size, size):
        return image
    return image.resize((size, size), Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)


def _jpeg(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()

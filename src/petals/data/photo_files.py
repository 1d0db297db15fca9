"""Convert a photo of any kind to a square RGB picture.

`petals.prepare` makes records of them, and `petals.classify` shows them to a model.
"""

import io
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageOps

# Pillow's warning from 90 megapixels on names no file. It is ignored once, here: a filter that is
# set and restored around each photo would race with the other threads.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


JPEG_QUALITY = 92
SUFFIXES = (".jpg", ".jpeg", ".jfif", ".avif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
DEEP_MODES = ("I", "F")  # Pillow's modes begin so for more than 8 bits a value
_BITS = (8, 10, 12, 14, *range(16, 33))  # that cameras and scanners have, then any


class PhotoError(Exception):
    """This photo cannot be used; the text is the reason."""


def peak(file: Path | BinaryIO) -> float:
    """The largest value in a photo of more than 8 bits a value; 0 for any other photo or file."""
    try:
        with Image.open(file) as image:
            if not image.mode.startswith(DEEP_MODES):
                return 0.0
            return float(np.asarray(image, dtype=np.float64).max())
    except Exception:  # `squares` names what is no photo
        return 0.0


def white(peaks: Iterable[float]) -> float:
    """The value that is white in a set of photos, from the largest values in them (see `peak`).

    Values up to 1 are shares. Others have as many bits as the largest one needs: 12 bits that are
    stored in 16 are white at 4095, in a dark photo of the set too.
    """
    largest = max(peaks, default=0.0)
    if largest <= 1:
        return 1.0
    return next((2.0**bits - 1 for bits in _BITS if largest < 2.0**bits), largest)


def squares(file: Path | BinaryIO, sizes: Sequence[int], full: float = 0.0) -> list[Image.Image]:
    """The photo's middle as an RGB square of each size (pixels), upright as the camera says.

    `full`: the value that is white in photos of more than 8 bits, from `white`; 0 = the photo's
    own. Raises `PhotoError` with the reason if the file is not an image, is truncated, or has more
    than the 179 megapixels that Pillow decodes.
    """
    try:
        with Image.open(file) as image:
            # libjpeg can skip the fine detail that the resize would discard: a 12-megapixel photo
            # decodes several times faster. Decoding at twice the size loses nothing visible.
            image.draft("RGB" if image.mode == "RGB" else None, (2 * max(sizes), 2 * max(sizes)))
            rgb = _to_rgb(ImageOps.exif_transpose(image), full)
    except Image.DecompressionBombError:
        raise PhotoError("more than 179 megapixels: save a smaller copy") from None
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, struct.error ...
        raise PhotoError(f"not a whole image ({error})") from None
    return [_square(rgb, size) for size in sizes]


def jpeg(picture: Image.Image) -> bytes:
    """The picture as a JPEG file."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()


def _to_rgb(image: Image.Image, full: float) -> Image.Image:
    if image.mode.startswith(DEEP_MODES):  # which Pillow would cut off at 255
        values = np.asarray(image, dtype=np.float64)
        full = full or white([values.max()])
        image = Image.fromarray((values.clip(0, full) * (255 / full)).astype(np.uint8))
    elif image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        image = Image.new("RGB", rgba.size, "white")
        image.paste(rgba, mask=rgba.getchannel("A"))
    return image.convert("RGB")


def _square(image: Image.Image, size: int) -> Image.Image:
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    box = (left, top, left + side, top + side)
    return image.resize((size, size), Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)

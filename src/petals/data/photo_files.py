"""Convert a photo of any kind to a square RGB picture.

`petals.prepare` makes records of them, and `petals.classify` shows them to a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

OVERSIZED = 50_000_000  # pixels; decoded at a reduced scale if the format supports it
TOO_LARGE = 500_000_000  # pixels; 1.5 GB once decoded: left out
_EXIF_ORIENTATION = 0x0112


class PhotoError(Exception):
    """This photo cannot be used; the text is the reason."""


def squares(
    path: Path, sizes: Sequence[int], fit: str = "crop"
) -> tuple[dict[int, Image.Image], list[str]]:
    """The photo as an RGB square of each size, and its peculiarities.

    `fit`: "crop" keeps the middle square, "squash" the whole picture. The peculiarities are
    among grey, CMYK, 16-bit, transparent, EXIF-rotated, oversized, enlarged. Raises `PhotoError`
    with the reason if the file is not an image or is truncated.
    """
    try:
        with Image.open(path) as image:
            if image.width * image.height > TOO_LARGE:
                raise PhotoError(f"too large ({image.width} x {image.height} pixels)")
            peculiarities = _peculiarities(image, max(sizes))
            # libjpeg can skip the fine detail that the resize would discard: a 12-megapixel photo
            # decodes several times faster. Decoding at twice the size loses nothing visible.
            image.draft("RGB" if image.mode == "RGB" else None, (2 * max(sizes), 2 * max(sizes)))
            rgb = ImageOps.exif_transpose(_to_rgb(image))
    except PhotoError:
        raise
    except UnidentifiedImageError:
        raise PhotoError("not an image") from None
    except OSError as error:  # Pillow also raises it for a damaged file, without errno
        why = f"cannot be read ({error.strerror})" if error.errno else f"damaged image ({error})"
        raise PhotoError(why) from None
    except Exception as error:  # Pillow's decoders raise SyntaxError, struct.error ...
        raise PhotoError(f"damaged image ({error})") from None
    return {size: _square(rgb, size, fit) for size in sizes}, peculiarities


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

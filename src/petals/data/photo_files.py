"""Find photos, and convert one of any kind to a square RGB picture.

`petals.prepare` makes records of them, and `petals.classify` shows them to a model.
"""

import warnings
from collections.abc import Iterable, Sequence
from glob import glob
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from petals.errors import DataError

SUFFIXES = (".jpg", ".jpeg", ".jfif", ".avif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
# Pillow's warning from 90 megapixels on names no file. It is ignored once, here: a filter that is
# set and restored around each photo would race with the other threads.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


def find_photos(names: Sequence[str]) -> list[Path]:
    """The photos in files, folders and globs, without duplicates, in the order of `names`.

    Raises `DataError` for a name without photos.
    """
    if not names:
        raise DataError("no photos: give files, folders or globs")
    paths: dict[Path, None] = {}
    for name in names:
        path = Path(name).expanduser()
        inside = path.rglob("*") if path.is_dir() else map(Path, glob(str(path), recursive=True))  # noqa: PTH207 - takes absolute globs
        photos = [path] if path.is_file() else photos_among(inside)
        if not photos:
            raise DataError(f"no photo at {name}: give files ({', '.join(SUFFIXES)}) or folders")
        paths |= dict.fromkeys(photos)
    return list(paths)


def photos_among(paths: Iterable[Path]) -> list[Path]:
    """Those of the paths that are photos by their names, sorted; hidden files are left out."""
    return sorted(
        path
        for path in paths
        if path.is_file() and path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    )


class PhotoError(Exception):
    """This photo cannot be used; the text is the reason."""


def squares(path: Path, sizes: Sequence[int]) -> list[Image.Image]:
    """The photo's middle as an RGB square of each size (pixels), upright as the camera says.

    Raises `PhotoError` with the reason if the file is not an image, is truncated, or has more than
    the 179 megapixels that Pillow decodes.
    """
    try:
        with Image.open(path) as image:
            # libjpeg can skip the fine detail that the resize would discard: a 12-megapixel photo
            # decodes several times faster. Decoding at twice the size loses nothing visible.
            image.draft("RGB" if image.mode == "RGB" else None, (2 * max(sizes), 2 * max(sizes)))
            rgb = _to_rgb(ImageOps.exif_transpose(image))
    except Image.DecompressionBombError:
        raise PhotoError("more than 179 megapixels: save a smaller copy") from None
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, struct.error ...
        raise PhotoError(f"not a whole image ({error})") from None
    return [_square(rgb, size) for size in sizes]


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith(("I", "F")):  # 16 bits or more, which Pillow would cut off at 255
        values = np.asarray(image, dtype=np.float64)
        full = next((n for n in (1.0, 255.0, 65535.0) if n >= values.max()), values.max())
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

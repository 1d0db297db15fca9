"""Find photos, and convert one of any kind to a square RGB picture.

`petals.prepare` makes records of them, and `petals.classify` shows them to a model.
"""

import io
import warnings
from collections.abc import Iterable, Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageOps

from petals.errors import DataError
from petals.junk import is_junk

# Pillow's warning from 90 megapixels on names no file. It is ignored once, here: a filter that is
# set and restored around each photo would race with the other threads.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


JPEG_QUALITY = 92
SUFFIXES = (".jpg", ".jpeg", ".jfif", ".avif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
DEEP_MODES = ("I", "F")  # how Pillow's modes of more than 8 bits a value begin
_BITS = (8, 10, 12, 14, *range(16, 33))  # that cameras and scanners have, then any


def find_photos(names: Sequence[str]) -> list[Path]:
    """The photos in files, folders and globs, without duplicates, in the order of `names`.

    Raises `DataError` for a name without photos.
    """
    if not names:
        raise DataError("no photos: give files, folders or globs")
    paths: dict[Path, None] = {}
    for name in names:
        path = Path(name).expanduser()
        if path.is_file():
            photos = [path]
        elif path.is_dir():
            photos = photos_below(path)
        else:
            photos = _photos_among(map(Path, glob(str(path), recursive=True)))  # noqa: PTH207 - takes absolute globs
        if not photos:
            raise DataError(f"no photo at {name}: give files ({', '.join(SUFFIXES)}) or folders")
        paths |= dict.fromkeys(photos)
    return list(paths)


def photos_below(folder: Path) -> list[Path]:
    """The photos at any depth of a folder, without what systems and editors leave there."""
    inside = folder.rglob("*")
    return _photos_among(p for p in inside if not any(map(is_junk, p.relative_to(folder).parts)))


def _photos_among(paths: Iterable[Path]) -> list[Path]:
    return sorted(
        path
        for path in paths
        if path.is_file() and path.suffix.lower() in SUFFIXES and not is_junk(path.name)
    )


class PhotoError(Exception):
    """This photo cannot be used; the text is the reason."""


def peak(file: Path | BinaryIO) -> tuple[str, float]:
    """The kind of a photo's values, one of `DEEP_MODES`, and the largest of them.

    ("", 0.0) for a photo of 8 bits a value, and for a file that is no photo.
    """
    try:
        with Image.open(file) as image:
            kind = image.mode[:1]
            if kind not in DEEP_MODES:
                return "", 0.0
            return kind, float(np.asarray(image, dtype=np.float64).max())
    except Exception:  # `squares` names what is no photo
        return "", 0.0


def white(peaks: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The value that is white in a set of photos, by the kind of values; `peaks` as from `peak`.

    Values up to 1 are shares. Others have as many bits as the largest one needs: 12 bits that are
    stored in 16 are white at 4095, in a dark photo of the set too.
    """
    largest: dict[str, float] = {}
    for kind, value in peaks:
        if kind:
            largest[kind] = max(value, largest.get(kind, 0.0))
    return {kind: _full(value) for kind, value in largest.items()}


def _full(largest: float) -> float:
    if largest <= 1:
        return 1.0
    return next((2.0**bits - 1 for bits in _BITS if largest < 2.0**bits), largest)


def squares(
    file: Path | BinaryIO, sizes: Sequence[int], white: Mapping[str, float] | None = None
) -> list[Image.Image]:
    """The photo's middle as an RGB square of each size (pixels), upright as the camera says.

    `white`: the value that is white in photos of more than 8 bits, from the function of that name;
    without it, the photo's own. Raises `PhotoError` with the reason if the file is not an image, is
    truncated, or has more than the 179 megapixels that Pillow decodes.
    """
    try:
        with Image.open(file) as image:
            # libjpeg can skip the fine detail that the resize would discard: a 12-megapixel photo
            # decodes several times faster. Decoding at twice the size loses nothing visible.
            image.draft("RGB" if image.mode == "RGB" else None, (2 * max(sizes), 2 * max(sizes)))
            rgb = _to_rgb(ImageOps.exif_transpose(image), white or {})
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


def _to_rgb(image: Image.Image, white: Mapping[str, float]) -> Image.Image:
    if image.mode.startswith(DEEP_MODES):  # which Pillow would cut off at 255
        values = np.asarray(image, dtype=np.float64)
        full = white.get(image.mode[0]) or _full(values.max())
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

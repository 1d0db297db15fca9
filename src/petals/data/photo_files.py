"""Find photos, and convert one of any kind to a square RGB picture.

`petals.prepare` makes records of them, and `petals.classify` shows them to a model.
"""

import io
import os
import warnings
from collections.abc import Iterable, Sequence
from glob import glob
from pathlib import Path
from typing import BinaryIO

from PIL import Image, ImageOps, UnidentifiedImageError

from petals.data.formats import format_of
from petals.errors import DataError
from petals.junk import is_junk

# Pillow's warning from 90 megapixels on names no file. It is ignored once, here: a filter that is
# set and restored around each photo would race with the other threads.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


JPEG_QUALITY = 92
# HEIC too, which nothing here decodes: such a photo is named then, and not passed over.
SUFFIXES = (
    ".jpg",
    ".jpeg",
    ".jfif",
    ".avif",
    ".png",
    ".webp",
    ".bmp",
    ".gif",
    ".tif",
    ".tiff",
    ".heic",
    ".heif",
)


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
    return _photos_among(files_below(folder))


def files_below(folder: Path) -> list[Path]:
    """What is no folder at any depth of a folder, sorted, without junk.

    Links to folders are followed, but for those that lead back to where they are.
    """
    found: list[Path] = []
    above = {folder.resolve(), *folder.resolve().parents}
    entered = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        entered.add(Path(place).resolve())
        new = []
        for name in folders:
            target = Path(place, name).resolve()
            if not is_junk(name) and target not in above and target not in entered:
                new.append(name)
        folders[:] = new  # where `walk` goes on
        found += [Path(place, name) for name in names if not is_junk(name)]
    return sorted(found)


def _photos_among(paths: Iterable[Path]) -> list[Path]:
    return sorted(path for path in paths if path.is_file() and is_photo(path))


def is_photo(path: Path) -> bool:
    """Whether a file is called like a photo; a link to a missing file is as well."""
    if is_junk(path.name) or path.suffix.lower() not in SUFFIXES:
        return False
    return path.is_file() or (path.is_symlink() and not path.exists())


class PhotoError(Exception):
    """This photo cannot be used; the text is the reason."""


def squares(file: Path | BinaryIO, sizes: Sequence[int]) -> list[Image.Image]:
    """The photo's middle as an RGB square of each size (pixels), upright as the camera says.

    Raises `PhotoError` with the reason if the file is not an image, is truncated, has more than 8
    bits a value, or more than the 179 megapixels that Pillow decodes.
    """
    try:
        with Image.open(file) as image:
            if _has_more_than_8_bits(image):
                raise PhotoError(
                    "of more than 8 bits a value, and which of them is white is not known: save it "
                    "as a JPEG"
                )
            # libjpeg can skip the fine detail that the resize would discard: a 12-megapixel photo
            # decodes several times faster. Decoding at twice the size loses nothing visible.
            image.draft("RGB" if image.mode == "RGB" else None, (2 * max(sizes), 2 * max(sizes)))
            rgb = _to_rgb(image)
    except Image.DecompressionBombError:
        raise PhotoError("more than 179 megapixels: save a smaller copy") from None
    except PhotoError:
        raise
    except UnidentifiedImageError:
        raise PhotoError(_unidentified(file)) from None
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, struct.error ...
        raise PhotoError(f"not a whole image ({error})") from None
    return [_square(rgb, size) for size in sizes]


def _has_more_than_8_bits(image: Image.Image) -> bool:
    """Whether a file that was just opened has more bits for a value than a JPEG can have."""
    how_stored = [str(tile[3]) for tile in getattr(image, "tile", ())]  # such as RGB;16B
    return image.mode.startswith(("I", "F")) or any(";16" in raw_mode for raw_mode in how_stored)


def _unidentified(file: Path | BinaryIO) -> str:
    """Why a file that Pillow does not know is no photo."""
    if isinstance(file, Path):
        with file.open("rb") as opened:
            begins = opened.read(32)
    else:
        file.seek(0)
        begins = file.read(32)
    if not begins:
        return "not a whole image (it is empty)"
    kind = format_of(begins) or "of no known format"
    return f"not a whole image ({kind}): save the photo as a JPEG"


def jpeg(picture: Image.Image) -> bytes:
    """The picture as a JPEG file."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()


def _to_rgb(image: Image.Image) -> Image.Image:
    """The upright picture, on white where it is transparent."""
    image = ImageOps.exif_transpose(image)
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        image = Image.new("RGB", rgba.size, "white")
        image.paste(rgba, mask=rgba.getchannel("A"))
    return image.convert("RGB")


def _square(image: Image.Image, size: int) -> Image.Image:
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    box = (left, top, left + side, top + side)
    return image.resize((size, size), Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)

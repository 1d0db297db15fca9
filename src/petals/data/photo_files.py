"""Find photos, and convert one of any kind to a square RGB picture.

`petals.prepare` makes records of them, and `petals.classify` shows them to a model.
"""

import io
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

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
WHOLE, SHARE = "I", "F"  # how Pillow's modes of more than 8 bits a value begin
_BITS = (8, 10, 12, 14, *range(16, 33))  # that cameras and scanners have, then any
_ORIENTATION = 0x0112  # the EXIF tag
# By the first bytes of the file; by the brand of one that begins as MP4 does.
_BEGINNINGS = {
    b"\xff\xd8": "a JPEG",
    b"\x89PNG": "a PNG",
    b"GIF8": "a GIF",
    b"BM": "a BMP",
    b"II*\0": "a TIFF",
    b"MM\0*": "a TIFF with big-endian numbers",
    b"\0\0\0\x0cjP": "a JPEG 2000",
    b"\xff\x0a": "a JPEG XL",
    b"\0\0\0\x0cJXL": "a JPEG XL",
    b"8BPS": "a Photoshop file",
    b"%PDF": "a PDF",
    b"version https://git-lfs": "a Git LFS pointer, in the place of the file",
    b"<": "a page of HTML or XML",
}
_BRANDS = {
    "an AVIF": (b"avif", b"avis"),
    "a HEIC": (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"),
}
_VIDEO = "a video"  # of any other brand
_UNREAD = ("a HEIC", "an AVIF", "a JPEG 2000", "a JPEG XL")  # by some or all versions of Pillow
_NO_PHOTOS = (
    "a Photoshop file",
    "a PDF",
    "a page of HTML or XML",
    _VIDEO,
    "a Git LFS pointer, in the place of the file",
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


def format_of(image: bytes) -> str:
    """What kind of file an image is, by its first bytes, such as `a WebP`; "" if not known."""
    if image[:4] == b"RIFF" and image[8:12] == b"WEBP":
        return "a WebP"
    if image[4:8] == b"ftyp":
        brand = image[8:12]
        return next((name for name, brands in _BRANDS.items() if brand in brands), _VIDEO)
    return next((name for begin, name in _BEGINNINGS.items() if image.startswith(begin)), "")


def is_plain(image: Image.Image) -> bool:
    """Whether any decoder makes the same picture of an image that Pillow has just opened.

    It has 8 bits a value, no transparent places and one frame, and needs not be turned. TensorFlow
    drops transparency and the lower half of 16 bits, does not turn, and refuses animations.
    """
    if image.mode.startswith((WHOLE, SHARE)) or _is_deep_colour(image):
        return False
    if image.has_transparency_data:
        return False
    if image.format == "JPEG":
        return image.getexif().get(_ORIENTATION, 1) == 1
    return getattr(image, "n_frames", 1) == 1


def peak(file: Path | BinaryIO) -> tuple[str, float]:
    """The kind of a photo's values, `WHOLE` or `SHARE`, and the largest of them.

    ("", 0.0) for a photo of 8 bits a value, and for a file that is no photo.
    """
    try:
        with Image.open(file) as image:
            if _is_deep_colour(image):
                return WHOLE, float(_deep_colour(image, file).max())
            kind = image.mode[:1]
            if kind not in (WHOLE, SHARE):
                return "", 0.0
            return kind, float(np.asarray(image, dtype=np.float64).max())
    except Exception:  # `squares` names what is no photo
        return "", 0.0


def _is_deep_colour(image: Image.Image) -> bool:
    """Whether the file has 16 bits a value for colours, of which Pillow would read the upper 8."""
    if image.mode.startswith((WHOLE, SHARE)):
        return False
    how_stored = [str(tile[3]) for tile in getattr(image, "tile", ())]  # such as RGB;16B
    return any(";16" in raw_mode for raw_mode in how_stored)


def _deep_colour(image: Image.Image, file: Path | BinaryIO) -> np.ndarray:
    """float64 (height, width, 3), 0 to 65535, on white where a PNG is transparent.

    Of another format than PNG, Pillow gives the upper 8 bits alone, which the largest value shows.
    """
    if image.format != "PNG":
        return np.asarray(image.convert("RGB"), np.float64) * 256 + 255
    if isinstance(file, Path):
        data = file.read_bytes()
    else:
        file.seek(0)
        data = file.read()
    import tensorflow as tf  # only here, where Pillow lacks a mode for such photos

    values = tf.io.decode_png(data, dtype=tf.uint16).numpy().astype(np.float64)
    if values.shape[2] in (1, 3):
        return np.broadcast_to(values, (*values.shape[:2], 3))
    opacity = values[..., -1:] / 65535
    # Transparent places become as light as the lightest of the others.
    colours = values[..., :-1] * opacity
    colours += (1 - opacity) * colours.max()
    return np.broadcast_to(colours, (*values.shape[:2], 3))


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


def said_of_white(peaks: Sequence[tuple[str, float]]) -> list[str]:
    """What there is to say about a set's photos of more than 8 bits; `peaks` as from `peak`."""
    lines = []
    for kind, value in white(peaks).items():
        lines.append(f"photos of more than 8 bits: {value:,.0f} is white in all of them")
        dark = sum(own == kind and largest < value / 16 for own, largest in peaks)
        if dark:
            lines.append(
                f"{dark:,} of these photos have no value above a sixteenth of that, so they will "
                "be almost black: if they have fewer bits than the others, convert them by "
                "themselves"
            )
    return lines


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
            rgb = _to_rgb(image, file, white or {})
    except Image.DecompressionBombError:
        raise PhotoError("more than 179 megapixels: save a smaller copy") from None
    except PhotoError:
        raise
    except UnidentifiedImageError:
        raise PhotoError(_unidentified(file)) from None
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, struct.error ...
        raise PhotoError(f"not a whole image ({error})") from None
    return [_square(rgb, size) for size in sizes]


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
    kind = format_of(begins)
    if kind in _UNREAD:
        return f"{kind}, which cannot be read here: save it as a JPEG"
    if kind in _NO_PHOTOS:
        return f"no photo but {kind}"
    what = kind or "of no known format"
    return f"not a whole image ({what})"


def jpeg(picture: Image.Image) -> bytes:
    """The picture as a JPEG file."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()


def _to_rgb(image: Image.Image, file: Path | BinaryIO, white: Mapping[str, float]) -> Image.Image:
    """The upright picture with 8 bits a value, on white where it is transparent."""
    if _is_deep_colour(image):
        orientation = image.getexif().get(_ORIENTATION, 1)
        values = _deep_colour(image, file)
        full = white.get(WHOLE) or _full(values.max())
        if image.format != "PNG" and full < 65535:
            raise PhotoError(
                f"a {image.format} of 16 bits a colour, of which only the upper 8 can be read, and "
                f"{full:,.0f} is white in these photos: save it as a PNG of 16 bits"
            )
        image = _of_eight_bits(values, full)
        image.getexif()[_ORIENTATION] = orientation
        return ImageOps.exif_transpose(image)
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith((WHOLE, SHARE)):  # which Pillow would cut off at 255
        values = np.asarray(image, dtype=np.float64)
        image = _of_eight_bits(values, white.get(image.mode[0]) or _full(values.max()))
    elif image.has_transparency_data:
        rgba = image.convert("RGBA")
        image = Image.new("RGB", rgba.size, "white")
        image.paste(rgba, mask=rgba.getchannel("A"))
    return image.convert("RGB")


def _of_eight_bits(values: np.ndarray, full: float) -> Image.Image:
    return Image.fromarray((values.clip(0, full) * (255 / full)).astype(np.uint8))


def _square(image: Image.Image, size: int) -> Image.Image:
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    box = (left, top, left + side, top + side)
    return image.resize((size, size), Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)

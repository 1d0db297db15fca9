"""The small picture that stands for a run on the page of many runs; its report keeps it."""

import base64
import io
import warnings
from pathlib import Path

from kernelkit import files
from kernelkit.runs import kit_folder

SIDE = 160  # pixels, the longer one
LARGEST = 4_000_000  # bytes


def keep(folder: Path, source: str) -> None:
    """Keep a small copy of a picture in the run's folder, for the page over all runs.

    `source`: its `data:` address. A picture that cannot be read, or a drawing, leaves none.
    """
    place = kit_folder.path(folder, kit_folder.THUMBNAIL)
    small = _smaller(source)
    if small:
        files.write_bytes(place, small)
    else:
        place.unlink(missing_ok=True)


def _smaller(source: str) -> bytes:
    """The copy as PNG; empty for a picture that cannot be read."""
    from PIL import Image

    encoded = source.partition(";base64,")[2]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            file = io.BytesIO(base64.b64decode(encoded))
            picture = Image.open(file, formats=["PNG", "JPEG", "WEBP"])
            picture.thumbnail((SIDE, SIDE))
        small = io.BytesIO()
        picture.convert("RGBA").quantize(64).save(small, format="PNG", optimize=True)
        return small.getvalue()
    except (OSError, ValueError, SyntaxError, Warning, Image.DecompressionBombError):
        return b""


def of_run(folder: Path) -> str:
    """The `data:` address of the small picture that is kept of a run; "" without one."""
    place = kit_folder.path(folder, kit_folder.THUMBNAIL)
    if not place.is_file() or place.stat().st_size > LARGEST:
        return ""
    return f"data:image/png;base64,{base64.b64encode(place.read_bytes()).decode()}"

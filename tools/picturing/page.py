"""A picture of the first screen of a page, by headless Chromium."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from kernelkit.errors import KernelkitError

SECONDS = 180  # that the browser may take
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
)
COLOURS = 200  # of the palette, with which a picture has a third of its size


def chromium(folder: str) -> list[str]:
    """The beginning of a command line for a headless Chromium that keeps its profile in `folder`.

    Raises `KernelkitError` where there is none.
    """
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        raise KernelkitError("no Chromium on this machine: apt-get install chromium")
    return [browser, *FLAGS, f"--user-data-dir={folder}/browser"]


def picture(page: Path, path: Path, width: int, height: int) -> Path:
    """Write the first `width` x `height` pixels of a page, light, as a PNG of few colours.

    Raises `KernelkitError` where there is no Chromium, or no such page.
    """
    if not page.is_file():
        raise KernelkitError(f"no page {page}")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        command = [
            *chromium(folder),
            "--hide-scrollbars",
            "--virtual-time-budget=5000",
            "--run-all-compositor-stages-before-draw",
            f"--screenshot={shot}",
            f"--window-size={width},{height}",
            page.resolve().as_uri(),
        ]
        subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
        with Image.open(shot) as image:
            few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            few.save(path, optimize=True)
    return path

"""README's animation: a notebook is checked, corrected, rehearsed, and its report is opened.

A stranger's notebook (`bikes/`) asks for a TPU that TensorFlow does not see, and reads a folder
that is not attached. What the terminal shows is what the commands wrote when this ran.
"""

import contextlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jupytext
import numpy as np
from PIL import Image

from kernelkit.errors import KernelkitError
from picturing import page, terminal
from picturing.readme import check_private, report_of

NOTEBOOK = Path(__file__).parent / "bikes" / "bikes.py"
METADATA = {
    "id": "you/bicycles-by-the-hour",
    "title": "Bicycles by the hour",
    "code_file": "bikes.ipynb",
    "language": "python",
    "kernel_type": "notebook",
    "enable_tpu": True,
    "enable_internet": False,
    "dataset_sources": ["you/bike-rentals"],
}
SCORE = '[tool.kernelkit.shown]\nscore = "validation RMSE"\nminimize = true\n'
# The corrections that `check` asks for.
TPU = re.compile(r"^try:\n    resolver.*?get_strategy\(\)\n", re.MULTILINE | re.DOTALL)
CORRECTED = (
    'import os\n\nos.environ["KERAS_BACKEND"] = "jax"\n',
    "/kaggle/input/datasets/you/bike-rentals",
)
WIDTH, HEIGHT = 900, 500  # pixels of the animation
MOST_LINES = 26  # of a terminal, so that they can be read
COLOURS = 128
TYPED = 0.9  # seconds that a command stands alone before its output comes
LARGEST = 1_500_000  # bytes
AROUND = '<body style="margin: 0; background: #292929"><img src="{}" style="width: 100%">'


@dataclass(frozen=True)
class Frame:
    """A picture, and the seconds that it stays."""

    picture: Image.Image
    seconds: float


def draw(path: Path) -> Path:
    """Make the animation, a GIF that repeats; returns its path.

    Raises `KernelkitError` where a command ends otherwise than it should, where there is no
    Chromium, or where the animation is too large.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        repository = Path("bikes")
        _write_repository(repository)
        with contextlib.chdir(repository):
            frames = list(_story())
    pictures = [frame.picture for frame in frames]
    palette = _beside(pictures).quantize(COLOURS)
    none = Image.Dither.NONE
    images = [picture.quantize(palette=palette, dither=none) for picture in pictures]
    durations = [round(1000 * frame.seconds) for frame in frames]
    images[0].save(
        path, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True
    )
    if path.stat().st_size > LARGEST:
        raise KernelkitError(f"{path} has over {LARGEST / 1e6} MB")
    return path


def _beside(pictures: list[Image.Image]) -> Image.Image:
    """Pictures side by side, from which one palette of all is made."""
    whole = Image.new("RGB", (WIDTH * len(pictures), HEIGHT))
    for number, picture in enumerate(pictures):
        whole.paste(picture, (WIDTH * number, 0))
    return whole


def _write_repository(folder: Path) -> None:
    """The notebook, its metadata, and hours that were never measured: 100 days of them."""
    inputs = folder / "input" / "datasets" / "you" / "bike-rentals"
    inputs.mkdir(parents=True)
    jupytext.write(jupytext.read(NOTEBOOK), folder / "bikes.ipynb")
    (folder / "kernel-metadata.json").write_text(json.dumps(METADATA, indent=2))
    (folder / "pyproject.toml").write_text(SCORE)
    random = np.random.default_rng(0)
    lines = ["season,hour,temperature,rented"]
    for day in range(100):
        season = "spring" if day < 50 else "autumn"
        warmth = random.normal(12 if season == "spring" else 8, 4)
        for hour in range(24):
            commuters = 220 * np.exp(-((hour - 8) ** 2) / 4) + 260 * np.exp(
                -((hour - 17.5) ** 2) / 6
            )
            rented = (commuters + 60) * (0.6 + warmth / 20) * (1.1 if season == "spring" else 0.8)
            count = max(0, round(rented * random.normal(1, 0.12)))
            lines.append(f"{season},{hour},{warmth:.1f},{count}")
    (inputs / "hours.csv").write_text("\n".join(lines) + "\n")


def _story() -> Iterator[Frame]:
    found, _ = _command("kernelkit check", exit_code=3, seconds=5.0)
    yield from found
    _correct(Path("bikes.ipynb"))
    rehearsed, lines = _command("kernelkit rehearse", exit_code=0, seconds=3.0)
    yield from rehearsed
    yield from _page(report_of(lines))


def _correct(notebook: Path) -> None:
    backend, folder = CORRECTED
    text = jupytext.writes(jupytext.read(notebook), fmt="py:percent")
    text = TPU.sub("strategy = tf.distribute.get_strategy()\n", text)
    text = text.replace("import matplotlib", f"{backend}\nimport matplotlib", 1)
    text = text.replace("/kaggle/input/bike-rental", folder)
    jupytext.write(jupytext.reads(text, fmt="py:percent"), notebook)


def _command(line: str, *, exit_code: int, seconds: float) -> tuple[list[Frame], list[str]]:
    """A command as it is typed and with what it wrote, and the lines that it wrote."""
    name, *arguments = line.split()
    command = [str(Path(sys.executable).with_name(name)), *arguments]
    lines = terminal.screen(terminal.record(command, exit_code=exit_code))
    shown = [text.replace(str(Path.cwd()), "/home/you/bikes") for text in lines]
    check_private(terminal.without_colours(shown))
    frames = [Frame(_terminal([], line), TYPED), Frame(_terminal(shown, line), seconds)]
    return frames, lines


def _terminal(lines: list[str], line: str) -> Image.Image:
    with tempfile.TemporaryDirectory() as folder:
        drawing = terminal.as_svg(lines[-MOST_LINES:], line, Path(folder, "terminal.svg"))
        around = Path(folder, "around.html")
        around.write_text(AROUND.format(drawing.as_uri()))
        shot = page.picture(around, Path(folder, "terminal.png"), WIDTH, HEIGHT)
        with Image.open(shot) as image:
            return image.convert("RGB")


def _page(report: Path) -> Iterator[Frame]:
    """The report, from its first screen to the second."""
    with tempfile.TemporaryDirectory() as folder:
        shot = page.picture(report, Path(folder, "report.png"), WIDTH, 2 * HEIGHT)
        with Image.open(shot) as image:
            whole = image.convert("RGB")
    yield Frame(whole.crop((0, 0, WIDTH, HEIGHT)), 2.2)
    steps = 8
    for step in range(1, steps + 1):
        top = round(HEIGHT * step / steps)
        yield Frame(whole.crop((0, top, WIDTH, top + HEIGHT)), 2.4 if step == steps else 0.1)

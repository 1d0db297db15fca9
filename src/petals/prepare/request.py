"""What `ingest.make_tfrecords` is asked for, checked without TensorFlow, whose import is slow."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from petals.errors import DataError, SettingError

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".7z", ".rar")


@dataclass(frozen=True, kw_only=True)
class IngestSettings:
    """How photos are converted to TFRecords.

    sizes   sides in pixels, each from 8 to 4096: every split is written in each size
    val     expected share of each class for validation
    test    expected share of each class for the test split; unused with test photos

    Raises `SettingError` for a value out of range.
    """

    sizes: Sequence[int] = (192,)
    val: float = 0.2
    test: float = 0.2

    def __post_init__(self) -> None:
        if not self.sizes or any(not 8 <= size <= 4096 for size in self.sizes):
            raise SettingError(f"sizes {list(self.sizes)}: give one or more from 8 to 4096 pixels")
        if self.val < 0 or self.test < 0 or self.val + self.test >= 1:
            raise SettingError(
                f"val {self.val} and test {self.test}: give shares whose sum is less than 1"
            )


def is_archive(path: Path) -> bool:
    """Whether a file is called like an archive."""
    return path.name.lower().endswith(_ARCHIVES) and path.is_file()


def check_folders(
    folder: Path, output: Path, labels: Path | None = None, test_photos: Path | None = None
) -> None:
    """Raise `DataError` if a folder of photos is not there, or contains the output.

    With `labels`, only the photos that they name count, so `folder` may contain it.
    """
    for place in filter(None, (folder, test_photos)):
        if is_archive(place):
            raise DataError(f"{place} is an archive: unpack it, and give the folder")
        if place.is_file():
            raise DataError(f"{place} is a file: give the folder of the photos")
        if not place.is_dir():
            raise DataError(f"no such folder: {place}")
        searched = place == test_photos or labels is None
        if searched and output.resolve().is_relative_to(place.resolve()):
            raise DataError(
                f"{output} is in the photos' folder {place}, so its files would count as photos: "
                "choose an output outside it"
            )

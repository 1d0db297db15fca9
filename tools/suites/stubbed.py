"""What kagglehub's unit tests expect of their stubs, as a catalogue of the local Kaggle."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

ACCOUNTS = {
    "test_auth.py": "",
    "test_dataset_load.py": "lastplacelarry",
    "test_dataset_upload.py": "jeward",
    "test_http_competition_download.py": "fakeUser",
    "test_http_dataset_download.py": "",
    "test_http_model_download.py": "",
    "test_http_notebook_output_download.py": "",
    "test_http_package_import.py": "",
    "test_model_upload.py": "metaresearch",
}
"""The unit tests that meet a stub of the API, and the account of each."""

KEYS = {"fakeUser": "fakeKaggleKey"}  # which the tests themselves set
TOKENS = {"some-token": "lastplacelarry"}
WRITTEN = datetime(2020, 3, 2, 2, 17, 12, tzinfo=UTC).timestamp()


def fill(folder: Path, data: Path) -> None:
    """Fill a catalogue from the folder with the data of kagglehub's tests."""
    text = {"foo.txt": data / "foo.txt"}
    spotify = "datasets/sarahjeffreson/featured-spotify-artiststracks-with-metadata"
    sticker = "kernels/khsamaha/simple-lightgbm-kaggle-sticker-sales-py"
    for place in ("competitions/titanic", spotify, f"{spotify}.versions/1", sticker):
        _copy(folder / place, text)
    _copy(folder / f"{sticker}.versions/1", text)
    shapes = {path.name: path for path in data.glob("shapes.*") if path.suffix != ".zip"}
    spreadsheet = {"my-spreadsheet.xlsx": data / "my-spreadsheet.xlsx"}
    _copy(folder / "datasets/lastplacelarry/fake-dataset", text | shapes | spreadsheet)
    llama = {name: data / name for name in ("config.json", "model.keras")}
    _copy(folder / "models/metaresearch/llama-2/pytorch/13b/3", llama)
    for archive, place in (
        ("archive.tar.gz", "models/testorg/testmodel/jax/too-many-files/1"),
        ("archive.zip", "models/testorg/testmodel/jax/zip/3"),
        ("archive.tar.gz", "competitions/competition-targz"),
        ("archive.tar.gz", "datasets/testuser/zip-dataset"),
        ("package-v1.zip", "kernels/dster/package-test.versions/1"),
        ("package-v2.zip", "kernels/dster/package-test"),
    ):
        shutil.unpack_archive(data / archive, folder / place)
    for path in folder.rglob("*"):
        os.utime(path, (WRITTEN, WRITTEN))


def _copy(folder: Path, files: dict[str, Path]) -> None:
    folder.mkdir(parents=True)
    for name, path in files.items():
        shutil.copy(path, folder / name)

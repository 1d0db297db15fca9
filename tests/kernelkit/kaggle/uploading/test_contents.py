"""Contents are the files that were found when they were made, and no others."""

import zipfile

import pytest

from kernelkit.errors import StorageError
from kernelkit.kaggle.uploading import versions
from kernelkit.kaggle.uploading.contents import Contents


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train/deep").mkdir(parents=True)
    (tmp_path / "train/deep/00.tfrec").write_text("rows")
    (tmp_path / "head.bin").write_text("weights")
    return tmp_path


def test_the_entries_at_the_top_are_files_and_folders_of_files(folder):
    entries = Contents.of_folder(folder).entries
    deep = folder / "train/deep/00.tfrec"
    assert entries == {"head.bin": folder / "head.bin", "train": {"deep/00.tfrec": deep}}


def test_a_file_that_comes_into_a_folder_later_is_not_sent(folder):
    entries = Contents.of_folder(folder).entries
    (folder / "train/later.txt").write_text("unseen")
    versions._pack(entries["train"], folder / "train.zip", bool)
    with zipfile.ZipFile(folder / "train.zip") as archive:
        assert archive.namelist() == ["deep/00.tfrec"]


@pytest.mark.parametrize("change", [lambda p: p.write_text("other"), lambda p: p.unlink()])
def test_a_change_is_noticed_from_the_beginning(folder, change):
    contents = Contents.of_folder(folder)
    contents.check_unchanged()
    change(folder / "head.bin")
    with pytest.raises(StorageError, match=r"head\.bin changed after it was read"):
        contents.check_unchanged()

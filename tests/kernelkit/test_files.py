"""A folder that users name is there, or cannot be: then in one line."""

import json

import pytest

from kernelkit import files
from kernelkit.errors import StorageError

IMPOSSIBLE = ["/proc/nothing/run", "file/run", "file", "loop/run", "x" * 300]


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize("take", [files.make_folder, files.check_folder])
@pytest.mark.parametrize("place", IMPOSSIBLE)
def test_a_place_where_no_folder_can_be(places, take, place):
    with pytest.raises(StorageError, match="choose another") as error:
        take(places / place)
    assert "\n" not in str(error.value)
    assert sorted(path.name for path in places.iterdir()) == ["file", "loop"]


def test_a_folder_that_cannot_be_written(places, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.tempfile, "TemporaryFile", refuse)
    with pytest.raises(StorageError, match="Permission denied"):
        files.check_folder(places / "deep" / "run")
    assert not (places / "deep").exists()


def test_looking_leaves_things_as_they_were(places):
    files.check_folder(places / "a" / "b")
    assert not (places / "a").exists()
    (places / "full").mkdir()
    (places / "full" / "thesis.txt").write_text("precious")
    files.check_folder(places / "full")
    assert [path.name for path in (places / "full").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 201 + "]" * 201])
def test_json_that_is_nested_too_deeply_is_not_parsed(text):
    with pytest.raises(ValueError, match="nested too deeply"):
        files.parse_json(text)


@pytest.mark.parametrize("levels", [1, 200])
def test_brackets_in_texts_nest_nothing(levels):
    text = "[" * levels + json.dumps('[{\\"[' * 500) + "]" * levels
    assert files.parse_json(text) == json.loads(text)


def test_what_a_killed_process_was_writing_is_cleared_and_nothing_else(tmp_path):
    names = [".train.ipynb.a1b2c3.part", "train.ipynb", ".hidden", "archive.zip.part"]
    for name in names:
        (tmp_path / name).write_text("")
    (tmp_path / ".folder.part").mkdir()
    files.clear_half_written(tmp_path, tmp_path / "not there")
    assert not (tmp_path / names[0]).exists()
    assert all((tmp_path / name).exists() for name in [*names[1:], ".folder.part"])


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (812, "812 bytes"),
        (34_400, "34 kB"),
        (999_700, "1.0 MB"),
        (1_540_000, "1.5 MB"),
        (999_970_000, "1.0 GB"),
        (30_000_000_000, "30.0 GB"),
        (406_000_000_000, "406.0 GB"),
        (1_200_000_000_000, "1.2 TB"),
    ],
)
def test_a_size_is_shown_in_the_unit_that_people_use(number, shown):
    assert files.size_of(number) == shown

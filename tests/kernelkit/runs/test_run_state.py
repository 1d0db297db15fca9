"""A run that goes on, told from its files: papermill's notebook and the lock."""

import threading

import pytest

from kernelkit import files
from kernelkit.runs import kit_folder, run_folder, run_state


def test_a_run_goes_on_while_its_command_holds_the_folder(tmp_path, printed):
    lock = kit_folder.path(tmp_path, kit_folder.LOCK)
    with files.try_lock(lock):
        assert not run_state.is_active(tmp_path)  # it has not begun
        printed(tmp_path)
        assert run_state.is_active(tmp_path)
    assert not run_state.is_active(tmp_path)  # killed


def test_a_run_that_nobody_here_could_lock_is_not_active_and_stays_as_it_is(
    tmp_path, printed, monkeypatch
):
    printed(tmp_path)
    assert not run_state.is_active(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [run_folder.PART]
    files.write_text(kit_folder.path(tmp_path, kit_folder.LOCK), "")

    def read_only(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(files, "try_lock", read_only)
    assert not run_state.is_active(tmp_path)


def test_a_look_at_a_folder_keeps_no_command_from_it(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "GLANCE_SECONDS", 60)  # however busy this machine is
    lock = kit_folder.path(tmp_path, kit_folder.LOCK)
    look = files.try_lock(lock)
    assert look.__enter__()
    threading.Timer(0.02, look.__exit__, (None, None, None)).start()
    with files.try_lock(lock) as free:
        assert free


def test_the_last_lines_are_as_a_terminal_would_show_them(tmp_path, printed):
    bar = "".join(f"\r{n}%|" for n in range(101)) + "\n"
    note = "I0000 00:00:1 7 tpu.cc:9] made\n"
    printed(
        tmp_path, "one\n", *(f"line {n}\n" for n in range(9)), bar, note, "\x1b[1mloss\x1b[0m 0.4\n"
    )
    began, log = run_state.activity(tmp_path)
    assert began == 1793534400
    assert log.splitlines() == ["line 6", "line 7", "line 8", "100%|", "loss 0.4"]


@pytest.mark.parametrize("text", ["{", "[]", '{"metadata": {}}'])
def test_a_notebook_that_cannot_be_read_shows_nothing(tmp_path, text):
    assert run_state.activity(tmp_path) == (0.0, "")
    (tmp_path / run_folder.PART).write_text(text)
    assert run_state.activity(tmp_path) == (0.0, "")

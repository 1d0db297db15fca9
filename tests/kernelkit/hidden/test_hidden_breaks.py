"""What of a notebook only fits the public test set, as its failure and its submission show it."""

from pathlib import Path

import pytest

from kernelkit.hidden.hidden_breaks import in_failure, in_submission
from kernelkit.hidden.public_and_hidden import PublicAndHidden
from kernelkit.session_records.failure import RunFailure

PUBLIC, HIDDEN = [f"a{n:02d}" for n in range(7)], [f"b{n:02d}" for n in range(30)]


def sets(**changes):
    values = {"public": Path("public"), "hidden": Path("hidden"), **changes}
    return PublicAndHidden(PUBLIC, HIDDEN, **values)


def failure(error):
    return RunFailure("code cell 4 failed:", "", f"File /x/y.py:1\n----> 3 look()\n\n{error}")


def test_a_file_that_only_the_public_folder_has_is_said_to_be_one(tmp_path):
    for name in ("public", "hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "public/extra.npy").write_bytes(b"")
    error = "FileNotFoundError: [Errno 2] No such file or directory: '/kaggle/input/c/x/{}'"
    places = {"public": tmp_path / "public", "hidden": tmp_path / "hidden"}
    (only,) = in_failure(failure(error.format("extra.npy")), sets(**places))
    assert only == "extra.npy is among the public files, and the hidden ones lack it"
    assert in_failure(failure(error.format("other.npy")), sets(**places)) == []
    assert in_failure(failure("KeyError: 'b11'"), sets(**places)) == []
    assert in_failure(None, sets(**places)) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(one, 1) for one in HIDDEN], ""),
        ([(one, 1) for one in PUBLIC], "7 of its ids are those of the public test set"),
        ([(one, 1) for one in HIDDEN[1:]], "it lacks 1 of 30 ids, such as 'b00'"),
        ([(one, 1) for one in [*HIDDEN, "b03"]], "1 rows more than ids, such as those of 'b03'"),
        ([(one, "" if one == "b02" else 1) for one in HIDDEN], "1 predictions are empty"),
        (
            [(f"{one}.0", 1) for one in HIDDEN],
            "30 of its ids are not in the hidden test set, such as 'b00.0'",
        ),
        ([("c", 1), *((one, 1) for one in HIDDEN[1:])], "1 of its ids are not in the hidden"),
    ],
)
def test_what_is_wrong_with_a_submission_is_said(tmp_path, rows, said):
    file = tmp_path / "submission.csv"
    file.write_text("id,kind\n" + "".join(f"{one},{kind}\n" for one, kind in rows))
    problems = in_submission(file, sets())
    assert bool(problems) == bool(said)
    assert not said or problems[0].startswith(f"submission.csv: {said}")

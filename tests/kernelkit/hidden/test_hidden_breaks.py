"""What of a notebook only fits the public test set, as its failure and its submission show it."""

from pathlib import Path

import pytest

from kernelkit.hidden.hidden_breaks import in_failure, in_submission
from kernelkit.hidden.public_and_hidden import PublicAndHidden
from kernelkit.runs.log import RunFailure

PUBLIC, HIDDEN = [f"a{n:02d}" for n in range(7)], [f"b{n:02d}" for n in range(30)]


def sets(**changes):
    values = {"public": Path("public"), "hidden": Path("hidden"), **changes}
    return PublicAndHidden(PUBLIC, HIDDEN, **values)


def failure(error, line="look()"):
    traceback = f"File /x/y.py:1\n----> 3 {line}\n\n{error}"
    return RunFailure("code cell 4 failed:", "", traceback)


@pytest.mark.parametrize(
    ("error", "line", "said"),
    [
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '/kaggle/input/x/extra.npy'",
            "np.load(path)",
            "the file /kaggle/input/x/extra.npy is missing",
        ),
        ("AssertionError", "assert len(test) == n", "a row count is asserted: assert len(test)"),
        (
            "ValueError: Length of values (7) does not match length of index (30)",
            "sub['kind'] = out",
            "something has 7 rows, as many as the public test set",
        ),
        ("KeyError: 'a03'", "row['a03']", "the id 'a03' of the public test set is asked for"),
        (
            "KeyError: 'b11'",
            "fold[one]",
            "'b11' of the hidden set is looked up where only others are",
        ),
    ],
)
def test_a_failure_is_explained_with_its_cell_and_line(error, line, said):
    (only,) = in_failure(failure(error, line), sets())
    assert only.startswith("code cell 4, line 3: ")
    assert said in only
    assert line[:20] in only


def test_a_file_that_only_the_public_folder_has_is_said_to_be_one(tmp_path):
    for name in ("public", "hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "public/extra.npy").write_bytes(b"")
    error = "FileNotFoundError: [Errno 2] No such file or directory: '/kaggle/input/c/x/extra.npy'"
    places = {"public": tmp_path / "public", "hidden": tmp_path / "hidden"}
    (only,) = in_failure(failure(error), sets(**places))
    assert "extra.npy is missing, which is among the public files only" in only


def test_a_failure_of_another_kind_is_not_explained():
    assert in_failure(failure("ZeroDivisionError: division by zero"), sets()) == []
    assert in_failure(None, sets()) == []


def test_a_line_of_a_plain_traceback_is_the_notebooks_own():
    traceback = (
        'Traceback (most recent call last):\n  File "/x/site-packages/grpc/_server.py", line 608, '
        'in call\n    answer()\n  File "/tmp/ipykernel_5/22.py", line 4, in predict\n'
        "    age = ages[one]\nKeyError: 'b05'"
    )
    (only,) = in_failure(RunFailure("", "", traceback), sets())
    assert only.startswith("line 4 of predict(): 'b05' of the hidden set")
    assert only.endswith(": age = ages[one]")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(one, 1) for one in HIDDEN], ""),
        ([(one, 1) for one in PUBLIC], "its 7 ids are those of the public test set"),
        ([(one, 1) for one in HIDDEN[:7]], "it has 7 rows, as many as the public test set"),
        ([(one, 1) for one in HIDDEN[1:]], "it lacks 1 of 30 ids, such as 'b00'"),
        ([(one, 1) for one in [*HIDDEN, "b03"]], "1 rows more than ids, such as those of 'b03'"),
        ([(one, "" if one == "b02" else 1) for one in HIDDEN], "1 predictions are empty"),
        ([(f"{one}.0", 1) for one in HIDDEN], "its ids are decimals"),
        ([("c", 1), *((one, 1) for one in HIDDEN[1:])], "1 of its ids are not in the hidden"),
    ],
)
def test_what_is_wrong_with_a_submission_is_said(tmp_path, rows, said):
    file = tmp_path / "submission.csv"
    file.write_text("id,kind\n" + "".join(f"{one},{kind}\n" for one, kind in rows))
    problems = in_submission(file, sets())
    assert bool(problems) == bool(said)
    assert not said or problems[0].startswith(f"submission.csv: {said}")

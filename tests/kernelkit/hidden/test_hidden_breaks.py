"""What of a notebook only fits the public test set, as its text and its failures show it."""

import json
from pathlib import Path

import pytest

from kernelkit.hidden.hidden_breaks import cells_of, in_code, in_failure, in_submission
from kernelkit.hidden.public_and_hidden import PublicAndHidden
from kernelkit.runs.log import RunFailure

PUBLIC, HIDDEN = [f"a{n:02d}" for n in range(7)], [f"b{n:02d}" for n in range(30)]


def sets(**changes):
    values = {"public": Path("public"), "hidden": Path("hidden"), **changes}
    return PublicAndHidden(PUBLIC, HIDDEN, **values)


def found(*sources, **changes):
    cells = [{"cell_type": "code", "id": "bundle-1", "source": "a03 = 7"}]
    cells += [{"cell_type": "code", "id": str(n), "source": s} for n, s in enumerate(sources)]
    return in_code(cells_of(json.dumps({"cells": cells})), (), sets(**changes))


ROWS = 312
MANY = [f"c{n:03d}" for n in range(ROWS)]


def found_in_modules(*modules, public_ids=MANY, code=(), **changes):
    values = {"public": Path("public"), "hidden": Path("hidden"), **changes}
    return in_code(code, modules, PublicAndHidden(public_ids, HIDDEN, **values))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("assert len(test) == 312", "312 rows are asserted, and the hidden set has 30"),
        ("out = np.zeros((312, 104))", "312 rows are hard-coded"),
        ("first = test[test.id == 'c003']", "'c003' of the public test set is hard-coded"),
    ],
)
def test_what_breaks_is_found_in_a_bundled_module_with_file_and_line(line, said):
    text = f"# Of c003 and 312 rows.\n\n\ndef predict(test):\n    {line}\n"
    (only,) = found_in_modules(("plant/clean.py", "x = 1"), ("plant/predict.py", text))
    assert only.startswith(f"plant/predict.py, line 5: {said}")
    assert only.endswith(f": {line}")


def test_a_constant_of_a_module_is_found_where_others_use_it():
    settings = ("plant/settings.py", "ROWS: int = 312\nwidth = 312")
    users = [
        ("plant/of_name.py", "from plant.settings import ROWS\nout = np.zeros(ROWS)"),
        ("plant/of_module.py", "out = np.zeros(settings.ROWS)"),
        ("plant/other.py", "out = np.zeros(width)"),  # a name of its own
    ]
    code = [("code cell 1", "out = np.zeros(ROWS)")]
    places = [line.partition(":")[0] for line in found_in_modules(settings, *users, code=code)]
    assert places == [
        "code cell 1, line 1",
        "plant/of_name.py, line 2",
        "plant/of_module.py, line 1",
    ]


@pytest.mark.parametrize(
    "text", ["axes = (0, 1, 2)", "sizes = [64, 128, 256]", "for n in range(7): pass"]
)
def test_small_numbers_of_a_module_are_no_ids_and_no_row_counts(text):
    assert found_in_modules(("m.py", text), public_ids=[str(n) for n in range(ROWS)]) == []
    assert found_in_modules(("m.py", text), public_ids=PUBLIC) == []


def test_a_cut_message_and_a_step_of_a_range_are_no_row_counts():
    ids = MANY[:200]
    texts = ("first = str(error)[:200]", "for begin in range(0, len(photos), 200): pass")
    assert (
        found_in_modules(*((f"{n}.py", text) for n, text in enumerate(texts)), public_ids=ids) == []
    )
    assert len(found_in_modules(("m.py", "for n in range(0, 200, 2): pass"), public_ids=ids)) == 1
    assert len(found_in_modules(("m.py", "first = test[:312]"))) == 1


def test_numbers_of_a_module_that_are_ids_are_found():
    ids = [str(n) for n in range(5000, 5300)]
    (only,) = found_in_modules(("m.py", "x = [5001, 5002, 5003]"), public_ids=ids)
    assert only.startswith("m.py, line 1: 3 ids of the public test set are hard-coded")


def test_a_module_that_is_no_python_is_left_out():
    assert found_in_modules(("m.py", "print 312"), ("n.py", "a\0b")) == []


@pytest.mark.parametrize(
    "line",
    [
        "assert len(test) == 7",
        "assert test.shape[0] == 7, 'rows'",
        "assert (7, 3) == test.shape",
        "if len(test) != 7: raise ValueError",
        "out = np.zeros(7)",
        "out = np.full((7, 104), 0.5)",
        "out = [0] * 7",
        "first = test[:7]",
        "for n in range(7): pass",
        "test = pd.read_csv(file, nrows=7)",
        "answer = model.predict(x).reshape(7, 104)",
        "a = test.head(n=7)",
    ],
)
def test_a_row_count_is_found_with_its_line(line):
    (only,) = found("import numpy as np", f"x = 1\n{line}")
    assert only.startswith("code cell 2, line 2: 7 rows are ")
    assert "the hidden set has 30" in only
    assert only.endswith(line[:60])


def test_a_row_count_with_a_name_is_found_where_it_is_used():
    (only,) = found("ROWS = 7", "out = np.zeros(ROWS)")
    assert only.startswith("code cell 2, line 1: 7 rows are hard-coded")


@pytest.mark.parametrize(
    "line",
    [
        "if len(test) == 7: epochs = 1",  # a short run on the public set, as many notebooks have
        "seed = 7",
        "model.fit(x, epochs=7)",
        "assert len(train) == 600",
        "out = np.zeros(len(test))",
        "x = depth * 7",
        "%matplotlib inline",
    ],
)
def test_what_is_no_row_count_is_left_alone(line):
    assert found(line) == []


def test_ids_of_the_public_test_set_are_found_in_the_notebooks_own_cells():
    (only,) = found("x = 1\nrow = test[test.id == 'a03']")
    assert only == (
        "code cell 1, line 2: 'a03' of the public test set is hard-coded: "
        "row = test[test.id == 'a03']"
    )
    assert found("person = 'P0007'", public_names={"P0007"})


def test_predictions_by_position_are_found_where_the_orders_differ():
    cells = (
        "sub = pd.read_csv(root / 'sample_submission.csv')",
        "sub['kind'] = model.predict(test)",
        "sub['kind'] = sub['id'].map(answers)",
    )
    (only,) = found(*cells, in_order=False)
    assert only.startswith(
        "code cell 2, line 1: predictions are put into the sample submission row"
    )
    assert found(*cells) == []


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

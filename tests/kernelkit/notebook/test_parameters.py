import ast
import datetime
import math
import re
import sys
from pathlib import Path

import pytest

from kernelkit.errors import NotebookError, ParameterError
from kernelkit.notebook.interface.parameters import declared
from kernelkit.notebook.interface.values import (
    assignments,
    for_json,
    resolve,
    source_of,
    values_in,
)
from kernelkit.project import Project

CELL = """
epochs = 5  # >= 0: passes over the photos
dropout = 0.3  # [0, 1): share left out
rate: float = 1e-3  # > 0
device = "auto"  # auto | tpu | cpu: what must be there
part = "none"  # none | all | last:N | block:NAME: what is trained
weights = "auto"  # auto | none | FILE: what it knows
loud = False  # true | false: whether to talk
plain = True
sizes = [1, 2]  # any list
note = "a | b"  # text: a | b is no rule after a colon
anything = None
tight = "a"  # a | b|c
share = 0.5  # [.1, 1E0]
step = 0.1  # 1e-1 | .01 | 1
count = None  # > 3
word = "1"  # 1 | 2
optimizer = "SGD"  # SGD | ADAM: what are choices, though in capitals
fold = "all"  # all | fold:K/N
"""
KNOWN = declared(CELL)


@pytest.mark.parametrize("words", ["True | False", "False | True: a quick run", "on | off"])
def test_two_words_beside_a_switch_are_prose(words):
    found = declared(f"debug = True  # {words}")["debug"]
    assert [found.parse(text) for text in ("true", "False")] == [True, False]


def test_defaults_and_types_come_from_the_cell():
    assert declared(CELL, Project(Path())) == KNOWN
    assert [p.default for p in KNOWN.values()][:3] == [5, 0.3, 1e-3]
    assert KNOWN["epochs"].rule == ">= 0"
    assert KNOWN["device"].rule == "auto | tpu | cpu"
    assert KNOWN["plain"].rule == KNOWN["note"].rule == KNOWN["sizes"].rule == ""


def test_the_ends_of_a_range_or_of_choices_that_are_numbers():
    found = {name: parameter.ends for name, parameter in KNOWN.items()}
    everything = -math.inf, math.inf
    assert (found["epochs"], found["count"]) == ((0, math.inf), (3, math.inf))
    assert (found["dropout"], found["share"], found["step"]) == ((0, 1), (0.1, 1), (0.01, 1))
    assert found["device"] == found["part"] == found["plain"] == everything
    assert declared("fold = 0  # <= 4")["fold"].ends == (-math.inf, 4)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("epochs=7", 7),
        ("dropout=0", 0.0),
        ("device=tpu", "tpu"),
        ("part=last:12", "last:12"),
        ("part=block:conv5", "block:conv5"),
        ("loud=true", True),
        ("plain=False", False),
        ("sizes=[3]", [3]),
        ("note=x=y", "x=y"),
        ("note=5", "5"),
        ("weights=a/b.h5", "a/b.h5"),
        ("optimizer=ADAM", "ADAM"),
        ("fold=fold:0/5", "fold:0/5"),
        ("anything=word", "word"),
        ("tight=c", "c"),
        ("step=0.01", 0.01),
        ("step=1", 1.0),
        ("rate=inf", math.inf),
        ("sizes=[inf, -inf]", [math.inf, -math.inf]),
        ("anything=inf", "inf"),
        ("anything={{3}}", "{{3}}"),
    ],
)
def test_values_on_a_command_line(text, value):
    (parsed,) = resolve(KNOWN, [text]).values()
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epoch=7", "no parameter 'epoch': did you mean epochs?"),
        ("zzz=7", "it takes epochs, dropout,.* or "),
        ("epochs=many", "epochs='many' has the wrong type: a whole number is needed, like 5"),
        ("epochs=true", "wrong type"),
        ("epochs=-1", "epochs=-1 is not allowed: it takes >= 0"),
        ("dropout=1", r"dropout=1.0 is not allowed: it takes \[0, 1\)"),
        ("dropout=nan", "dropout: nan is not a number: leave it out"),
        ("sizes=[1, nan]", "sizes: nan is not a number"),
        ("sizes={{3}}", r"sizes='\{\{3\}\}' has the wrong type: a list is needed"),
        (f"sizes={'[' * 5000}", "sizes='.*' has the wrong type"),
        (f"epochs={'-' * 100_000}1", "epochs='.*' has the wrong type"),
        ("rate=0", "it takes > 0"),
        ("share=.05", r"it takes \[\.1, 1E0\]"),
        ("step=0.2", "it takes 1e-1"),
        ("word=1.0", r"word='1.0' is not allowed: it takes 1 \| 2"),
        ("device=gpu", r"it takes auto \| tpu \| cpu"),
        ("part=last:0", "not allowed"),
        ("part=block:", "not allowed"),
        ("optimizer=ADMA", r"optimizer='ADMA' is not allowed: it takes SGD \| ADAM"),
        ("fold=0/5", r"it takes all \| fold:K/N"),
        ("loud=maybe", "true or false"),
        ("epochs", "write it as name=value"),
        ("epochs=1 epochs=2", "given twice"),
        ("count=y", "count='y' is not allowed: it takes > 3"),
    ],
)
def test_a_value_that_does_not_fit_is_one_clear_line(text, message):
    with pytest.raises(ParameterError, match=message) as error:
        resolve(KNOWN, re.split(" (?=epochs)", text))
    assert "\n" not in str(error.value)


def test_a_notebook_without_a_parameters_cell_is_told_how_to_tag_one():
    with pytest.raises(ParameterError, match=r'begin one with `# %% tags=\["parameters"\]`'):
        resolve({}, ["epochs=1"])


def test_typed_values_are_checked_like_texts():
    assert resolve(KNOWN, {"dropout": 0, "epochs": 3}) == {"dropout": 0.0, "epochs": 3}
    with pytest.raises(ParameterError, match="wrong type"):
        resolve(KNOWN, {"epochs": "3"})


NAN = float("nan")


@pytest.mark.parametrize(
    "values",
    [
        {"dropout": NAN},
        {"anything": NAN},
        {"sizes": [1, NAN]},
        {"sizes": [(1, [NAN])]},
        {"sizes": [{"a": NAN}]},
        {"sizes": [{NAN: "a"}]},
        {"sizes": [{1, NAN}]},
        {"sizes": [complex(0, NAN)]},
    ],
)
def test_what_is_not_a_number_is_refused_wherever_it_is(values):
    (name,) = values
    with pytest.raises(ParameterError, match=f"^{name}: nan is not a number"):
        resolve(KNOWN, values)


@pytest.mark.parametrize("values", [{"anything": "DAY"}, {"sizes": ["DAY"]}])
def test_a_date_as_yaml_reads_it_is_no_literal(values):
    day = datetime.date(2026, 11, 27)
    dated = {name: day if value == "DAY" else [day] for name, value in values.items()}
    with pytest.raises(ParameterError, match=r"2026-11-27 is read as a date.*: write it in quotes"):
        resolve(KNOWN, dated)


ODD = [
    math.inf,
    -math.inf,
    [math.inf, [-math.inf]],
    (math.inf,),
    (1, (-math.inf, "inf")),
    (),
    {"a": math.inf, 0: {"b": [(math.inf,)]}},
    {math.inf},
    {("a", 1): -0.0},
    set(),
    complex(1, math.inf),
    b"\0",
    "\0\n'\"",
    ...,
    None,
]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_the_source_of_a_value_is_read_as_the_same_value(value):
    assert repr(ast.literal_eval(source_of(value))) == repr(value)
    assert values_in(assignments({"x": value})) == {"x": value}


def test_the_source_of_a_set_is_the_same_in_every_process():
    assert source_of({"b", "a", "c"}) == "{'a', 'b', 'c'}"


def test_values_that_json_does_not_hold_are_there_as_their_source():
    held = {"size": (1, 2), "name": "x", "rate": math.inf, "tree": {"a": [None, True]}}
    others = {"names": {"a"}, "raw": b"x", "rates": {1: 2}, "pairs": [{(1, 2): 3}]}
    assert for_json(held | others) == held | {
        "names": "{'a'}",
        "raw": "b'x'",
        "rates": "{1: 2}",
        "pairs": "[{(1, 2): 3}]",
    }


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("a = (", "the parameters cell"),
        ("a = \0", "the parameters cell"),
        (f"a = {'(' * 5000}", "the parameters cell"),
        (f"a = {'-' * 100_000}1", "the parameters cell"),
        ("a = 1.5  # [0, 1]: share", "a=1.5 is not allowed"),
    ],
)
def test_a_cell_that_is_no_interface(cell, message):
    with pytest.raises((NotebookError, ParameterError), match=message):
        declared(cell, Project(Path()))


@pytest.mark.parametrize(
    ("cell", "settable", "computed"),
    [
        ("import os\nx = 1", ["x"], ["os"]),
        ("batch = 16 * 8\nx = 1", ["x"], ["batch"]),
        ("root = '/in'\npath = f'{root}/x'", ["root"], ["path"]),
        ("limit = float('inf')", [], ["limit"]),
        ("a, b = 1, 2", [], ["a", "b"]),
        ("%matplotlib inline\nx = 1", ["x"], []),
        ('"""Settings."""\nx: int = 1', ["x"], []),
        ("x = 1\nx = 2", ["x"], []),
        ("x = 1\nx = x + 1", [], ["x"]),
        ("a = {[1]: 2}", [], ["a"]),
        ("if True:\n    y = 1", [], ["y"]),
        ("x = 1\nif fast:\n    x = 2", [], ["x"]),
        ("x = 1\ndef f():\n    x = 2", ["x"], ["f"]),
        ("x = 1\nclass A:\n    x = 2", ["x"], ["A"]),
        ("x = 1\nasync def f(y): pass", ["x"], ["f"]),
        ("x = 1\ny = [x for x in range(3)]", ["x"], ["y"]),
        ("x = 1\ny = lambda: [x for x in ()]", ["x"], ["y"]),
    ],
)
def test_what_papermill_accepts_passes_and_only_literals_can_be_set(cell, settable, computed):
    parameters = declared(cell, Project(Path()))
    assert list(parameters) == settable
    for name in computed:
        with pytest.raises(ParameterError, match=f"{name!r} cannot be set: line .* computes it"):
            resolve(parameters, [f"{name}=3"])


def test_the_last_of_two_defaults_counts():
    assert declared("x = 1\nx = 2")["x"].default == 2


@pytest.mark.parametrize(
    "line",
    [
        "limit = 10  # int | None: rows to read",
        "name = 'a'  # str | None",
        "frame = 'a'  # pd.DataFrame | list[int]",
        "command = 'x'  # as in grep foo | wc -l",
        "columns = ['a', 'b']  # a | b | c",
        "size = 5  # small | large",
        "mode = 'Val'  # val | all",
        "mode = 'b'  # one of a | b",
        "limit = None  # int | None",
    ],
)
def test_a_comment_that_is_no_rule(line):
    (parameter,) = declared(line, Project(Path())).values()
    assert parameter.rule == ""


def test_a_list_serves_a_tuple():
    parameters = declared("size = (224, 224)", Project(Path()))
    assert resolve(parameters, {"size": [299, 299]}) == {"size": (299, 299)}
    assert resolve(parameters, ["size=[1, 2]"]) == {"size": (1, 2)}


def test_a_cell_that_only_a_newer_python_reads_is_refused_where_this_one_is_older():
    cell = 'epochs = 3\nlabel = f"{names["red"]}"\n'
    if sys.version_info < (3, 12):
        with pytest.raises(NotebookError, match="cannot read the parameters cell, line 2"):
            declared(cell)
    else:
        assert list(declared(cell)) == ["epochs"]

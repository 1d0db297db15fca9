from pathlib import Path

import pytest

from kernelkit.errors import NotebookError, ParameterError
from kernelkit.notebook.parameters import declared, resolve
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
"""
KNOWN = declared(CELL)


def test_defaults_and_types_come_from_the_cell():
    assert declared(CELL, Project(Path())) == KNOWN
    assert [p.default for p in KNOWN.values()][:3] == [5, 0.3, 1e-3]
    assert KNOWN["epochs"].rule == ">= 0"
    assert KNOWN["device"].rule == "auto | tpu | cpu"
    assert KNOWN["plain"].rule == KNOWN["note"].rule == KNOWN["sizes"].rule == ""


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
        ("anything=word", "word"),
        ("tight=c", "c"),
        ("step=0.01", 0.01),
        ("step=1", 1.0),
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
        ("dropout=nan", "wrong type"),
        ("rate=0", "it takes > 0"),
        ("share=.05", r"it takes \[\.1, 1E0\]"),
        ("step=0.2", "it takes 1e-1"),
        ("word=1.0", r"word='1.0' is not allowed: it takes 1 \| 2"),
        ("device=gpu", r"it takes auto \| tpu \| cpu"),
        ("part=last:0", "not allowed"),
        ("part=block:", "not allowed"),
        ("loud=maybe", "true or false"),
        ("epochs", "write it as name=value"),
        ("epochs=1 epochs=2", "given twice"),
        ("count=y", "count='y' is not allowed: it takes > 3"),
    ],
)
def test_a_value_that_does_not_fit_is_one_clear_line(text, message):
    with pytest.raises(ParameterError, match=message) as error:
        resolve(KNOWN, text.split())
    assert "\n" not in str(error.value)


def test_a_notebook_without_a_parameters_cell_is_told_how_to_tag_one():
    with pytest.raises(ParameterError, match=r'begin one with `# %% tags=\["parameters"\]`'):
        resolve({}, ["epochs=1"])


def test_typed_values_are_checked_like_texts():
    assert resolve(KNOWN, {"dropout": 0, "epochs": 3}) == {"dropout": 0.0, "epochs": 3}
    with pytest.raises(ParameterError, match="wrong type"):
        resolve(KNOWN, {"epochs": "3"})
    with pytest.raises(ParameterError, match="not a number"):
        resolve(KNOWN, {"dropout": float("nan")})


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("import os", "line 1 of the parameters cell is not"),
        ("a = 1\na = 2", "assigns a twice"),
        ("a = (", "not Python"),
        ("a = {[1]: 2}", "line 1 of the parameters cell is not"),
        ("a = 1\nb = 'Val'  # val | all", "b='Val' is not allowed: it takes val"),
        ("a = 1.5  # [0, 1]: share", "a=1.5 is not allowed"),
    ],
)
def test_a_cell_that_is_no_interface(cell, message):
    with pytest.raises((NotebookError, ParameterError), match=message):
        declared(cell, Project(Path()))

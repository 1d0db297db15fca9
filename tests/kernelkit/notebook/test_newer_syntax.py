"""Syntax of Kaggle's Python at a desk with an older one."""

import ast

import pytest

from kernelkit.notebook import document
from kernelkit.notebook.modules import needed, parsed

ACCEPTED = (
    'f"{petals["red"]}"',
    "f\"{'\\n'.join(petals)}\"",
    'f"{\n    petals  # of one flower\n}"',
    'f"{petals["red"]!r:>{widths["red"]}}"',
    'f"{petals["red"] = }"',
    'f"{a != b["c"]}" "{"',
    'f"{f"{f"{1}"}"}"',
    'rf"\\d{petals["red"]}"',
    'f"{{}} \\N{EM DASH} {petals["red"]}" # {',
    'x = "f\'{" + f"{petals["red"]}"',
    "type Rows[T, **P] = list[T]\ntype(Rows)",
    "def bloom[\n    T: (int, str)\n](petals: T) -> T:\n    return petals",
    "class Flower[T](Plant):\n    pass",
)


@pytest.mark.parametrize("source", ACCEPTED)
@pytest.mark.parametrize("before", ["", "!pip list\n"])
def test_what_kaggles_python_accepts_is_no_finding(source, before):
    assert document.syntax_error("a", before + source, cell=True) == ("", False)


@pytest.mark.parametrize(
    "source",
    [
        'f"{petals["red"]" + "b"',
        'f"{petals red["a"]}"',
        'f"{petals["red"]!z}"',
        'f"{}{petals["red"]}"',
        'x = = f"{petals["red"]}"',
        'f"{petals["red"]:"}',
        "def bloom[](petals): pass",
        "type = = int",
        'f"{' * 1000,
        'x = = f"' + "{a:" * 1000 + '"',
    ],
)
def test_what_no_python_accepts_is_an_error(source):
    message, newer = document.syntax_error("a", source, cell=True)
    assert message.startswith("a, line 1: ")
    assert "{0}" not in message
    assert not newer


def test_what_only_some_of_kaggles_images_accept_is_said():
    message, newer = document.syntax_error("a", "class Flower[T = int]:\n    pass", cell=True)
    assert newer == bool(message)  # it is none where the desk has Python 3.13
    assert not message or message.endswith("(Python 3.13 accepts it; some of Kaggle's may be 3.12)")


def test_code_in_newer_syntax_is_read_with_its_lines():
    source = (
        'name = f"{petals[\n    "red"\n]}"\n'
        "import rose\n"
        "type Rows = list\n"
        "def bloom[T](petals: T):\n    import tulip\n"
        'where = f"/kaggle/input/garden/{petals["red"]}.csv"'
    )
    assert needed([("a", source)]) == {"rose": "a, line 4", "tulip": "a, line 7"}
    texts = [node.value for node in ast.walk(parsed(source)) if isinstance(node, ast.Constant)]
    assert "/kaggle/input/garden/" in texts


def test_newer_syntax_in_the_parameters_cell_leaves_the_others_settable():
    from kernelkit.notebook.parameters import declared

    assert list(declared('epochs = 3\nlabel = f"{names["red"]}"\n')) == ["epochs"]

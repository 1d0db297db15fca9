"""What Python wants first in a script is divided from the rest."""

import pytest

from kernelkit.notebook import scripts


@pytest.mark.parametrize(
    ("script", "first", "rest"),
    [
        ("from __future__ import annotations; import os\nx = 1\n", 1, "import os\nx = 1\n"),
        (
            '"""\nfrom __future__ import a\n"""\nx = 1\n',
            1,
            '"""\nfrom __future__ import a\n"""',
        ),
        ('"""é"""; from __future__ import annotations\nx = 1\n', 2, '"""é"""; \nx = 1\n'),
        ("from __future__ import (\n    annotations,\n)  # a\nx = 1\n", 1, "  # a\n\n\nx = 1\n"),
        ("from __future__ import division\nfrom __future__ import division\n", 1, "\n\n"),
        ("x = (\n", 0, "x = (\n"),
    ],
    ids=["semicolon", "docstring", "after a docstring", "lines", "twice", "no Python"],
)
def test_future_imports_are_divided_from_a_script(script, first, rest):
    found, left = scripts.divided(script)
    assert len(found) == first
    assert left.startswith(rest)
    assert left.count("\n") == script.count("\n")

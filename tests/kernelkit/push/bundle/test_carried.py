"""A bundle, read back from what Kaggle stores."""

import pytest

from kernelkit.notebook.document import SCRIPT_BEGINS, literal
from kernelkit.push.bundle.carried import carried


@pytest.mark.parametrize("text", ["\nx = 1\n", "\n\n", "x = 1", "", "'''\\n\"\"\"\t\x0c\n"])
def test_a_carried_file_comes_back_as_it_was(text):
    stored = f'_carry("a.py", "hash", {literal(text)})\n{SCRIPT_BEGINS}\n'
    assert carried(stored) == {"a.py": text}

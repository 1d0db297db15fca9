"""Imports are read as Python would meet them."""

import pytest

from kernelkit.notebook.modules import needed


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "from numpy.linalg import norm",
        "class A:\n    def f(self):\n        from numpy import nan",
        "try:\n    import torch\nexcept ImportError:\n    import numpy",
        "try:\n    import numpy\nexcept OSError:\n    pass",
        "try:\n    pass\nfinally:\n    import numpy",
        "%matplotlib inline\n  \nimport numpy",
        "!ls /kaggle/input\nthis is no Python\nimport numpy, numpy.linalg",
        "files = !ls\nimport numpy as np  # arrays\ntext = '''\nfrom the start of it\n'''",
    ],
)
def test_what_code_cannot_do_without_is_needed(source):
    assert set(needed([("cell", source)])) == {"numpy"}


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None",
        "try:\n    import numpy\nexcept (OSError, ModuleNotFoundError):\n    pass",
        "try:\n    import numpy\nexcept:\n    pass",
        "with contextlib.suppress(ImportError):\n    import numpy",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy",
        "try:\n    import numpy\nexcept* ImportError:\n    pass",
        "if find_spec('numpy') is None:\n    pass\nelse:\n    import numpy",
        "from . import numpy",
    ],
)
def test_what_code_can_do_without_is_not(source):
    assert "numpy" not in needed([("cell", source)])


@pytest.mark.parametrize("source", ["import json\nx = '\0'", "import json\nx = " + "(" * 10**5])
def test_what_cannot_be_read_is_read_as_far_as_it_goes(source):
    assert list(needed([("cell", source)])) == ["json"]


def test_the_first_place_is_told():
    assert needed([("a", "\n\nimport numpy"), ("b", "import numpy")]) == {"numpy": "a, line 3"}
    assert needed([("a", "!x y\nno python\nimport numpy")]) == {"numpy": "a, line 3"}

"""A list of Kaggle's ends, whatever its pages say."""

import itertools
from types import SimpleNamespace

import pytest

from kernelkit.kaggle import client
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.kernels import Kernels
from kernelkit.kaggle.transport.failures import Failure, FailureKind


@pytest.mark.parametrize(
    ("until", "kind", "most"), [(None, FailureKind.MALFORMED, 60), (0.0, FailureKind.NETWORK, 1)]
)
def test_a_list_without_an_end_is_given_up(monkeypatch, until, kind, most):
    monkeypatch.setattr(client, "MOST_PAGES", 60)
    numbers = itertools.count()

    def page(*_, **__):
        number = next(numbers)
        file = SimpleNamespace(file_name=f"{number}.bin", url="")
        return SimpleNamespace(files=[file], log="", next_page_token=f"page-{number}")

    monkeypatch.setattr(Kernels, "list_kernel_session_output", page)
    with pytest.raises(Failure, match=r"its pages (have no end|did not end in time)") as caught:
        Kaggle(SimpleNamespace(username="me")).outputs(Kernel("me", "blossom"), 1, until)
    assert caught.value.kind is kind
    assert next(numbers) <= most

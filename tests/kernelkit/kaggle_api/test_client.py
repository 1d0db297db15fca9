"""A list of Kaggle's ends, whatever its pages say."""

import itertools
from types import SimpleNamespace

import pytest

from kernelkit.kaggle_api import client
from kernelkit.kaggle_api.client import Kaggle, Kernel
from kernelkit.kaggle_api.retries import Clock, Failure, FailureKind, Retries

KERNEL = Kernel("me", "blossom")


@pytest.fixture
def endless():
    """A Kaggle whose every page has a new file and a token to one more page."""
    numbers = itertools.count()

    def page(request):
        number = next(numbers)
        file = SimpleNamespace(file_name=f"{number}.bin", name=f"{number}.bin", url="", size=1)
        return SimpleNamespace(files=[file], log="", next_page_token=f"page-{number}")

    api = SimpleNamespace(list_kernel_session_output=page, list_kernel_files=page)
    services = SimpleNamespace(kernels=SimpleNamespace(kernels_api_client=api))
    connection = SimpleNamespace(services=services, ask=lambda method, call: call())
    return Kaggle(connection, Retries(clock=Clock(speed=50)))


@pytest.mark.parametrize("ask", [Kaggle.outputs, Kaggle.sizes])
def test_a_list_without_an_end_is_given_up(endless, monkeypatch, ask):
    monkeypatch.setattr(client, "MOST_PAGES", 50)
    with pytest.raises(Failure, match="pages have no end") as caught:
        ask(endless, KERNEL, 1)
    assert caught.value.kind is FailureKind.MALFORMED


def test_a_list_without_an_end_ends_at_the_deadline(endless, monkeypatch):
    monkeypatch.setattr(client, "MOST_PAGES", 10**9)
    with pytest.raises(Failure, match="in time") as caught:
        endless.outputs(KERNEL, 1, endless.retries.clock.now() + 5)
    assert caught.value.kind is FailureKind.NETWORK


def test_a_list_whose_pages_hold_nothing_new_is_given_up_soon(endless, monkeypatch):
    calls = []

    def empty(request):
        calls.append(request)
        return SimpleNamespace(files=[], log="", next_page_token=f"page-{len(calls)}")

    api = endless.connection.services.kernels.kernels_api_client
    monkeypatch.setattr(api, "list_kernel_session_output", empty)
    with pytest.raises(Failure, match="its pages have no end"):
        endless.outputs(KERNEL, 1)
    assert len(calls) < 20

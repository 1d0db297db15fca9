import pytest

from kernelkit.errors import CredentialsError
from kernelkit.push.known.push_context import PushContext


@pytest.fixture
def no_account(monkeypatch):
    """A machine without credentials for Kaggle."""

    def refuse(context, rehearsal=None):
        raise CredentialsError("no token")

    monkeypatch.setattr(PushContext, "connect", refuse)

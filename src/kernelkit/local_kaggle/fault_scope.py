"""The fault that the request under way is to show, for those answers that differ in content."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kernelkit.local_kaggle.faults import Fault, FaultKind

_fault: ContextVar[Fault | None] = ContextVar("fault", default=None)


@contextmanager
def showing(fault: Fault | None) -> Iterator[None]:
    """Make `fault` the current one; threads that starlette starts inherit it."""
    token = _fault.set(fault)
    try:
        yield
    finally:
        _fault.reset(token)


def current_fault() -> FaultKind | None:
    """The kind of fault that this request is to show, if any."""
    fault = _fault.get()
    return fault.kind if fault else None

"""Typed errors and the exit codes they end a command with.

| code | meaning |
|---|---|
| 0 | complete |
| 1 | an error of the kit itself (please report it) |
| 2 | usage, or a parameter that the notebook does not take |
| 3 | preflight: the push would fail or run on the wrong thing |
| 4 | credentials missing or not accepted |
| 5 | refused by Kaggle, or no capacity (session cap, quota) |
| 6 | the run failed |
| 7 | the deadline passed and the run is still alive |
| 8 | the network gave up |
| 9 | outputs incomplete |
| 10 | the accelerator is not the one asked for |
| 11 | data or weights missing or damaged |
| 12 | a file could not be written |
| 130 | interrupted |
"""

from __future__ import annotations


class KernelkitError(Exception):
    """Base of all errors raised on purpose; the message says what to do next."""

    exit_code = 1


class ParameterError(KernelkitError):
    """A parameter is unknown, of the wrong type or out of range."""

    exit_code = 2


class NotebookError(KernelkitError):
    """A notebook is missing, unreadable or lacks what a run needs."""

    exit_code = 2


class PreflightError(KernelkitError):
    """The push would be refused, or would run without what it needs."""

    exit_code = 3


class CredentialsError(KernelkitError):
    """No credentials, or Kaggle does not accept them."""

    exit_code = 4


class RefusedError(KernelkitError):
    """Kaggle answered and said no."""

    exit_code = 5


class CapacityError(RefusedError):
    """No session or no quota is free for this run."""


class RunFailedError(KernelkitError):
    """The notebook ran and did not reach its end."""

    exit_code = 6


class DeadlineError(KernelkitError):
    """The deadline passed while the run was alive; it goes on without us."""

    exit_code = 7


class NetworkError(KernelkitError):
    """The network, or the server behind it, did not answer usefully in time."""

    exit_code = 8


class OutputsError(KernelkitError):
    """Not all outputs of the run could be brought home intact."""

    exit_code = 9


class AcceleratorMismatchError(KernelkitError):
    """The run had another accelerator than the one asked for."""

    exit_code = 10


class StorageError(KernelkitError):
    """A file could not be written: the disk is full or the folder read-only."""

    exit_code = 12

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
| 13 | still running or waiting, for a command that does not wait |
| 14 | a program does not fit the TPU's memory, or its compiler refuses it |
| 15 | the TPU's compiler cannot be had on this machine |
| 130 | interrupted |

The name of a notebook's exception is the reason why the run ended, and the command ends with the
code of that name, at home as after a push: `SettingError` 2, `AcceleratorError` 10, `DataError`,
`WeightsError`, `CheckpointError` and `WheelsError` 11, `StorageError` 12. Any other exception is
code 6.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping


def choice_of(choices: Iterable[object]) -> str:
    """The choices as a sentence names them: `auto, tpu or cpu`."""
    *first, last = map(str, choices)
    return f"{', '.join(first)} or {last}" if first else last


def nearest(value: object, choices: Collection[object]) -> str:
    """A hint for a value that is not among the choices: the nearest choice, or all of them."""
    numbers = [c for c in choices if isinstance(c, int | float)]
    if isinstance(value, int | float) and numbers:
        return f"did you mean {min(numbers, key=lambda choice: abs(choice - value))}?"
    lowered = {str(choice).lower(): choice for choice in choices}
    near = difflib.get_close_matches(str(value).lower(), lowered, n=1)
    return f"did you mean {lowered[near[0]]}?" if near else f"it takes {choice_of(choices)}"


class KernelkitError(Exception):
    """Base of all errors raised on purpose; the message names the next step."""

    exit_code = 1
    announced = False  # whether an event has carried the message already


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
    """Kaggle answered and refused the request."""

    exit_code = 5


class CapacityError(RefusedError):
    """No session or no quota is free for this run."""


class RunFailedError(KernelkitError):
    """The notebook ran and did not reach its end."""

    exit_code = 6


class DataError(RunFailedError):
    """Data or weights that the run needs are missing or damaged."""

    exit_code = 11


class DeadlineError(KernelkitError):
    """The deadline passed while the run was alive; it goes on without us."""

    exit_code = 7


class StillRunningError(KernelkitError):
    """A run or a queued push is not over yet, and the command was not to wait for it."""

    exit_code = 13


class NetworkError(KernelkitError):
    """The network, or the server behind it, did not answer usefully in time."""

    exit_code = 8


class OutputsError(KernelkitError):
    """Not all outputs of the run could be brought home intact."""

    exit_code = 9


class KernelBusyError(PreflightError):
    """The kernel has a session already, and another would run beside it."""


class AcceleratorMismatchError(KernelkitError):
    """The run had another accelerator than the one asked for."""

    exit_code = 10


class StorageError(KernelkitError):
    """A file could not be written: the disk is full or the folder read-only."""

    exit_code = 12


class NoLocalKaggleError(KernelkitError):
    """A rehearsal needs local_kaggle, which is not installed."""

    exit_code = 2

    def __init__(
        self,
        message: str = "a rehearsal needs local_kaggle, a wheel of its own beside kernelkit's: "
        "pip install local_kaggle-*.whl",
    ) -> None:
        super().__init__(message)


class DoesNotFitError(KernelkitError):
    """The TPU's compiler refuses a program, mostly because the memory of a chip is too small."""

    exit_code = 14


class NoCompilerError(KernelkitError):
    """The TPU's compiler does not exist for this machine, or its environment was not made."""

    exit_code = 15


OF_NOTEBOOKS: Mapping[str, type[KernelkitError]] = {
    "AcceleratorError": AcceleratorMismatchError,
    "CheckpointError": DataError,
    "DataError": DataError,
    "SettingError": ParameterError,
    "StorageError": StorageError,
    "WeightsError": DataError,
    "WheelsError": DataError,
}
_EXCEPTION = re.compile(r"(?:\w+\.)*(\w+(?:Error|Exception|Interrupt|Exit))\b")


def of_traceback(traceback: str) -> tuple[type[KernelkitError], str]:
    """The error that a notebook's traceback stands for, and the lines with its message."""
    lines = traceback.strip().splitlines()
    for number in reversed(range(len(lines))):
        if exception := _EXCEPTION.match(lines[number]):
            message = "\n".join(lines[number:])
            return OF_NOTEBOOKS.get(exception[1], RunFailedError), message
    return RunFailedError, lines[-1] if lines else ""


def of_exit_code(code: int | None) -> type[KernelkitError]:
    """The error of a run whose process ended with this exit code."""
    kinds = {kind.exit_code: kind for kind in OF_NOTEBOOKS.values()}
    return kinds.get(code or 0, RunFailedError)

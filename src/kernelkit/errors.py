"""Typed errors and the exit codes that they give a command, by the room `exits`.

| code | meaning |
|---|---|
| 0 | complete |
| 1 | an error in the kit itself (please report it) |
| 2 | wrong usage, or a parameter that the notebook does not take |
| 3 | preflight: the push would fail, run on the wrong machine or data, or repeat one or its run |
| 4 | credentials missing or not accepted |
| 5 | refused by Kaggle, or no capacity (session cap, quota) |
| 6 | the run failed |
| 7 | the deadline passed and the run is still alive |
| 8 | the network gave up |
| 9 | files incomplete or not verified |
| 10 | the run got a different accelerator from the one requested |
| 11 | data or weights missing or damaged |
| 12 | a file could not be written, or not be read for want of permission |
| 13 | still running or queued, from a command that does not wait |
| 14 | a program does not fit the TPU's memory, or the TPU's compiler rejects it |
| 15 | the TPU's compiler is not available on this machine |
| 130 | interrupted by Ctrl-C; any other signal gives 128 + its number |

The name of a notebook's exception decides the exit code of the command, after a local run as after
a push: `SettingError` 2, `AcceleratorError` 10, `DataError`, `WeightsError`, `CheckpointError` and
`WheelsError` 11, `StorageError` 12. Any other exception gives code 6.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping


def choice_of(choices: Iterable[object]) -> str:
    """The choices as part of a sentence: `auto, tpu or cpu`."""
    *first, last = map(str, choices)
    return f"{', '.join(first)} or {last}" if first else last


def near(value: object, choices: Iterable[object]) -> str:
    """The choice that an invalid value is a misspelling of; "" if it is like none of them."""
    lowered = {str(choice).lower(): choice for choice in choices}
    found = difflib.get_close_matches(str(value).lower(), lowered, n=1)
    return str(lowered[found[0]]) if found else ""


def nearest(value: object, choices: Collection[object]) -> str:
    """A hint for an invalid value: the nearest choice, or all choices if none is near."""
    meant = near(value, choices)
    return f"did you mean {meant}?" if meant else f"it takes {choice_of(choices)}"


class KernelkitError(Exception):
    """Base class of all errors raised on purpose; the message says what to do next."""

    exit_code = 1
    announced = False  # whether an event has already shown the message


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
    """The notebook started but did not finish."""

    exit_code = 6


class DataError(RunFailedError):
    """Data or weights that the run needs are missing or damaged."""

    exit_code = 11


class DeadlineError(KernelkitError):
    """The deadline passed while the run was still active; the run continues on Kaggle."""

    exit_code = 7


class StillRunningError(KernelkitError):
    """A run or a push that waits has not finished, and the command does not wait for it."""

    exit_code = 13


class NetworkError(KernelkitError):
    """The network, or the server behind it, gave no usable answer in time."""

    exit_code = 8


class OutputsError(KernelkitError):
    """Files are missing, or are not proved to be those of the run or those that were sent."""

    exit_code = 9
    is_final = False  # whether another attempt would end in the same way


class KernelBusyError(PreflightError):
    """The kernel already has a session, and a second one would run at the same time."""


class AcceleratorMismatchError(KernelkitError):
    """The run got a different accelerator from the one requested."""

    exit_code = 10


class StorageError(KernelkitError):
    """A file could not be written: the disk is full or the folder read-only."""

    exit_code = 12


class DoesNotFitError(KernelkitError):
    """The TPU's compiler rejects a program, usually because it needs more memory than a chip
    has."""

    exit_code = 14


class NoCompilerError(KernelkitError):
    """The TPU's compiler does not exist for this machine, or its environment has not been
    created."""

    exit_code = 15


NOT_VISIBLE = "Kaggle has no {}, or this account cannot see it"
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
    """The type of error that a notebook's traceback means, and the lines of its message."""
    lines = traceback.strip().splitlines()
    for number in reversed(range(len(lines))):
        if exception := _EXCEPTION.match(lines[number]):
            message = "\n".join(lines[number:])
            return OF_NOTEBOOKS.get(exception[1], RunFailedError), message
    return RunFailedError, lines[-1] if lines else ""

"""Errors that a user can mend: each message says what is wrong and what to do next."""

from __future__ import annotations


class PetalsError(Exception):
    """Base of all errors that `petals` raises on purpose.

    `exit_code` is what a command line tool ends with when it meets the error.
    """

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        """Jupyter's hook: a user's mistake is shown as its message, not as a traceback."""
        return [f"{type(self).__name__}: {self}"]


class SettingError(PetalsError, ValueError):
    """A setting has a value that nothing here can work with."""

    exit_code = 2


class AcceleratorError(PetalsError):
    """The accelerator that was asked for is not there."""

    exit_code = 10


class HostsError(PetalsError):
    """Not all hosts of a run are there, or one of them is gone."""

    exit_code = 6


class DataError(PetalsError):
    """Data is missing, damaged, or not what its name says."""

    exit_code = 11


class WeightsError(PetalsError):
    """A weights file is missing or belongs to another model."""

    exit_code = 11


class CheckpointError(PetalsError):
    """A checkpoint that was asked for is missing, damaged or of another run."""

    exit_code = 11


class StorageError(PetalsError):
    """A file could not be written: the disk is full or the folder read-only."""

    exit_code = 12

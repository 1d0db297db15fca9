"""Errors that a user can fix: each message says what is wrong and what to do next."""

from collections.abc import Sequence

MOST_NAMED = 8  # names in a message


def listed(names: Sequence[str]) -> str:
    """The first of these names as part of a sentence, and how many more there are."""
    text = ", ".join(names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{text} and {more:,} more" if more > 0 else text


class PetalsError(Exception):
    """Base class of all errors that `petals` raises on purpose.

    `exit_code` is the exit code of a command-line tool that ends with the error.
    """

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        """Jupyter's hook: show a user's mistake as a message instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class SettingError(PetalsError, ValueError):
    """A setting has an invalid value."""

    exit_code = 2


class AcceleratorError(PetalsError):
    """The requested accelerator is not available."""

    exit_code = 10


class HostsError(PetalsError):
    """A host of the run is missing or was lost."""

    exit_code = 6


class DataError(PetalsError):
    """Data is missing, damaged, or not what its name says."""

    exit_code = 11


class WeightsError(PetalsError):
    """A weights file is missing or belongs to another model."""

    exit_code = 11


class CheckpointError(PetalsError):
    """A requested checkpoint is missing, damaged or from another run."""

    exit_code = 11


class DivergedError(PetalsError):
    """The model's probabilities or features are not finite numbers."""

    exit_code = 6


class StorageError(PetalsError):
    """A file could not be written: the disk is full or the folder read-only."""

    exit_code = 12

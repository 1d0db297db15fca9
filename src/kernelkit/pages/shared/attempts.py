"""One page or one run at a time: what fails with it may cost neither the others nor the run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelkit.errors import KernelkitError, NotebookError, StorageError
from kernelkit.exits.unusable_files import unusable


def attempt(
    function: Callable[..., Any], path: Path, *arguments: Any
) -> tuple[Any, KernelkitError | None]:
    """What `function` returns and None, or None and the error, whatever it is.

    That of an exception of another library names `path`, the first argument.
    """
    try:
        return function(path, *arguments), None
    except KernelkitError as error:
        return None, error
    except OSError as error:
        error.filename = error.filename or str(path)
        return None, StorageError(unusable(error))
    except Exception as error:  # nbconvert and jinja raise a dozen kinds
        return None, NotebookError(f"{path}: {type(error).__name__}: {error}")

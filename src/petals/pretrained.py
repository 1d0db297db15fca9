"""Pretrained weights that Keras downloads, and what a run does where they cannot be had."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any, TextIO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from petals.errors import PetalsError, WeightsError
from petals.kaggle import at_the_desk, on_kaggle

SERVER = "https://storage.googleapis.com"  # which has the weights of keras.applications
PATIENCE = 20  # seconds for its answer
LONGEST_REASON = 200  # characters of what stopped a download
ANNOUNCEMENT = "Downloading data from"  # what Keras says before it knows whether it can


class _Announced(io.TextIOBase):
    """Passes text on to a stream, Keras's announcement only with the download's first progress."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.held = ""

    def write(self, text: str) -> int:
        if text.startswith(ANNOUNCEMENT):
            self.held = text
        else:
            self.stream.write(self.held + text)
            self.held = ""
        return len(text)

    def flush(self) -> None:
        self.stream.flush()


def kept_by_keras(file: str) -> bool:
    """Whether an earlier download left a file of weights of this name in Keras's own folder."""
    home = Path(os.environ.get("KERAS_HOME", "~/.keras")).expanduser()
    return (home / "models" / file).is_file()


def ask_for_server() -> None:
    """Raise `OSError` unless the server that Keras downloads weights from answers at all."""
    with suppress(HTTPError):  # an answer too
        urlopen(Request(SERVER, method="HEAD"), timeout=PATIENCE).close()


def _reason(error: Exception) -> str:
    """An error in one line: its message, since Keras raises a bare `Exception`, or its name."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:LONGEST_REASON].rstrip(" .")


def downloaded(
    build: Callable[[], Any], name: str, files: str = "its weights", *, chosen: bool = True
) -> Any:
    """What `build` returns, which downloads weights from ImageNet; None if a run can do without.

    `name`: of the network; `files`: the names of the files with its weights; `chosen`: whether the
    user asked for these weights. If not, a run at the desk can go on without: a small network
    learns from scratch instead. Otherwise raises `WeightsError`. Errors of petals pass.
    """
    try:
        with redirect_stdout(_Announced(sys.stdout)):
            return build()
    except PetalsError:
        raise
    except Exception as error:  # urllib, http and ssl raise different kinds
        if at_the_desk() and not chosen:
            return None
        # A session, rehearsed or not, does not have the local folders.
        attach = f"Attach a Kaggle dataset or model with {files}"
        way = attach if on_kaggle() else f"Put {files} into weights/"
        raise WeightsError(
            f"the ImageNet weights of {name} could not be downloaded: {_reason(error)}. "
            f"{way}, or set weights='none'"
        ) from None

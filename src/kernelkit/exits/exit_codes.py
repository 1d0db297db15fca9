"""How every command ends: an error gives one message and a code, a signal 128 + its number."""

import contextlib
import functools
import io
import json
import os
import sys
from collections.abc import Callable
from typing import ParamSpec

import click

from kernelkit.exits.signals import EndedBySignal, unwinding
from kernelkit.exits.unusable_files import UNWRITABLE, unusable
from kernelkit.terminal import safe_text

P = ParamSpec("P")

HELP = {"help_option_names": ["-h", "--help"]}  # of a command's `context_settings`
INTERRUPTED = 130
CANNOT_WRITE = 12


def exits_with_code(command: Callable[P, object]) -> Callable[P, None]:
    """Turn errors that carry an `exit_code` into one message on stderr and that code.

    Works for any such exception, so that tools of either package can use it. With `as_json`, the
    message is an event on stdout, unless an earlier event has already shown it.
    """

    @functools.wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None:  # whoever started the command has closed it, as `>&-` does
                stream = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
                setattr(sys, name, stream)
            if isinstance(stream, io.TextIOWrapper):  # never fail on encoding
                stream.reconfigure(errors="backslashreplace")
        try:
            with unwinding():
                command(*args, **kwargs)
        except EndedBySignal as ended:
            _say_last(f"ended by {ended.name}")
            raise
        except KeyboardInterrupt:
            _say_last("interrupted")
            sys.exit(INTERRUPTED)
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            click.echo(f"error: {unusable(error)}, or choose another folder", err=True)
            sys.exit(CANNOT_WRITE)
        except Exception as error:
            code = getattr(error, "exit_code", None)
            if not isinstance(code, int) or isinstance(error, click.ClickException):
                raise
            announced = getattr(error, "announced", False)
            if kwargs.get("as_json") and not announced:
                click.echo(json.dumps({"event": "error", "text": str(error), "exit_code": code}))
            elif not announced:
                click.echo(f"error: {safe_text.plain(str(error))}", err=True)
            sys.exit(code)

    return wrapper


def _say_last(line: str) -> None:
    """Write a line to stderr, if the terminal is still there: SIGHUP says that it was closed."""
    with contextlib.suppress(OSError):
        click.echo(line, err=True)

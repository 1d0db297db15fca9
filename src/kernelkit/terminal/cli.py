"""What every tool does alike: report an error in one message and end with its exit code."""

from __future__ import annotations

import errno
import functools
import io
import json
import sys
from collections.abc import Callable
from typing import ParamSpec

import click

from kernelkit.terminal import safe_text, signals

P = ParamSpec("P")

INTERRUPTED = 130
CANNOT_WRITE = 12
UNWRITABLE = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EILSEQ, errno.ELOOP,
)  # fmt: skip


def reports_errors(command: Callable[P, object]) -> Callable[P, None]:
    """Turn errors that carry an `exit_code` into one message on stderr and that code.

    Works on any such exception, so that tools over either package can use it. For a command
    that is given `as_json` the message is an event on stdout, unless one has told it already.
    """

    @functools.wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a letter that it lacks is no error
                stream.reconfigure(errors="backslashreplace")
        try:
            with signals.unwinding():
                command(*args, **kwargs)
        except signals.EndedBySignal as ended:
            click.echo(f"ended by {ended.name}", err=True)
            raise
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            where = f": {safe_text.one_line(str(error.filename)[:200])}" if error.filename else ""
            click.echo(f"error: cannot write{where} ({error.strerror}). "
                       "Free some space or choose another folder.", err=True)  # fmt: skip
            sys.exit(CANNOT_WRITE)
        except Exception as error:
            code = getattr(error, "exit_code", None)
            if not isinstance(code, int) or isinstance(error, click.ClickException):
                raise
            if kwargs.get("as_json") and not getattr(error, "told", False):
                event = {"event": "error", "text": str(error), "exit_code": code}
                click.echo(json.dumps(event))
            elif not getattr(error, "told", False):
                click.echo(f"error: {safe_text.plain(str(error))}", err=True)
            sys.exit(code)

    return wrapper

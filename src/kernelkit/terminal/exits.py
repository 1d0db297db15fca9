"""How a command is found, and how every command ends.

Errors become one message and an exit code, signals become an exit.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import FrameType
from typing import Any, ParamSpec

import click

from kernelkit.terminal import safe_text

P = ParamSpec("P")

HELP = {"help_option_names": ["-h", "--help"]}  # of a command's `context_settings`
INTERRUPTED = 130
AGAIN_SECONDS = 0.02
CANNOT_WRITE = 12
NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
UNWRITABLE = NO_SPACE | {
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
    errno.ENAMETOOLONG,
    errno.EILSEQ,
    errno.ELOOP,
}
# A terminal sends SIGHUP when it closes; Windows has no such signal.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class LazyGroup(click.Group):
    """A group that imports the module of a command when the command is called, or for its help.

    groups  {title in the help: {name of a command: the module of `package` that has it}}
    """

    def __init__(
        self,
        name: str,
        package: str,
        groups: Mapping[str, Mapping[str, str]],
        **settings: Any,
    ) -> None:
        self.package = package
        self.groups = groups
        self.modules = {name: at for group in groups.values() for name, at in group.items()}
        # click suggests the nearest of these names.
        super().__init__(name, dict.fromkeys(self.modules, click.Command(None)), **settings)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands' names, in the order of the help."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name, or None."""
        if cmd_name not in self.modules:
            return None
        module = import_module(f"{self.package}.{self.modules[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, with their full first sentences."""
        for title, names in self.groups.items():
            commands = filter(None, (self.get_command(ctx, name) for name in names))
            rows = [(str(each.name), each.get_short_help_str(200)) for each in commands]
            with formatter.section(title):
                formatter.write_dl(rows)


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


def unusable(error: OSError) -> str:
    """What a system error means, with the file and what to do, in one line.

    Except for a full disk it is not known whether the file was to be read or written.
    """
    name = safe_text.one_line(str(error.filename or "a file")[:200])
    reason = error.strerror or error
    if error.errno in NO_SPACE:
        return f"cannot write {name} ({reason}): free some space"
    return f"cannot use {name} ({reason}): correct its path or permissions"


class EndedBySignal(SystemExit):
    """Raised at whatever point the signal arrives; the exit code is 128 + the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number
        self.name = signal.Signals(number).name


def _interrupt(thread: int, number: int) -> None:
    """Send a thread a signal; unlike `_thread.interrupt_main`, this cuts a `time.sleep` short."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, number)
    else:  # Windows
        signal.raise_signal(number)


@contextlib.contextmanager
def unwinding() -> Iterator[None]:
    """During a block, a signal that would end this process raises `EndedBySignal` instead.

    So servers and the processes that they started are closed on the way out. Signals that are
    already ignored (`nohup`) or handled stay so, and outside the main thread nothing changes. A
    second signal during the shutdown is ignored. Ctrl-C is not lost in a finalizer either.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _frame: FrameType | None) -> None:
        for each in handled:
            signal.signal(each, signal.SIG_IGN)
        raise EndedBySignal(number)

    def again(unraisable: sys.UnraisableHookArgs) -> None:
        # Python drops exceptions raised inside a finalizer: raise it again afterwards.
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            number: int = signal.SIGINT
        elif isinstance(unraisable.exc_value, EndedBySignal):
            number = unraisable.exc_value.number
            signal.signal(number, end)
        else:
            hook(unraisable)
            return
        threading.Timer(AGAIN_SECONDS, _interrupt, (threading.get_ident(), number)).start()

    hook = sys.unraisablehook
    sys.unraisablehook = again
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number in handled:
            signal.signal(number, signal.SIG_DFL)

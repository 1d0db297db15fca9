"""How a notebook's process is started, and what stands between it and the terminal.

C++ libraries bypass Jupyter and write straight to the terminal that started the process, and they
write some lines at every logging level.
"""

import contextlib
import os
import secrets
import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TextIO

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from traitlets import Type

from kernelkit.errors import RunFailedError
from kernelkit.terminal import safe_text
from kernelkit.terminal.live_line import LiveLine

MOST_LINES = 100_000  # of which is known by which way they came
LAST_LINES_SECONDS = 5.0  # for which the end of a run waits for its last lines


class ShownOnce:
    """Lines that arrive by two ways: what a child process writes reaches the terminal by the
    kernel's own streams, and by Jupyter's messages.

    One way may be `MOST_LINES` different lines ahead of the other.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # {line: how much oftener it has come by the stream than by messages}, the latest last
        self._ahead: OrderedDict[str, int] = OrderedDict()

    def is_new(self, line: str, way: str) -> bool:
        """Whether a line, which has just come by one `way`, is still to be shown.

        It is if it has come oftener by this way than by the other; ways are "stream" and "message".
        """
        step = 1 if way == "stream" else -1
        with self._lock:
            ahead = self._ahead.pop(line, 0) + step
            if ahead:
                self._ahead[line] = ahead
            if len(self._ahead) > MOST_LINES:
                self._ahead.popitem(last=False)
        return ahead * step > 0


ON_STDOUT, ON_STDERR = ShownOnce(), ShownOnce()  # what reaches stdout and stderr


class AwakeChannel(AsyncZMQSocketChannel):
    """A channel that looks for answers after it has sent something.

    Nbclient answers an Output widget of ipywidgets while it waits for the end of the cell. Such a
    sending swallows the news of an end that has just arrived, and the wait had no end.
    """

    def send(self, msg: dict[str, Any]) -> None:
        """Send as the base class does."""
        super().send(msg)
        socket: Any = self.socket
        socket._schedule_remaining_events()


class AwakeClient(AsyncKernelClient):
    """A client of a kernel with such a channel for requests."""

    shell_channel_class = Type(AwakeChannel)

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait as the base class does; raises `RunFailedError` if the kernel does not start."""
        try:
            await super().wait_for_ready(timeout)
        except RuntimeError as error:
            raise RunFailedError(
                f"the notebook's process did not start ({error}): see what it said above"
            ) from None


class Passage:
    """A pipe into which a process writes, and a thread that passes its lines on until `end`.

    write   the end of the pipe for the process
    stream  where the lines are shown; None shows none
    shown   what else reaches that stream
    """

    def __init__(self, stream: TextIO | None, shown: ShownOnce) -> None:
        read, self.write = os.pipe()
        self._stream = stream
        self._shown = shown
        self._mark = secrets.token_hex(16)  # the line after which none is passed on
        self._passed = threading.Event()
        threading.Thread(target=self._pass_on, args=(read,), daemon=True).start()

    def end(self) -> None:
        """Stop once all is passed on that has been written so far."""
        with contextlib.suppress(OSError):  # of a thread that could not show a line
            os.write(self.write, f"{self._mark}\n".encode())
        os.close(self.write)
        self._passed.wait(LAST_LINES_SECONDS)

    def _pass_on(self, descriptor: int) -> None:
        with os.fdopen(descriptor, encoding="utf-8", errors="replace", newline="\n") as lines:
            for line in lines:
                before, mark, _ = line.rstrip("\n").partition(self._mark)
                if before or not mark:
                    self._show(safe_text.plain(before))
                if mark:
                    break
            self._passed.set()
            for _ in lines:  # so that nobody who still writes has to wait
                pass

    def _show(self, text: str) -> None:
        if safe_text.note_level(text) or text.startswith("[IPKernelApp]"):
            return
        if safe_text.is_step(text):  # it comes as a message, too
            return
        if self._stream and self._shown.is_new(text, "stream"):
            LiveLine(self._stream).stay(text)


class FilteredKernel(AsyncKernelManager):
    """Starts a kernel as Jupyter does; its own lines on stdout and stderr are passed on one by one.

    They are those of C++ libraries and child processes, also where the kernel dies before Jupyter
    tells them.
    """

    client_factory = Type(AwakeClient)
    shows_output = True
    _passages: Sequence[Passage] = ()  # of stdout and stderr, from the start to the end

    @property
    def kernel_spec(self) -> KernelSpec:
        """The Python that runs the kit: a kernelspec of the machine may name another."""
        return KernelSpec(**get_kernel_dict())

    async def shutdown_kernel(self, *arguments: Any, **options: Any) -> None:  # type: ignore[override]
        """Shut down as the base class does; what the kernel says of its own end is not shown."""
        passages, self._passages = self._passages, ()
        for passage in passages:
            passage.end()
        await super().shutdown_kernel(*arguments, **options)

    async def start_kernel(self, **options: Any) -> None:  # type: ignore[override]  # a wrapper
        """Start as the base class does, with the pipes of two passages."""
        stdout = Passage(sys.stdout if self.shows_output else None, ON_STDOUT)
        stderr = Passage(sys.stderr, ON_STDERR)
        self._passages = (stdout, stderr)
        await super().start_kernel(**{"stdout": stdout.write, "stderr": stderr.write, **options})


class QuietKernel(FilteredKernel):
    """The same, without what reaches stdout."""

    shows_output = False

"""Push once a session and enough of the week's hours are free: `push --when-free`.

The stages up to the sent push, repeated with a new request each turn, so that it pushes what
stands in the files then. It may be killed at any time: the same command goes on, and what it had
sent is taken up, since an identical push is never a second session. What failed, or was stopped, is
not repeated.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelkit.errors import (
    CapacityError,
    KernelBusyError,
    KernelkitError,
    NetworkError,
    ParameterError,
    StillRunningError,
)
from kernelkit.kaggle.context.kaggle_context import command_options
from kernelkit.kaggle.transport.failures import Failure
from kernelkit.notebook.interface.values import Overrides
from kernelkit.push.checked.checked_plan import checked_plan
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.request import PushRequest
from kernelkit.push.push_kernel import finish, send_once
from kernelkit.push.rehearsed.prepare_rehearsal import connected
from kernelkit.terminal.events import WAITING


def push_when_free(
    notebook: Path | None = None,
    parameters: Overrides = (),
    *,
    wait: bool = True,
    **keywords: Any,
) -> Path:
    """Wait for a session and for the hours that the whole run may take, push, and bring the results
    home; returns their folder.

    The arguments are those of `push_kernel`. Without `wait`, does what is possible now and raises
    `StillRunningError` if anything is left to do. Raises what `push_kernel` raises otherwise, and
    `PreflightError` if an identical push ended badly.
    """
    options = command_options(keywords)
    asked = _request(notebook, parameters, keywords)
    context = PushContext.in_project(asked.project, **options)
    reasons = _Reasons(context, wait=wait)
    with context.announcing_errors():
        while True:
            with contextlib.ExitStack() as block:
                try:
                    with context.events.only_news():
                        plan = checked_plan(context, asked)
                        mounted = block.enter_context(connected(context, plan))
                        sent = send_once(context, plan, mounted)
                except (CapacityError, KernelBusyError, NetworkError) as error:
                    reasons.hear(error)
                else:
                    return finish(context, sent, replace(asked.delivery(), wait=wait))
            reasons.sleep()
            asked = _request(notebook, parameters, keywords)  # of what stands in the files now


def _request(
    notebook: Path | None, parameters: Overrides, keywords: Mapping[str, Any]
) -> PushRequest:
    """The request that each turn of the loop makes; raises `ParameterError` for one of no turn."""
    wishes = {**keywords, "once": True, "when_free": True}
    asked = PushRequest.of(notebook, parameters, **wishes)
    if asked.chain:
        raise ParameterError(
            "--when-free sends one push and --chain several: push the others with --chain "
            "first, then this one with --when-free"
        )
    if asked.dry_run:
        raise ParameterError("--dry-run sends nothing, now or later: drop --when-free")
    return asked


class _Reasons:
    """Why a push still waits: each is told once, and asked about again after a growing pause."""

    def __init__(self, context: PushContext, *, wait: bool) -> None:
        self._context = context
        self._wait = wait
        self._pause = context.timing.patience.slow_poll
        self._told = ""
        self._answered = context.timing.clock.now()  # when Kaggle answered last
        self._heard = False  # whether Kaggle has answered at all

    def hear(self, error: KernelkitError) -> None:
        """Tell the reason, or raise it if it does not pass.

        Raises `StillRunningError` if the command is not to wait.
        """
        now = self._context.timing.clock.now()
        if isinstance(error, NetworkError):
            # What worked before is no wrong setting, but a network that changes.
            changes = not isinstance(error, Failure) or error.is_transient or self._heard
            silent = now - self._answered > self._context.timing.patience.silence
            if not changes or not self._wait or silent:
                raise error
        else:
            self._answered = now
            self._heard = True
        message = f"for a session and enough hours: {error}"
        if not self._wait:
            raise StillRunningError(f"the push waits {message}")
        if message != self._told:
            self._context.events(WAITING, message)
        self._told = message

    def sleep(self) -> None:
        """Pause until Kaggle is asked again."""
        self._context.timing.clock.sleep(self._pause)
        self._pause = min(self._context.timing.patience.longest, 2 * self._pause)

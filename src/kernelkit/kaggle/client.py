"""Kaggle for one account: its kernels as values, any call repeated, any list paged to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Self, TypeVar

from kernelkit.errors import NOT_VISIBLE, ParameterError
from kernelkit.kaggle.answers import Outputs, Quota, Saved, Status, Stored, accelerator_of
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.retries import Retries
from kernelkit.kaggle.transport.authentication import open_connection
from kernelkit.kaggle.transport.connection import Connection
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.kaggle.transport.time_limits import Timeouts

PAGE_SIZE = 100
MOST_PAGES = 5000  # of PAGE_SIZE files each: far more than a session's output
MOST_RECENT = 10  # kernels to look through for sessions that run
LISTING = "list"  # in a failure's message, instead of the method's name

Answer = TypeVar("Answer")


def accept_rules(competition: str) -> str:
    """The next step for a user whose account has not entered this competition."""
    return f"accept the rules: https://www.kaggle.com/competitions/{competition}/rules"


class Kaggle:
    """Kaggle for one account, that of `username`.

    `kernels`, `competitions`, `datasets`, `models` and `blobs` have a method for each call, which
    sends it once and returns the SDK's own answer. Of kernels, the methods here return values; they
    repeat what failed and may pass, except for `save`, which starts a session each time it arrives.
    """

    def __init__(self, connection: Connection, retries: Retries | None = None) -> None:
        # Not at the top: the SDK's types take a fifth of a second, and checks need none of them.
        from kernelkit.kaggle.kernels import Kernels
        from kernelkit.kaggle.services.blobs import Blobs
        from kernelkit.kaggle.services.competitions import Competitions
        from kernelkit.kaggle.services.datasets import Datasets
        from kernelkit.kaggle.services.models import Models

        self.connection = connection
        self.username = connection.username
        self.kernels = Kernels(connection)
        self.competitions = Competitions(connection)
        self.datasets = Datasets(connection)
        self.models = Models(connection)
        self.blobs = Blobs(connection)
        self.retries = retries or Retries()

    @classmethod
    def sign_in(cls, timeouts: Timeouts | None = None, retries: Retries | None = None) -> Self:
        """Kaggle for the account whose credentials the environment has.

        Raises what `open_connection` raises.
        """
        retries = retries or Retries()
        return cls(retries.call(partial(open_connection, timeouts)), retries)

    # Any call

    def repeated(self, call: Callable[[], Answer], until: float | None = None) -> Answer:
        """The answer of a call that may arrive twice, repeated after transient failures.

        `until`: the time on the retries' clock after which none is repeated. Raises `Failure`.
        """
        return self.retries.call(call, until)

    def if_there(self, call: Callable[[], Answer], until: float | None = None) -> Answer | None:
        """Like `repeated`; None for what does not exist or is not shown to the account."""
        try:
            return self.repeated(call, until)
        except Failure as failure:
            # Kaggle answers 403, too, for an own kernel that does not exist.
            if failure.kind in (FailureKind.NOT_FOUND, FailureKind.REFUSED):
                return None
            raise

    def pages(self, call: Callable[[int, str], Any], until: float | None = None) -> Iterator[Any]:
        """Every page of a list; `call` takes a page's size and token.

        Raises `Failure` for a page that cannot be had, and for a list that does not end by `until`
        or within `MOST_PAGES`.
        """
        token = ""
        for _ in range(MOST_PAGES):
            answer = self.repeated(partial(call, PAGE_SIZE, token), until)
            yield answer
            token = answer.next_page_token
            if not token:
                return
            if until is not None and self.retries.clock.now() > until:
                raise Failure(FailureKind.NETWORK, LISTING, "its pages did not end in time")
        raise Failure(FailureKind.MALFORMED, LISTING, "its pages have no end")

    # Kernels

    def save(self, fields: Mapping[str, Any]) -> Saved:
        """Send one SaveKernel, once. Raises `Failure`; a refusal may still have saved."""
        return Saved.of(self.kernels.save_kernel(fields))

    def stored(self, kernel: Kernel, version: int | None = None) -> Stored | None:
        """A version as Kaggle stores it, by default the latest; None if it does not exist or is not
        visible."""
        answer = self.if_there(partial(self.kernels.get_kernel, kernel, version))
        return None if answer is None else Stored.of(answer)

    def existing(self, kernel: Kernel, version: int | None = None) -> Stored:
        """Like `stored`; raises `ParameterError` if there is none."""
        if stored := self.stored(kernel, version):
            return stored
        reference = f"{kernel}/{version}" if version else kernel
        raise ParameterError(NOT_VISIBLE.format(reference))

    def status(
        self, kernel: Kernel, version: int | None, until: float | None = None
    ) -> Status | None:
        """The status of a version's session (version None: the latest); None if it has none."""
        call = partial(self.kernels.get_kernel_session_status, kernel, version)
        answer = self.if_there(call, until)
        if answer is None:
            return None
        return Status(answer.status.name.lower(), answer.failure_message)

    def outputs(self, kernel: Kernel, version: int | None, until: float | None = None) -> Outputs:
        """All files and the log of a version's session, paged to the end."""
        links: dict[str, str] = {}
        log = ""
        call = partial(self.kernels.list_kernel_session_output, kernel, version)
        for answer in self.pages(call, until):
            links |= {file.file_name: file.url for file in answer.files}
            log = log or answer.log
        return Outputs(links, log)

    def recent(self, kind: str = "") -> list[Kernel]:
        """Of the ten kernels run last, latest first, those on this kind of machine, "" for any."""
        answer = self.repeated(partial(self.kernels.list_kernels_of, self.username, MOST_RECENT))
        # Where Kaggle lists a kernel without a name, the SDK has "".
        named = [kernel for kernel in answer.kernels if kernel.ref.count("/") == 1]
        return [Kernel.of(kernel.ref) for kernel in named if kind in ("", accelerator_of(kernel))]

    def quota(self, kind: str) -> Quota | None:
        """This week's hours of `tpu` or `gpu`; None if there is no quota (the CPU)."""
        statistics = self.repeated(self.kernels.get_accelerator_quota_statistics)
        times = getattr(statistics, f"{kind}_quota", None)
        return None if times is None else Quota.of(times)

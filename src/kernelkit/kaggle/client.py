"""The part of Kaggle's API that the kit uses: typed answers, classified failures.

Reads are repeated after transient failures. `save` is not: see `kernelkit.push.send`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernelkit.errors import NOT_VISIBLE, ParameterError
from kernelkit.kaggle.connection import Connection
from kernelkit.kaggle.retries import Failure, FailureKind, Retries, is_capacity

SOURCES = ("dataset", "competition", "kernel", "model")  # the kinds of a kernel's inputs
PLACEHOLDERS = ("INSERT_USERNAME", "INSERT_USERNAME_HERE", "USERNAME", "YOUR_USERNAME")  # of owners
PAGE_SIZE = 100
MOST_PAGES = 5000  # of PAGE_SIZE files each: far more than a session's output
STALE_PAGES = 10  # pages without a new file, after which a list counts as broken


def accept_rules(competition: str) -> str:
    """The next step for a user whose account has not entered this competition."""
    return f"accept the rules: https://www.kaggle.com/competitions/{competition}/rules"


@dataclass(frozen=True)
class Kernel:
    """The name of a kernel: `owner/slug`."""

    owner: str
    slug: str

    @classmethod
    def of(cls, name: str) -> Kernel:
        """The kernel named `owner/slug`."""
        return cls(*name.partition("/")[::2])

    def __str__(self) -> str:
        return f"{self.owner}/{self.slug}"


@dataclass(frozen=True)
class Stored:
    """A kernel as Kaggle stores it: the latest version's number; a version's text and sources.

    `language`, `kernel_type`, `machine_shape` and `accelerator` (tpu, gpu, cpu) have Kaggle's
    names, or are empty; `internet` is whether its sessions have internet.
    """

    version: int
    text: str
    sources: frozenset[str] = frozenset()
    language: str = ""
    kernel_type: str = ""
    machine_shape: str = ""
    accelerator: str = ""
    internet: bool = False


@dataclass(frozen=True)
class Saved:
    """Kaggle's answer to a push: its version, its name for the kernel, and what it refused.

    `stored` is the version as read back, if Kaggle shows it; `recovered`: the answer was lost or
    named another version.
    """

    version: int
    url: str
    ref: str = ""
    refused_sources: tuple[str, ...] = ()
    refused_tags: tuple[str, ...] = ()
    recovered: bool = False
    stored: Stored | None = None


@dataclass(frozen=True)
class Status:
    """The state of a session, Kaggle's name in lower case, and why it failed."""

    state: str
    message: str = ""

    @property
    def alive(self) -> bool:
        """Whether it is still queued or running."""
        return self.state in ("queued", "running", "cancel_requested")


@dataclass(frozen=True)
class Outputs:
    """The output of a session: each file's signed link, which expires, by the file's name; and its
    log (a JSON array, empty while it runs)."""

    files: Mapping[str, str]
    log: str


@dataclass(frozen=True)
class Quota:
    """Accelerator hours of this week."""

    used: float
    allowed: float

    @property
    def left(self) -> float:
        """Hours left."""
        return max(0.0, self.allowed - self.used)

    def remaining(self, kind: str) -> str:
        """The phrase about the hours left for all messages; `kind` is the kind of machine."""
        return f"{self.left:.1f} of {self.allowed:.0f} {kind.upper()} hours are left this week"


class Kaggle:
    """One account's kernels, over a `Connection`."""

    def __init__(self, connection: Connection, retries: Retries | None = None) -> None:
        self.connection = connection
        self.retries = retries or Retries()

    @property
    def username(self) -> str:
        """The name of the account."""
        return self.connection.username

    def once(self, method: str, service: str = "kernels", **fields: Any) -> Any:
        """Send one request without repeating it, and return the answer; raises `Failure`.

        `method` is Kaggle's name for it, such as "SaveKernel", `service` the SDK's, such as
        "datasets", and `fields` are those of the SDK's request.
        """
        name = service if service == "kernels" else service.removesuffix("s")
        types = importlib.import_module(f"kagglesdk.{service}.types.{name}_api_service")
        request = getattr(types, f"Api{method}Request")()
        for field, value in fields.items():
            setattr(request, field, value)
        client = getattr(getattr(self.connection.services, service), f"{name}_api_client")
        call = getattr(client, re.sub(r"(?<!^)(?=[A-Z])", "_", method).lower())
        return self.connection.ask(method, partial(call, request))

    def repeated(
        self, method: str, service: str = "kernels", until: float | None = None, **fields: Any
    ) -> Any:
        """Like `once`, but repeated after transient failures."""
        return self.retries.call(lambda: self.once(method, service, **fields), until)

    def if_there(
        self, method: str, service: str = "kernels", until: float | None = None, **fields: Any
    ) -> Any:
        """Like `repeated`, for something that the account owns; None if it does not exist."""
        try:
            return self.repeated(method, service, until, **fields)
        except Failure as failure:
            # Kaggle answers 403 for an own kernel that does not exist.
            if failure.kind in (FailureKind.NOT_FOUND, FailureKind.REFUSED):
                return None
            raise

    def save(self, fields: Mapping[str, Any]) -> Saved:
        """Send one SaveKernel, once. Raises `Failure`; a refusal may still have saved."""
        answer = self.once("SaveKernel", **fields)
        if answer.error:
            sort = FailureKind.CAPACITY if is_capacity(answer.error) else FailureKind.REFUSED
            raise Failure(sort, "SaveKernel", answer.error)
        if answer.version_number <= 0:
            raise Failure(FailureKind.MALFORMED, "SaveKernel", "the answer names no version")
        refused = tuple(_sources(answer, "invalid_{}_sources"))
        tags = tuple(answer.invalid_tags or [])
        return Saved(answer.version_number, answer.url or "", answer.ref or "", refused, tags)

    def stored(self, kernel: Kernel, version: int | None = None) -> Stored | None:
        """The kernel as Kaggle stores it; None if it does not exist or is not visible."""
        answer = self.if_there("GetKernel", **_name(kernel, version))
        if answer is None:
            return None
        if answer.metadata is None or answer.blob is None:
            raise Failure(FailureKind.MALFORMED, "GetKernel", "the answer contains no kernel")
        return Stored(
            version=answer.metadata.current_version_number,
            text=answer.blob.source,
            sources=frozenset(_sources(answer.metadata, "{}_data_sources")),
            language=(answer.blob.language or "").lower(),
            kernel_type=(answer.blob.kernel_type or "").lower(),
            machine_shape=answer.metadata.machine_shape or "",
            accelerator=_accelerator(answer.metadata),
            internet=bool(answer.metadata.enable_internet),
        )

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
        answer = self.if_there("GetKernelSessionStatus", until=until, **_name(kernel, version))
        return answer and Status(answer.status.name.lower(), answer.failure_message or "")

    def outputs(self, kernel: Kernel, version: int | None, until: float | None = None) -> Outputs:
        """All files and the log of a version's session, paged to the end."""
        links: dict[str, str] = {}
        log = ""
        for answer in self.pages("ListKernelSessionOutput", _name(kernel, version), until):
            links |= {file.file_name: file.url for file in answer.files or []}
            log = log or answer.log or ""
        return Outputs(links, log)

    def sizes(self, kernel: Kernel, version: int) -> dict[str, int]:
        """Bytes of each output file of a version, by name."""
        answers = self.pages("ListKernelFiles", _name(kernel, version))
        return {file.name: file.size for answer in answers for file in answer.files or []}

    def quota(self, kind: str) -> Quota | None:
        """This week's hours of `tpu` or `gpu`; None if there is no quota (the CPU)."""
        times = getattr(self.repeated("GetAcceleratorQuotaStatistics"), f"{kind}_quota", None)
        if times is None:
            return None
        used, reserved, allowed = (
            time.total_seconds() / 3600 if time else 0.0
            for time in (times.time_used, times.time_reserved, times.total_time_allowed)
        )
        return Quota(used + reserved, allowed)

    def recent(self, kind: str) -> list[Kernel]:
        """Those of the ten kernels run last, latest first, with a machine of this kind."""
        from kagglesdk.kernels.types.kernels_enums import KernelsListSortType, KernelsListViewType

        answer = self.repeated(
            "ListKernels",
            group=KernelsListViewType.PROFILE,
            user=self.username,
            sort_by=KernelsListSortType.DATE_RUN,
            page=1,
            page_size=10,
        )
        kernels = [kernel for kernel in answer.kernels or [] if kernel.ref.count("/") == 1]
        return [Kernel.of(kernel.ref) for kernel in kernels if _accelerator(kernel) == kind]

    def pages(
        self,
        method: str,
        fields: Mapping[str, Any],
        until: float | None = None,
        service: str = "kernels",
        items: str = "files",
    ) -> Iterator[Any]:
        """Every page of a list; raises `Failure` for a list that continues without anything new."""
        listed: set[str] = set()
        token, stale = "", 0
        for _ in range(MOST_PAGES):
            answer = self.repeated(
                method, service, until, **fields, page_size=PAGE_SIZE, page_token=token
            )
            yield answer
            files = getattr(answer, items) or []
            names = {file.name if hasattr(file, "name") else file.file_name for file in files}
            stale = stale + 1 if names <= listed else 0
            listed |= names
            token = answer.next_page_token or ""
            if not token:
                return
            if until is not None and self.retries.clock.now() > until:
                raise Failure(FailureKind.NETWORK, method, "its pages did not end in time")
            if stale > STALE_PAGES:
                break
        raise Failure(FailureKind.MALFORMED, method, "its pages have no end")


def _name(kernel: Kernel, version: int | None = None) -> dict[str, Any]:
    """The fields of a request that name a kernel, and one of its versions."""
    label = {} if version is None else {"version_label": f"v{version}"}
    return {"user_name": kernel.owner, "kernel_slug": kernel.slug, **label}


def _sources(answer: Any, field: str) -> list[str]:
    """The sources that an answer lists by kind, such as "dataset owner/slug"."""
    listed = {kind: getattr(answer, field.format(kind)) or [] for kind in SOURCES}
    return [f"{kind} {source}" for kind, sources in listed.items() for source in sources]


def _accelerator(kernel: Any) -> str:
    shape = (kernel.machine_shape or "").lower()
    if kernel.enable_tpu or "tpu" in shape:
        return "tpu"
    return "gpu" if kernel.enable_gpu or "nvidia" in shape else "cpu"

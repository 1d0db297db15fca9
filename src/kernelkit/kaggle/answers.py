"""What Kaggle says of a kernel, its session and the week's hours, as values.

Each `of` makes one of the SDK's answer to the call that its docstring names.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from kernelkit.kaggle.metadata_words import SOURCES
from kernelkit.kaggle.transport.classify import of_refusal
from kernelkit.kaggle.transport.failures import Failure, FailureKind

TITLE_TAKEN = (
    "Kaggle makes a notebook's address from its title, and another notebook of yours has this one: "
    "write that notebook's address as id into the metadata, or choose another title"
)


def accelerator_of(kernel: Any) -> str:
    """The kind of machine that a kernel's metadata, or its row in a list, asks for."""
    shape = kernel.machine_shape.lower()
    if kernel.enable_tpu or "tpu" in shape:
        return "tpu"
    if kernel.enable_gpu or "nvidia" in shape:
        return "gpu"
    return "cpu"


def _sources(listed: Any, field: str) -> tuple[str, ...]:
    """The sources of all kinds that an answer lists, each as "dataset owner/slug".

    `field`: the name of the fields, with {} for the kind, such as "{}_data_sources".
    """
    found = []
    for kind in SOURCES:
        found += [f"{kind} {source}" for source in getattr(listed, field.format(kind))]
    return tuple(found)


@dataclass(frozen=True)
class Stored:
    """A version of a kernel as Kaggle stores it; `newest` is the kernel's latest version.

    `language`, `kernel_type`, `machine_shape` and `accelerator` (tpu, gpu, cpu) have Kaggle's
    names, or are empty; `internet` is whether its sessions have internet.
    """

    newest: int
    text: str
    sources: tuple[str, ...] = ()
    language: str = ""
    kernel_type: str = ""
    machine_shape: str = ""
    accelerator: str = ""
    internet: bool = False

    @classmethod
    def of(cls, answer: Any) -> Self:
        """What GetKernel says; raises `Failure` if it says nothing."""
        metadata, blob = answer.metadata, answer.blob
        if metadata is None or blob is None:
            raise Failure(FailureKind.MALFORMED, "GetKernel", "the answer contains no kernel")
        return cls(
            newest=metadata.current_version_number,
            text=blob.source,
            sources=_sources(metadata, "{}_data_sources"),
            language=blob.language.lower(),
            kernel_type=blob.kernel_type.lower(),
            machine_shape=metadata.machine_shape,
            accelerator=accelerator_of(metadata),
            internet=metadata.enable_internet,
        )


@dataclass(frozen=True)
class Saved:
    """Kaggle's answer to a push: the version, its name for the kernel (`ref`), what it refused.

    The answer itself has no `stored` and no `recovered`; `push.sending` adds them. `stored`: the
    version as Kaggle shows it afterwards, if it does. `recovered`: whether the version was found
    there, because the answer was lost or named another one.
    """

    version: int
    url: str
    ref: str = ""
    refused_sources: tuple[str, ...] = ()
    refused_tags: tuple[str, ...] = ()
    recovered: bool = False
    stored: Stored | None = None

    @classmethod
    def of(cls, answer: Any) -> Self:
        """What SaveKernel says; raises `Failure` if it refuses."""
        if answer.error:
            kind = of_refusal("SaveKernel", answer.error)
            failure = Failure(kind, "SaveKernel", answer.error.strip().rstrip("."))
            raise failure.advising(TITLE_TAKEN) if "already in use" in answer.error else failure
        if answer.version_number <= 0:
            raise Failure(FailureKind.MALFORMED, "SaveKernel", "the answer names no version")
        return cls(
            answer.version_number,
            answer.url,
            answer.ref,
            _sources(answer, "invalid_{}_sources"),
            tuple(answer.invalid_tags),
        )


@dataclass(frozen=True)
class Status:
    """The state of a session, Kaggle's name in lower case, and why it failed."""

    state: str
    message: str = ""

    @property
    def alive(self) -> bool:
        """Whether it is still queued or running."""
        return self.state in ("queued", "running", "cancel_requested")

    @property
    def only_saved(self) -> bool:
        """Whether the version was saved without a session."""
        return self.state == "new_script"


@dataclass(frozen=True)
class Outputs:
    """The output of a session: each file's signed link, which expires, by the file's name; and its
    log (a JSON array, empty while it runs)."""

    files: Mapping[str, str]
    log: str


def _hours(time: datetime.timedelta | None) -> float:
    """A time in hours; 0 if Kaggle does not give it."""
    return time.total_seconds() / 3600 if time else 0.0


@dataclass(frozen=True)
class Quota:
    """Accelerator hours of this week."""

    used: float
    allowed: float

    @classmethod
    def of(cls, times: Any) -> Self:
        """What GetAcceleratorQuotaStatistics says of one kind of machine."""
        used = _hours(times.time_used) + _hours(times.time_reserved)
        return cls(used, _hours(times.total_time_allowed))

    @property
    def left(self) -> float:
        """Hours left."""
        return max(0.0, self.allowed - self.used)

    def remaining(self, kind: str) -> str:
        """The phrase about the hours left for all messages; `kind` is the kind of machine."""
        return f"{self.left:.1f} of {self.allowed:.0f} {kind.upper()} hours are left this week"

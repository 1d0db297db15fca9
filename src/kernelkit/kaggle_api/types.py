"""Kaggle's answers as this kit keeps them: small values without a connection."""

from __future__ import annotations

from dataclasses import dataclass

SOURCES = ("dataset", "competition", "kernel", "model")  # the kinds of a kernel's inputs


@dataclass(frozen=True)
class Kernel:
    """The name of a kernel: `owner/slug`."""

    owner: str
    slug: str

    @classmethod
    def of(cls, name: str) -> Kernel:
        """The kernel of the name `owner/slug`."""
        owner, _, slug = name.partition("/")
        return cls(owner, slug)

    def __str__(self) -> str:
        return f"{self.owner}/{self.slug}"


@dataclass(frozen=True)
class Saved:
    """Kaggle's answer to a push: the version that runs, and the sources and tags it refused.

    `ref` is the kernel as Kaggle names it, `stored` the version as it was read back (None where
    Kaggle does not show it), `recovered` says that the answer was lost or named another version.
    `resent_after` is the version before it where it was sent more than once, `twins` are the other
    versions that the same push made then.
    """

    version: int
    url: str
    ref: str = ""
    refused_sources: tuple[str, ...] = ()
    refused_tags: tuple[str, ...] = ()
    recovered: bool = False
    stored: Stored | None = None
    resent_after: int | None = None
    twins: tuple[int, ...] = ()


@dataclass(frozen=True)
class Status:
    """How a session stands, as Kaggle names it in lower case, and why it failed."""

    state: str
    message: str = ""

    @property
    def alive(self) -> bool:
        """Whether it still waits or runs."""
        return self.state in ("queued", "running", "cancel_requested")


@dataclass(frozen=True)
class Output:
    """One file of a session's output and the signed link to it, which expires."""

    name: str
    url: str


@dataclass(frozen=True)
class Outputs:
    """What a session left: its files, and its log (a JSON array, empty while it runs)."""

    files: tuple[Output, ...]
    log: str


@dataclass(frozen=True)
class Stored:
    """A kernel as Kaggle keeps it: the latest version's number; a version's text and sources.

    `language`, `kernel_type`, `machine_shape` and `accelerator` (tpu, gpu, cpu) are as Kaggle
    names them, empty where it does not; `internet` is whether its sessions have it.
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
class Quota:
    """Accelerator hours of this week."""

    used: float
    allowed: float

    @property
    def left(self) -> float:
        """Hours left."""
        return max(0.0, self.allowed - self.used)


@dataclass(frozen=True)
class Recent:
    """A kernel of one's own that ran lately, and on what."""

    kernel: Kernel
    accelerator: str

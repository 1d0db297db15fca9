"""The name of a kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """The name of a kernel: `owner/slug`."""

    owner: str
    slug: str

    @classmethod
    def of(cls, name: str) -> Kernel:
        """The kernel named `owner/slug`."""
        owner, _, slug = name.partition("/")
        return cls(owner, slug)

    def __str__(self) -> str:
        return f"{self.owner}/{self.slug}"

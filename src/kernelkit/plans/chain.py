"""The kernels of a repository that read each other's outputs through `kernel_sources`.

A source is a kernel of the repository if a `kernel-metadata.json` below its root has that slug and
owner; a placeholder stands for any owner.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kernelkit import project
from kernelkit.errors import PreflightError
from kernelkit.plans import metadata
from kernelkit.plans.metadata import PLACEHOLDERS, Metadata

NOT_SEARCHED = (project.RUNS, "node_modules")


def before(file: Path) -> list[Metadata]:
    """The kernels that the one in a metadata file needs, in the order in which to push them.

    Raises `PreflightError` for circular dependencies, and for two kernels of the same name.
    """
    target = metadata.load(file.resolve())
    here = _kernels(target)
    order: dict[Path, Metadata] = {}

    def visit(kernel: Metadata, needed_by: tuple[Metadata, ...]) -> None:
        if kernel in needed_by:
            circle = (*needed_by[needed_by.index(kernel) :], kernel)
            words = " needs ".join(link.slug for link in circle)
            raise PreflightError(f"{words}: take one out of kernel_sources")
        for source in kernel.sources("kernel"):
            matches = _matches(here, source)
            if len(matches) > 1:
                places = " and ".join(str(match.path) for match in matches)
                raise PreflightError(
                    f"{kernel.slug} needs {source}, which is in {places}: keep one"
                )
            if matches and matches[0].path not in (kernel.path, *order):
                visit(matches[0], (*needed_by, kernel))
        order[kernel.path] = kernel

    visit(target, ())
    return list(order.values())[:-1]


def own_names(kernel: Metadata) -> list[str]:
    """The account names in the metadata: the owner (empty for a placeholder), and the owners of
    sources that are kernels of this repository."""
    own = (kernel.owner, *PLACEHOLDERS)
    others = [s for s in kernel.sources("kernel") if s.partition("/")[0] not in own]
    here = _kernels(kernel) if others else []
    return [kernel.owner, *(s.partition("/")[0] for s in others if _matches(here, s))]


def _kernels(kernel: Metadata) -> list[Metadata]:
    """All kernels below the root of the repository that contains this one."""
    kernels = []
    for folder, folders, names in os.walk(project.repository(kernel.path.resolve().parent)):
        folders[:] = [f for f in folders if not f.startswith(".") and f not in NOT_SEARCHED]
        for name in sorted(names):
            if f".{name}".endswith(f".{metadata.FILE_NAME}"):
                with contextlib.suppress(PreflightError):  # reported when that kernel is pushed
                    kernels.append(metadata.load(Path(folder, name)))
    return kernels


def _matches(kernels: list[Metadata], source: str) -> list[Metadata]:
    owner, _, slug = source.lower().partition("/")
    anyones = owner.upper() in PLACEHOLDERS
    same = [kernel for kernel in kernels if kernel.slug.lower() == slug]
    return [kernel for kernel in same if anyones or kernel.owner.lower() in ("", owner)]

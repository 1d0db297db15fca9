"""The kernels of one repository that read each other's outputs: `kernel_sources` of one's own.

A source is a kernel of the repository if a `kernel-metadata.json` below its root has that slug and
owner; a placeholder stands for any owner.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from kernelkit import project
from kernelkit.errors import PreflightError
from kernelkit.kaggle_api.answers import Kernel
from kernelkit.plans import metadata
from kernelkit.plans.metadata import FILE_NAME, PLACEHOLDERS, Metadata

NOT_SEARCHED = (project.RUNS, "node_modules")


def before(file: Path) -> list[Metadata]:
    """The kernels that the one in a metadata file needs, each after those that it needs itself.

    Raises `PreflightError` for kernels that need each other, or that have the same name.
    """
    target = metadata.load(file.resolve())
    here = _kernels(target)
    read = {target.path: target}
    needs: dict[Path, list[Path]] = {}
    while missing := [kernel for path, kernel in read.items() if path not in needs]:
        for kernel in missing:
            sources = [_only(here, kernel, source) for source in kernel.sources("kernel")]
            others = [other for other in sources if other and other.path != kernel.path]
            needs[kernel.path] = [other.path for other in others]
            read = {other.path: other for other in others} | read
    try:
        order = [read[path] for path in TopologicalSorter(needs).static_order()]
    except CycleError as error:
        circle = " needs ".join(read[path].slug for path in reversed(error.args[1]))
        raise PreflightError(f"{circle}: take one out of kernel_sources") from None
    return [kernel for kernel in order if kernel.path != target.path]


def own_names(kernel: Metadata) -> list[str]:
    """The names that the metadata has for the account: the kernel's owner, and those of sources
    that are kernels of this repository; no placeholder is among them."""
    owners = [kernel.owner] if kernel.owner else []
    sources = [Kernel.of(source) for source in kernel.sources("kernel")]
    if all(source.owner in (*owners, *PLACEHOLDERS) for source in sources):
        return owners  # nothing to look for in the whole repository
    here = list(_kernels(kernel))
    owners += [s.owner for s in sources if s.owner not in PLACEHOLDERS and _matches(here, str(s))]
    return list(dict.fromkeys(owners))


def _kernels(kernel: Metadata) -> list[Metadata]:
    """All kernels below the root of the repository that this one lies in."""
    root = project.repository(kernel.path.resolve().parent)
    return list(_below(root))


def _below(root: Path) -> Iterator[Metadata]:
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(".") and f not in NOT_SEARCHED]
        for name in sorted(names):
            if name == FILE_NAME or name.endswith(f".{FILE_NAME}"):
                with contextlib.suppress(PreflightError):  # it is told when that kernel is pushed
                    yield metadata.load(Path(folder, name))


def _matches(kernels: list[Metadata], source: str) -> list[Metadata]:
    owner, _, slug = source.lower().partition("/")
    placeholder = owner.upper() in PLACEHOLDERS
    return [
        kernel
        for kernel in kernels
        if kernel.slug.lower() == slug and (placeholder or kernel.owner.lower() in ("", owner))
    ]


def _only(kernels: list[Metadata], kernel: Metadata, source: str) -> Metadata | None:
    """The kernel that a source of this one names; None where it is not of this repository."""
    matches = _matches(kernels, source)
    if len(matches) > 1:
        places = " and ".join(str(match.path) for match in matches)
        raise PreflightError(f"{kernel.slug} needs {source}, which is in {places}: keep one")
    return matches[0] if matches else None

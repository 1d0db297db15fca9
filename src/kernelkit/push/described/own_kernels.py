"""The kernels of this repository that read each other's outputs, through `kernel_sources`.

A source is one of them if a metadata file below the repository's root has that slug and owner; a
placeholder stands for any owner.
"""

import contextlib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from kernelkit import project
from kernelkit.errors import PreflightError
from kernelkit.kaggle.metadata_words import is_placeholder
from kernelkit.push.described.metadata import Metadata, files_below, load


def needed_kernels(target: Metadata) -> list[Metadata]:
    """The repository's kernels that a kernel needs, in the order to push them.

    Raises `PreflightError` for circular dependencies, and for two kernels of the same name.
    """
    kernels = _in_repository(target.path)
    every = {kernel.path: kernel for kernel in (*kernels, target)}
    needs: dict[Path, list[Path]] = {}
    waiting = [target]
    while waiting:
        kernel = waiting.pop()
        needs[kernel.path] = []
        for source in kernel.sources["kernel"]:
            matches = _matches(kernels, source)
            if len(matches) > 1:
                places = " and ".join(str(match.path) for match in matches)
                raise PreflightError(
                    f"{kernel.slug} needs {source}, which is in {places}: keep one"
                )
            needs[kernel.path] += [other.path for other in matches if other.path != kernel.path]
            waiting += [other for other in matches if other.path not in needs]
    try:
        *order, _ = TopologicalSorter(needs).static_order()
    except CycleError as error:
        words = " needs ".join(every[path].slug for path in reversed(error.args[1]))
        raise PreflightError(f"{words}: take one out of kernel_sources") from None
    return [every[path] for path in order]


def own_names(kernel: Metadata) -> list[str]:
    """The account names in a kernel's metadata: its owner, if that is no placeholder, and the
    owners of its sources that are kernels of this repository."""
    others = []
    for source in kernel.sources["kernel"]:
        owner = source.partition("/")[0]
        if owner != kernel.owner and not is_placeholder(owner):
            others.append(source)
    kernels = _in_repository(kernel.path) if others else []
    owners = [source.partition("/")[0] for source in others if _matches(kernels, source)]
    return [kernel.owner, *owners] if kernel.owner else owners


def _in_repository(path: Path) -> list[Metadata]:
    """All kernels below the root of the repository that contains this metadata file."""
    kernels = []
    for file in files_below(project.repository(path.resolve().parent)):
        with contextlib.suppress(PreflightError):  # reported when that kernel is pushed
            kernels.append(load(file))
    return kernels


def _matches(kernels: list[Metadata], source: str) -> list[Metadata]:
    """Those of these kernels that a source names."""
    owner, _, slug = source.lower().partition("/")
    anyones = is_placeholder(owner)
    same = [kernel for kernel in kernels if kernel.slug.lower() == slug]
    return [kernel for kernel in same if anyones or kernel.owner.lower() in ("", owner)]

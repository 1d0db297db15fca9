"""The kernels of this repository that read each other's outputs, through `kernel_sources`.

A source is one of them if a metadata file below the repository's root has that slug and owner; a
placeholder stands for any owner. A source that names a version, such as "me/features/3", is none:
that version is on Kaggle already.
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
    kernels = in_repository(target.path)
    by_path = {kernel.path: kernel for kernel in (*kernels, target)}  # the target as it is here
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
            for other in matches:
                if other.path != kernel.path:  # or it reads its own last output
                    needs[kernel.path].append(other.path)
                if other.path not in needs:
                    waiting.append(other)
    try:
        *order, _ = TopologicalSorter(needs).static_order()
    except CycleError as error:
        words = " needs ".join(by_path[path].slug for path in reversed(error.args[1]))
        raise PreflightError(f"{words}: take one out of kernel_sources") from None
    return [by_path[path] for path in order]


def own_names(kernel: Metadata) -> list[str]:
    """The account's names in a kernel's metadata, without placeholders.

    They are the kernel's owner, and the owners of those of its sources that are kernels of this
    repository.
    """
    owners = {source: source.partition("/")[0] for source in kernel.sources["kernel"]}
    others = []
    for source, owner in owners.items():
        if owner != kernel.owner and not is_placeholder(owner):
            others.append(source)
    kernels = in_repository(kernel.path) if others else []
    names = [owners[source] for source in others if _matches(kernels, source)]
    return [kernel.owner, *names] if kernel.owner else names


def in_repository(path: Path) -> list[Metadata]:
    """All kernels below the root of the repository that contains this metadata file."""
    kernels = []
    for file in files_below(project.repository(path.parent)):
        with contextlib.suppress(PreflightError):  # reported when that kernel is pushed
            kernels.append(load(file))
    return kernels


def _matches(kernels: list[Metadata], source: str) -> list[Metadata]:
    """Those of these kernels that a source names; none for a source with a version."""
    owner, _, slug = source.lower().partition("/")
    matches = []
    for kernel in kernels:
        is_owners = is_placeholder(owner) or kernel.owner.lower() in ("", owner)
        if kernel.slug.lower() == slug and is_owners:
            matches.append(kernel)
    return matches

"""A source that a kernel has attached, and the files that Kaggle lists of it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernelkit.errors import NOT_VISIBLE, RefusedError
from kernelkit.files import size_of
from kernelkit.kaggle.client import Kaggle, accept_rules
from kernelkit.kaggle.exchange.targets import Dataset, Variation
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport.failures import Failure, FailureKind


@dataclass(frozen=True)
class ListedSource:
    """A source, and what Kaggle lists of it now.

    kind, reference  as in a kernel's metadata, the reference without a version
    version          its number; None for a competition, and for a kernel's latest
    sizes            (name, bytes) of each file; the name may lack the file's folder
    archive          asks Kaggle for all files in one archive: a streamed response
    """

    kind: str
    reference: str
    version: int | None
    sizes: tuple[tuple[str, int], ...]
    archive: Callable[[], Any]

    @property
    def size(self) -> int | None:
        """Bytes of all files; None where Kaggle does not say."""
        return sum(size for _, size in self.sizes) or None

    @property
    def words(self) -> str:
        """Such as "dataset owner/slug, version 3: 2 files, 4.0 MB"."""
        version = f", version {self.version}" if self.version else ""
        many = "1 file" if len(self.sizes) == 1 else f"{len(self.sizes)} files"
        size = "of a size that Kaggle does not say" if self.size is None else size_of(self.size)
        return f"{self.kind} {self.reference}{version}: {many}, {size}"


def list_source(kaggle: Kaggle, kind: str, reference: str) -> ListedSource:
    """Ask Kaggle which files a source has, of this kind and with this name in metadata.

    Raises `Failure`, which names the source, and `PreflightError` for a model's framework that
    Kaggle does not have.
    """
    with naming(kind, reference):
        return _OF_KIND[kind](kaggle, reference)


def _competition(kaggle: Kaggle, reference: str) -> ListedSource:
    pages = kaggle.pages(partial(kaggle.competitions.list_data_files, reference))
    sizes = [(file.name, file.total_bytes) for page in pages for file in page.files]
    archive = partial(kaggle.competitions.download_data_files, reference)
    return ListedSource("competition", reference, None, tuple(sizes), archive)


def _dataset(kaggle: Kaggle, reference: str) -> ListedSource:
    owner, slug, *pinned = reference.split("/")
    dataset = Dataset(f"{owner}/{slug}")
    version = int(pinned[0]) if pinned else dataset.latest(kaggle)
    if version is None:
        raise RefusedError(NOT_VISIBLE.format(f"dataset {dataset.reference}"))
    archive = partial(kaggle.datasets.download_dataset, owner, slug, version)
    sizes = tuple(dataset.sizes(kaggle, version))
    return ListedSource("dataset", dataset.reference, version, sizes, archive)


def _kernel(kaggle: Kaggle, reference: str) -> ListedSource:
    owner, slug, *pinned = reference.split("/")
    version = int(pinned[0]) if pinned else None
    kernel = Kernel(owner, slug)
    pages = kaggle.pages(partial(kaggle.kernels.list_kernel_files, kernel, version))
    sizes = [(file.name, file.size) for page in pages for file in page.files]
    archive = partial(kaggle.kernels.download_kernel_output, kernel, version)
    return ListedSource("kernel", f"{owner}/{slug}", version, tuple(sizes), archive)


def _model(kaggle: Kaggle, reference: str) -> ListedSource:
    variation_reference, _, number = reference.rpartition("/")
    variation = Variation(variation_reference, {})
    version = int(number)
    archive = partial(kaggle.models.download_model_instance_version, variation_reference, version)
    sizes = tuple(variation.sizes(kaggle, version))
    return ListedSource("model", variation.reference, version, sizes, archive)


_OF_KIND: Mapping[str, Callable[[Kaggle, str], ListedSource]] = {
    "competition": _competition,
    "dataset": _dataset,
    "kernel": _kernel,
    "model": _model,
}


@contextmanager
def naming(kind: str, reference: str) -> Iterator[None]:
    """A block whose `Failure` says of which source it is, and what to do after a refusal."""
    try:
        yield
    except Failure as failure:
        failure.args = (f"{kind} {reference}: {failure}",)
        if failure.kind is not FailureKind.REFUSED:
            raise
        if kind == "competition":
            raise failure.advising(accept_rules(reference)) from None
        if kind == "model":
            page = "/".join(reference.split("/")[:2])
            raise failure.advising(
                f"accept its license, if it has one: https://www.kaggle.com/models/{page}"
            ) from None
        # Kaggle refuses to show a kernel that does not exist.
        raise failure.advising(FailureKind.NOT_FOUND.step) from None

"""What has versions on Kaggle, a dataset or a variation of a model.

A `Target` of an upload is one of them: what Kaggle says of it, and the call that makes a version.
Both have the same methods, so that an upload need not know which it is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from kernelkit.kaggle.client import PAGE_SIZE, Kaggle

LICENCE = "other"
NONE = "not there"  # the state of a dataset that does not exist
DATASET_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{4,48}[a-z0-9]")
MODEL_SLUG = re.compile(r"[a-z0-9]+([-_.][a-z0-9]+)*")


@dataclass(frozen=True)
class Dataset:
    """A dataset, "owner/slug", and what its page gets when it is made."""

    reference: str
    title: str = ""
    licence: str = LICENCE
    kind: ClassVar[str] = "dataset"

    def source(self, version: int) -> str:
        """What a kernel's metadata names; a dataset without the version."""
        return self.reference

    def latest(self, kaggle: Kaggle) -> int | None:
        """The latest version; None where there is no such dataset. Raises `Failure`."""
        answer = kaggle.if_there(partial(kaggle.datasets.get_dataset, *self.names))
        return (answer.current_version_number or 1) if answer else None

    def state(self, kaggle: Kaggle, version: int, until: float) -> str:
        """The state of the latest version: "ready", … or `NONE`.

        Kaggle tells no other version's, whatever `version` is. `until`: when to give up asking, on
        the retries' clock. Raises `Failure`.
        """
        answer = kaggle.if_there(partial(kaggle.datasets.get_dataset_status, *self.names), until)
        return str(answer.status.name).lower() if answer else NONE

    def sizes(
        self, kaggle: Kaggle, version: int, until: float | None = None
    ) -> list[tuple[str, int]]:
        """(name, bytes) of each file of a version, as Kaggle lists it. Raises `Failure`."""
        call = partial(kaggle.datasets.list_dataset_files, *self.names, version)
        pages = kaggle.pages(call, until)
        return [(file.name, file.total_bytes) for page in pages for file in page.dataset_files]

    def create(self, kaggle: Kaggle, tokens: list[str], notes: str | None) -> Any:
        """Make the dataset of uploaded files, or with `notes` another version of it, once.

        Returns Kaggle's answer. Raises `Failure`.
        """
        owner, slug = self.names
        if notes is not None:
            return kaggle.datasets.create_dataset_version(owner, slug, notes, tokens)
        title = self.title or slug.replace("-", " ")
        return kaggle.datasets.create_dataset(owner, slug, title, self.licence, tokens)

    @property
    def page(self) -> str:
        """The address of its page."""
        return f"https://www.kaggle.com/{self.kind}s/{self.reference}"

    @property
    def names(self) -> tuple[str, str]:
        """Its owner and slug, as the API's calls take them."""
        owner, _, slug = self.reference.partition("/")
        return owner, slug


@dataclass(frozen=True)
class Variation:
    """A variation of a model, "owner/model/framework/variation", and its file of metadata."""

    reference: str
    settings: Mapping[str, Any]
    kind: ClassVar[str] = "model"

    def source(self, version: int) -> str:
        """What a kernel's metadata names."""
        return f"{self.reference}/{version}"

    def latest(self, kaggle: Kaggle) -> int | None:
        """The latest version; None where there is no such variation. Raises `Failure`."""
        answer = kaggle.if_there(partial(kaggle.models.get_model_instance, self.reference))
        return (answer.version_number or 1) if answer else None

    def state(self, kaggle: Kaggle, version: int, until: float) -> str:
        """The state of a version: "ready" once its files are listed, else "failed" or "processing".

        `until`: when to give up asking, on the retries' clock. Raises `Failure`.
        """
        from kernelkit.kaggle.services.models import framework_of

        files = partial(
            kaggle.models.list_model_instance_version_files, self.reference, version, PAGE_SIZE, ""
        )
        answer = kaggle.if_there(files, until)
        if answer and answer.files:
            return "ready"
        owner, model, framework, slug = self.reference.split("/")
        answer = kaggle.if_there(partial(kaggle.models.list_model_instances, owner, model), until)
        variations = answer.instances if answer else ()
        states = {(each.slug, each.framework): each.status.name for each in variations}
        own = slug, framework_of(framework, self.reference)
        return "failed" if states.get(own) == "FAILED" else "processing"

    def sizes(
        self, kaggle: Kaggle, version: int, until: float | None = None
    ) -> list[tuple[str, int]]:
        """(name, bytes) of each file of a version, as Kaggle lists it. Raises `Failure`."""
        call = partial(kaggle.models.list_model_instance_version_files, self.reference, version)
        pages = kaggle.pages(call, until)
        return [(file.name, file.size) for page in pages for file in page.files]

    def create(self, kaggle: Kaggle, tokens: list[str], notes: str | None) -> Any:
        """Make the variation of uploaded files, or with `notes` another version of it, once.

        Returns Kaggle's answer. Raises `Failure`.
        """
        if notes is not None:
            return kaggle.models.create_model_instance_version(self.reference, notes, tokens)
        owner, model, _, _ = self.reference.split("/")
        return kaggle.models.create_model_instance(owner, model, self.settings, tokens)

    @property
    def page(self) -> str:
        """The address of its page."""
        return f"https://www.kaggle.com/{self.kind}s/{self.reference}"


Target = Dataset | Variation

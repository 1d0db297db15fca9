"""What has versions at Kaggle, and by which methods and fields: datasets, variations of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelkit.kaggle_api.client import Kaggle

LICENCE = "other"
NONE = "not there"  # the state of a dataset that does not exist

Request = tuple[str, dict[str, Any]]  # a method and its fields


@dataclass(frozen=True)
class Dataset:
    """A dataset, "owner/slug"."""

    reference: str
    service, files = "datasets", "dataset_files"  # Kaggle's service, and the field of a list

    def source(self, _version: int) -> str:
        """What a kernel's metadata names."""
        return self.reference

    def latest(self, kaggle: Kaggle) -> int | None:
        """The latest version, None where there is no such dataset. Raises `Failure`."""
        answer = kaggle.if_there("GetDataset", self.service, None, **self._name())
        return (answer.current_version_number or 1) if answer else None

    def state(self, kaggle: Kaggle, until: float | None = None, _version: int = 0) -> str:
        """The state of the newest version: "ready", … or `NONE`.

        `until`: when to give up asking. Raises `Failure`.
        """
        answer = kaggle.if_there("GetDatasetStatus", self.service, until, **self._name())
        return str(answer.status.name).lower() if answer else NONE

    def listing(self, version: int) -> Request:
        """What lists the files of a version."""
        return "ListDatasetFiles", {**self._name(), "dataset_version_number": version}

    def creation(self, files: list[Any], notes: str | None) -> Request:
        """What makes the dataset, or with `notes` another version of it."""
        from kagglesdk.datasets.types.dataset_api_service import ApiCreateDatasetVersionRequestBody

        if notes is None:
            owner, _, slug = self.reference.partition("/")
            named = {"owner_slug": owner, "slug": slug, "title": slug.replace("-", " ")}
            return "CreateDataset", {
                **named,
                "license_name": LICENCE,
                "is_private": True,
                "files": files,
            }
        body = ApiCreateDatasetVersionRequestBody()
        body.version_notes, body.files = notes, files
        return "CreateDatasetVersion", {**self._name(), "body": body}

    def _name(self) -> dict[str, Any]:
        owner, _, slug = self.reference.partition("/")
        return {"owner_slug": owner, "dataset_slug": slug}


@dataclass(frozen=True)
class Variation:
    """A variation of a model, "owner/model/framework/variation", and its file of metadata."""

    reference: str
    settings: Mapping[str, Any]
    service, files = "models", "files"

    def source(self, version: int) -> str:
        """What a kernel's metadata names."""
        return f"{self.reference}/{version}"

    def latest(self, kaggle: Kaggle) -> int | None:
        """The latest version, None where there is no such variation. Raises `Failure`."""
        answer = kaggle.if_there("GetModelInstance", self.service, None, **self._name())
        return (answer.version_number or 1) if answer else None

    def state(self, kaggle: Kaggle, until: float | None = None, version: int = 0) -> str:
        """ "ready" once the files of the version are listed, "failed" or "processing" before."""
        method, fields = self.listing(version)
        answer = kaggle.if_there(method, self.service, until, **fields)
        if answer and answer.files:
            return "ready"
        name = self._name()
        own = name.pop("instance_slug"), name.pop("framework")
        answer = kaggle.if_there("ListModelInstances", self.service, until, **name)
        variations = answer.instances if answer else ()
        states = {(each.slug, each.framework): each.status.name for each in variations}
        return "failed" if states.get(own) == "FAILED" else "processing"

    def listing(self, version: int) -> Request:
        """What lists the files of a version."""
        return "ListModelInstanceVersionFiles", {**self._name(), "version_number": version}

    def creation(self, files: list[Any], notes: str | None) -> Request:
        """What makes the variation, or with `notes` another version of it."""
        if notes is None:
            name = {key: self._name()[key] for key in ("owner_slug", "model_slug")}
            method, body = "CreateModelInstance", body_of("", self.settings)
        else:
            name, method = self._name(), "CreateModelInstanceVersion"
            body = body_of("Version", {"versionNotes": notes})
        body.files = files
        return method, {**name, "body": body}

    def _name(self) -> dict[str, Any]:
        owner, model, framework, slug = self.reference.split("/")
        framework = body_of("", {"framework": framework}).framework
        return {
            "owner_slug": owner,
            "model_slug": model,
            "framework": framework,
            "instance_slug": slug,
        }


Target = Dataset | Variation


def body_of(kind: str, settings: Mapping[str, Any]) -> Any:
    """The body of a request that makes a variation, or its "Version", with settings as in JSON.

    Raises KeyError and others for values that Kaggle does not know.
    """
    from kagglesdk.models.types import model_api_service as types

    return getattr(types, f"ApiCreateModelInstance{kind}RequestBody").from_dict(settings)

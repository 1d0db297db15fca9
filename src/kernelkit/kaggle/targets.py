"""What has versions on Kaggle, datasets and variations of models: upload one, wait until it is
ready."""

import tempfile
import zipfile
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kernelkit.errors import NetworkError, RefusedError
from kernelkit.files import files_below
from kernelkit.kaggle import transfers
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context import PushContext
from kernelkit.kaggle.retries import Failure
from kernelkit.terminal.events import size_of

WORKERS = 4
READY_SECONDS = 3600.0  # for Kaggle to make uploaded files usable
LOOK_SECONDS = 10.0  # from a lost answer to the look for the version
LICENCE = "other"
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z")  # which Kaggle unpacks
NONE = "not there"  # the state of a dataset that does not exist
SHOWN = 5  # names of files, in an error
UNUSABLE = ("failed", "deleted")  # the states of what no kernel will ever get

Fields = dict[str, Any]  # of a request to Kaggle
Request = tuple[str, Fields]  # a method and its fields


@dataclass(frozen=True)
class Dataset:
    """A dataset, "owner/slug"."""

    reference: str
    # Kaggle's service, the field of a list that has the files, and that of a file's length.
    service, files, length = "datasets", "dataset_files", "total_bytes"

    def source(self, version: int) -> str:
        """What a kernel's metadata names."""
        return self.reference

    def latest(self, kaggle: Kaggle) -> int | None:
        """The latest version; None where there is no such dataset. Raises `Failure`."""
        answer = kaggle.if_there("GetDataset", self.service, None, **self._name())
        return (answer.current_version_number or 1) if answer else None

    def state(self, kaggle: Kaggle, until: float | None = None, version: int = 0) -> str:
        """The state of the newest version: "ready", … or `NONE`. Raises `Failure`.

        `until`: when to give up asking.
        """
        answer = kaggle.if_there("GetDatasetStatus", self.service, until, **self._name())
        return str(answer.status.name).lower() if answer else NONE

    def listing(self, version: int) -> Request:
        """What lists the files of a version."""
        return "ListDatasetFiles", {**self._name(), "dataset_version_number": version}

    def creation(self, files: list[Any], notes: str | None) -> Request:
        """What makes the dataset, or with `notes` another version of it."""
        from kagglesdk.datasets.types.dataset_api_service import ApiCreateDatasetVersionRequestBody

        if notes is not None:
            body = ApiCreateDatasetVersionRequestBody()
            body.version_notes, body.files = notes, files
            return "CreateDatasetVersion", {**self._name(), "body": body}
        owner, slug = self._name().values()
        page = {"title": slug.replace("-", " "), "license_name": LICENCE, "is_private": True}
        return "CreateDataset", {"owner_slug": owner, "slug": slug, "files": files, **page}

    def _name(self) -> Fields:
        owner, _, slug = self.reference.partition("/")
        return {"owner_slug": owner, "dataset_slug": slug}


@dataclass(frozen=True)
class Variation:
    """A variation of a model, "owner/model/framework/variation", and its file of metadata."""

    reference: str
    settings: Mapping[str, Any]
    service, files, length = "models", "files", "size"

    def source(self, version: int) -> str:
        """What a kernel's metadata names."""
        return f"{self.reference}/{version}"

    def latest(self, kaggle: Kaggle) -> int | None:
        """The latest version; None where there is no such variation. Raises `Failure`."""
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
        name = self._name()
        if notes is None:
            method, body = "CreateModelInstance", body_of("", self.settings)
            name = {key: name[key] for key in ("owner_slug", "model_slug")}
        else:
            method = "CreateModelInstanceVersion"
            body = body_of("Version", {"versionNotes": notes})
        body.files = files
        return method, {**name, "body": body}

    def _name(self) -> Fields:
        owner, model, framework, slug = self.reference.split("/")
        return {
            "owner_slug": owner,
            "model_slug": model,
            "framework": body_of("", {"framework": framework}).framework,
            "instance_slug": slug,
        }


Target = Dataset | Variation


def upload(context: PushContext, target: Target, entries: list[Path], notes: str) -> int:
    """Make it, or a new version of it, of these files and folders; returns the version.

    Makes one version, even where Kaggle's answer is lost. Raises `Failure`, and `RefusedError`
    where Kaggle does not take it.
    """
    from kagglesdk.datasets.types.dataset_api_service import ApiDatasetNewFile

    kaggle = context.kaggle
    before = target.latest(kaggle)
    version = (before or 0) + 1
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(WORKERS) as pool:
        tokens = pool.map(lambda entry: _send(context, target, entry, Path(folder)), entries)
        files = [ApiDatasetNewFile.from_dict({"token": token}) for token in tokens]
    method, fields = target.creation(files, None if before is None else notes)
    try:
        answer = kaggle.once(method, target.service, **fields)
    except Failure as failure:
        if not failure.is_transient:
            raise
        kaggle.retries.clock.sleep(LOOK_SECONDS)
        latest = target.latest(kaggle)
        if latest is None or latest == before:
            raise
        version = latest
    else:
        if answer.error or (getattr(answer, "status", "") or "").lower() == "error":
            reason = answer.error or "no reason"
            raise RefusedError(f"Kaggle did not accept {target.reference}: {reason}")
    context.events("uploaded", f"{target.reference} version {version}", version=version)
    return version


def _send(context: PushContext, target: Target, entry: Path, scratch: Path) -> str:
    """Upload one file, or a folder as an archive; the token that names it to Kaggle."""
    from kagglesdk.blobs.types.blob_api_service import ApiBlobType

    kind = ApiBlobType[target.service.removesuffix("s").upper()]
    file = entry
    if entry.is_dir():
        file = scratch / f"{entry.name}.zip"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
            for path in files_below(entry):
                packed.write(path, path.relative_to(entry).as_posix())
    token = transfers.upload(
        context.kaggle, file, "StartBlobUpload", "blobs", type=kind, name=file.name
    )
    context.events("sent", f"{file.name}, {size_of(file.stat().st_size)}")
    if file != entry:
        file.unlink()
    return token


def await_ready(
    context: PushContext, target: Target, version: int, files: Collection[Path]
) -> None:
    """Wait until kernels can use this version, or any: Kaggle unpacks after the upload.

    `files`: those that were sent, whose names and lengths Kaggle must list.
    Raises `Failure`, `RefusedError` where Kaggle could not or lists others, `NetworkError` past
    the time.
    """
    kaggle = context.kaggle
    clock = kaggle.retries.clock
    end = clock.now() + READY_SECONDS
    while (state := target.state(kaggle, end, version)) not in UNUSABLE:
        if state == "ready":
            served = target.latest(kaggle) or 0 if version else 0
            if served >= version:
                break
            state = f"version {served} is still served"
        context.events("progress", f"{target.reference}: {state.replace('_', ' ')}")
        clock.sleep(context.timing.patience.poll)
        if clock.now() >= end:
            page = f"https://www.kaggle.com/{target.service}/{target.reference}"
            raise NetworkError(f"{target.reference} is not ready yet: see {page}")
    else:
        raise RefusedError(f"Kaggle could not process {target.reference}: it is {state}")
    sent = [(path.name, path.stat().st_size) for path in files if path.suffix not in ARCHIVES]
    if not sent:
        return
    method, fields = target.listing(version)
    pages = kaggle.pages(method, fields, end, target.service, target.files)
    # Kaggle may list a file with or without its folder.
    listed = {
        (PurePosixPath(file.name).name, getattr(file, target.length))
        for page in pages
        for file in getattr(page, target.files) or []
    }
    if not listed:
        context.events("warning", f"Kaggle lists no file of {target.reference}: not verified")
    elif wrong := [name for name, size in sent if (name, size) not in listed]:
        raise RefusedError(
            f"{target.reference} version {version} is not what was sent: files are missing or have "
            f"another length: {', '.join(wrong[:SHOWN])}. Upload it again"
        )


def body_of(kind: str, settings: Mapping[str, Any]) -> Any:
    """The body of a request that makes a variation, or its "Version", with settings as in JSON.

    Raises KeyError and others for values that Kaggle does not know.
    """
    from kagglesdk.models.types import model_api_service as types

    return getattr(types, f"ApiCreateModelInstance{kind}RequestBody").from_dict(settings)

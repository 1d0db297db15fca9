"""Upload a folder as a version of a model's variation, as its two files of metadata say.

What the pages of the model and the variation say is written when they are made, and never changed
here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from slugify import slugify

from kernelkit.datasets import folders
from kernelkit.datasets.targets import Variation, body_of
from kernelkit.errors import PreflightError, RefusedError
from kernelkit.kaggle_api.answers import Failure
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.plans.metadata import PLACEHOLDERS, json_object
from kernelkit.workspace.context import CommandOptions

VARIATION, MODEL = "model-instance-metadata.json", "model-metadata.json"
EXAMPLE = {
    "ownerSlug": PLACEHOLDERS[0],
    "modelSlug": "",
    "instanceSlug": "default",
    "framework": "tensorFlow2",
    "licenseName": "Apache 2.0",
}
SLUG = re.compile(r"[a-z0-9]+([-_.][a-z0-9]+)*")


def push_model(
    folder: Path,
    *,
    notes: str = "updated by kernelkit",
    dry_run: bool = False,
    **options: Unpack[CommandOptions],
) -> str:
    """Upload a folder as a version of a variation, and wait until kernels can use it.

    The model and the variation are made if Kaggle has none of these names. Returns
    "owner/model/framework/variation/version", which goes into `model_sources`. Raises
    `PreflightError` for metadata that Kaggle would not take, and what `folders.upload` raises.
    """
    settings = _settings(folder)

    def prepare(kaggle: Kaggle) -> Variation:
        # A rehearsal's Kaggle knows no owner but its own.
        owner = settings["ownerSlug"]
        if kaggle.connection.rehearses or owner in PLACEHOLDERS:
            owner = kaggle.username
        _see_to_model(kaggle, folder, owner, settings["modelSlug"])
        parts = (owner, *(settings[key] for key in ("modelSlug", "framework", "instanceSlug")))
        return Variation("/".join(parts), settings)

    return folders.upload(folder, prepare, notes, options, dry_run=dry_run)


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / VARIATION
    slug = slugify(folder.resolve().name) or "my-model"
    example = json.dumps(EXAMPLE | {"modelSlug": slug})
    settings = json_object(path, f"no {VARIATION} in {folder}: write it, for example {example}")
    for key in EXAMPLE:
        value = settings.get(key)
        if key == "ownerSlug" and value in PLACEHOLDERS:
            continue
        if not isinstance(value, str) or not value or value.startswith("INSERT_"):
            raise PreflightError(f"{path} has no {key}: fill it in")
        if key.endswith("Slug") and not SLUG.fullmatch(value):
            raise PreflightError(f"{path}: {key} {value!r} must be small letters, digits, hyphens")
    with _known_values(path):
        body_of("", settings)
    return settings


def _see_to_model(kaggle: Kaggle, folder: Path, owner: str, slug: str) -> None:
    """Make the model if it is not there, as `MODEL` beside it describes its page.

    Raises `RefusedError` or `PreflightError`.
    """
    from kagglesdk.models.types.model_api_service import ApiCreateModelRequest

    get = partial(kaggle.if_there, "GetModel", "models", owner_slug=owner, model_slug=slug)
    if get():
        return
    path = folder / MODEL
    page: dict[str, Any] = {"slug": slug, "title": slug.replace("-", " ").capitalize()}
    if path.is_file():
        page = json_object(path, "")
    if page.get("slug") != slug or not page.get("title"):
        raise PreflightError(f"{path} must have a title and the slug {slug!r}, as {VARIATION} says")
    page = {"isPrivate": True, **{key: value for key, value in page.items() if value != ""}}
    with _known_values(path):
        request = ApiCreateModelRequest.from_dict({**page, "ownerSlug": owner})
    fields = {field.field_name: getattr(request, field.field_name) for field in request._fields}
    try:
        answer = kaggle.once("CreateModel", "models", **fields)
    except Failure as failure:
        if not failure.is_transient or not get():
            raise
    else:
        if answer.error:
            raise RefusedError(f"Kaggle did not take the model: {answer.error}")


@contextmanager
def _known_values(path: Path) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PreflightError(f"{path} has a value that Kaggle does not know: {error}") from None

"""What a folder's metadata files say of the dataset or the model that it is uploaded as.

What the pages of a model and its variation say is written when they are made, and never changed
here.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from slugify import slugify

from kernelkit.errors import PreflightError, RefusedError
from kernelkit.files import read_object_strictly
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.exchange.targets import LICENCE, MODEL_SLUG, Dataset
from kernelkit.kaggle.metadata_words import PLACEHOLDERS, is_placeholder
from kernelkit.kaggle.transport.failures import Failure

DATASET, MODEL = "dataset-metadata.json", "model-metadata.json"
VARIATION = "model-instance-metadata.json"
METADATA_FILES = (DATASET, MODEL, VARIATION)  # which are not uploaded
VARIATION_EXAMPLE = {
    "ownerSlug": PLACEHOLDERS[0],
    "modelSlug": "",
    "instanceSlug": "default",
    "framework": "tensorFlow2",
    "licenseName": "Apache 2.0",
}


def dataset_page(folder: Path) -> Dataset:
    """What a folder's `dataset-metadata.json` says of its dataset.

    What it does not say is "", or the usual licence. Raises `PreflightError` for a file that cannot
    be read, and for a value of another type.
    """
    path = folder / DATASET
    if not path.is_file():
        return Dataset("")
    said = read_object_strictly(path, "")
    reference, title = said.get("id", ""), said.get("title", "")
    match said.get("licenses"):
        case None | []:
            licence = LICENCE
        case [{"name": str(licence)}, *_]:
            pass
        case _:
            raise PreflightError(f'{path}: licenses has to be a list like [{{"name": "CC0-1.0"}}]')
    if not isinstance(reference, str) or not isinstance(title, str):
        raise PreflightError(f"{path}: id and title have to be texts")
    filled_in = "" if title.startswith("INSERT_") else title
    named = "" if "INSERT_SLUG" in reference else reference
    return Dataset(named, filled_in, licence or LICENCE)


def variation_settings(folder: Path) -> dict[str, Any]:
    """What a folder's `model-instance-metadata.json` says of its variation, complete.

    The owner may still be the placeholder. Raises `PreflightError` if the file is missing, or has a
    value that Kaggle would not take.
    """
    path = folder / VARIATION
    slug = slugify(folder.resolve().name) or "my-model"
    example = json.dumps(VARIATION_EXAMPLE | {"modelSlug": slug})
    settings = read_object_strictly(
        path, f"no {VARIATION} in {folder}: write it, for example {example}"
    )
    for key in VARIATION_EXAMPLE:
        value = settings.get(key)
        if key == "ownerSlug" and isinstance(value, str) and is_placeholder(value):
            continue
        if not isinstance(value, str) or not value or value.startswith("INSERT_"):
            raise PreflightError(f"{path} has no {key}: fill it in")
        if key.endswith("Slug") and not MODEL_SLUG.fullmatch(value):
            raise PreflightError(
                f"{path}: {key} {value!r} must be lowercase letters, digits, hyphens"
            )
    from kernelkit.kaggle.services.models import framework_of, variation_body

    framework_of(settings["framework"], str(path))
    with _known_values(path):
        variation_body(settings)
    return settings


def ensure_model(kaggle: Kaggle, folder: Path, owner: str, slug: str) -> None:
    """Make the model if it is not there, with the page that `model-metadata.json` describes.

    Raises `RefusedError` or `PreflightError`.
    """
    get = partial(kaggle.models.get_model, owner, slug)
    if kaggle.if_there(get):
        return
    path = folder / MODEL
    page: dict[str, Any] = {"slug": slug, "title": slug.replace("-", " ").capitalize()}
    if path.is_file():
        page = read_object_strictly(path, "")
    if page.get("slug") != slug or not page.get("title"):
        raise PreflightError(f"{path} must have a title and the slug {slug!r}, as {VARIATION} says")
    filled_in = {key: value for key, value in page.items() if value != ""}
    page = {"isPrivate": True, **filled_in, "ownerSlug": owner}
    try:
        with _known_values(path):
            answer = kaggle.models.create_model(page)
    except Failure as failure:
        if not failure.is_transient or not kaggle.if_there(get):
            raise
    else:
        if answer.error:
            raise RefusedError(f"Kaggle did not accept the model: {answer.error}")


@contextmanager
def _known_values(path: Path) -> Iterator[None]:
    """Raise `PreflightError` where the block, Kaggle's client, raises for an unknown value."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PreflightError(f"{path} has a value that Kaggle does not know: {error}") from None

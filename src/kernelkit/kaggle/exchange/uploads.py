"""Upload a folder as a private dataset, or as a version of a model's variation.

A folder inside it travels as one archive, which Kaggle unpacks to a folder of that name. What the
pages of a model and its variation say is written when they are made, and never changed here.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from slugify import slugify

from kernelkit.errors import ParameterError, PreflightError, RefusedError
from kernelkit.files import json_object
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context import CommandOptions, KaggleContext
from kernelkit.kaggle.exchange import versions
from kernelkit.kaggle.exchange.contents import Contents
from kernelkit.kaggle.exchange.targets import LICENCE, Dataset, Target, Variation
from kernelkit.kaggle.metadata_words import PLACEHOLDERS, is_placeholder
from kernelkit.kaggle.transport.failures import Failure
from kernelkit.leaks import find_secrets
from kernelkit.project import find_project
from kernelkit.terminal.events import DRY_RUN, WARNING, Event, size_of

# What is ready for kernels to use, by its kind.
READY = {kind: Event(kind, quiet=True) for kind in ("dataset", "model")}
VARIATION, MODEL = "model-instance-metadata.json", "model-metadata.json"
EXAMPLE = {
    "ownerSlug": PLACEHOLDERS[0],
    "modelSlug": "",
    "instanceSlug": "default",
    "framework": "tensorFlow2",
    "licenseName": "Apache 2.0",
}
DATASET = "dataset-metadata.json"
SKIPPED = (DATASET, MODEL, VARIATION)
DATASET_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{4,48}[a-z0-9]")
MODEL_SLUG = re.compile(r"[a-z0-9]+([-_.][a-z0-9]+)*")
LARGEST_TEXT = 1_000_000  # bytes: credentials are looked for in files up to this size


class UploadOptions(CommandOptions, total=False):
    """The keyword arguments of an upload, in addition to those of every command.

    notes    on this version
    dry_run  show what would be sent, and send nothing; this needs no account
    """

    notes: str
    dry_run: bool


def upload_dataset(folder: Path, name: str | None = None, **options: Unpack[UploadOptions]) -> str:
    """Upload a folder as the private dataset `name` and wait until kernels can use it.

    The folder's `dataset-metadata.json` names the owner and the dataset by its `id`, and gives the
    title and the licence of a dataset that is made; it is private whatever that file says. Without
    one, the owner is the account, and the name the folder's as a slug. Returns "owner/slug", which
    goes into `dataset_sources`. Raises `ParameterError` for a name Kaggle does not take,
    `PreflightError` for a `dataset-metadata.json` that cannot be read, and what `upload` raises.
    """
    page = _page_of_dataset(folder)
    slug = name or page.reference.rpartition("/")[2] or slugify(folder.resolve().name)
    if not DATASET_SLUG.fullmatch(slug):
        raise ParameterError(
            f"{slug!r} is not a name that Kaggle accepts for a dataset (6 to 50 lowercase letters, "
            "digits and hyphens): give another with --name"
        )

    def prepare(kaggle: Kaggle) -> Dataset:
        named = page.reference.rpartition("/")[0]
        return replace(page, reference=f"{_owner(kaggle, named)}/{slug}")

    return upload(folder, prepare, **options)


def _page_of_dataset(folder: Path) -> Dataset:
    """What a folder's `dataset-metadata.json` says of its dataset; nothing if there is none."""
    path = folder / DATASET
    if not path.is_file():
        return Dataset("")
    said = json_object(path, "")
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


def upload_model(folder: Path, **options: Unpack[UploadOptions]) -> str:
    """Upload a folder as a version of a variation, and wait until kernels can use it.

    The model and the variation are made if Kaggle has none of these names. Returns
    "owner/model/framework/variation/version", which goes into `model_sources`. Raises
    `PreflightError` for metadata that Kaggle would not take, and what `upload` raises.
    """
    settings = _settings(folder)

    def prepare(kaggle: Kaggle) -> Variation:
        owner = _owner(kaggle, settings["ownerSlug"])
        _see_to_model(kaggle, folder, owner, settings["modelSlug"])
        parts = (owner, *(settings[key] for key in ("modelSlug", "framework", "instanceSlug")))
        return Variation("/".join(parts), settings)

    return upload(folder, prepare, **options)


def _owner(kaggle: Kaggle, named: str) -> str:
    """The owner that a file names, or else the account.

    A rehearsal's Kaggle knows no owner but its own.
    """
    if not named or is_placeholder(named) or kaggle.connection.rehearses:
        return kaggle.username
    return named


def upload(
    folder: Path,
    prepare: Callable[[Kaggle], Target],
    *,
    notes: str = "updated by kernelkit",
    dry_run: bool = False,
    **options: Unpack[CommandOptions],
) -> str:
    """Upload a folder as a version of what `prepare` sees to on Kaggle, and wait for it.

    Nothing is uploaded where Kaggle's latest version has these bytes.

    Returns the source that goes into a kernel's metadata; "" for a dry run. Raises
    `ParameterError` for an empty folder, `PreflightError` for credentials in it, `RefusedError`,
    `CredentialsError` or `NetworkError` as Kaggle answers.
    """
    # A folder outside any project is no place for runs or for a rehearsal's Kaggle: what they
    # write would be uploaded too.
    own = find_project(folder)
    at = own if (own.root / "pyproject.toml").is_file() else None
    context = KaggleContext.in_project(at, **options)
    found = Contents.of_folder(folder)
    refuse_leaks(folder, found.files.values())
    sent = {name: path for name, path in found.files.items() if name not in SKIPPED}
    contents = Contents.of(sent)
    files = contents.files.values()
    if not files:
        raise ParameterError(f"{folder} holds no file to upload")
    versions.tell_unpacked(context, files)
    if dry_run:
        sizes = {name: path.stat().st_size for name, path in contents.files.items()}
        lines = "\n".join(f"  {name}, {size_of(size)}" for name, size in sizes.items())
        total = size_of(sum(sizes.values()))
        context.events(DRY_RUN, f"nothing was sent; this would be {total}:\n{lines}", files=sizes)
        return ""
    with context.announcing_errors(), context.connect() as kaggle:
        refuse_leaks(folder, files, kaggle.connection.secrets)
        target = prepare(kaggle)
        _tell_owner(context, target)
        version = versions.bring(context, target, contents, notes)
    source = target.source(version)
    kind = target.service.removesuffix("s")
    text = f'{target.reference} is ready: "{kind}_sources": ["{source}"]'
    context.events(READY[kind], text, ref=source)
    return source


def _tell_owner(context: KaggleContext, target: Target) -> None:
    """Warn before an upload to another owner: Kaggle refuses it only when it has arrived."""
    owner = target.reference.partition("/")[0]
    account = context.kaggle.username
    if owner.lower() != account.lower():
        context.events(
            WARNING,
            f"{target.reference} belongs to {owner}, as the folder's metadata says: unless {owner} "
            f"lets {account} edit it, Kaggle refuses the files once they are all sent",
        )


def refuse_leaks(folder: Path, files: Iterable[Path], secrets: Sequence[str] = ()) -> None:
    """Raise `PreflightError` if a small file of a folder holds credentials, or these secrets."""
    texts = ((path.relative_to(folder).as_posix(), _text(path)) for path in files)
    leaks = list(find_secrets(texts, secrets))
    if leaks:
        listed = "\n".join(f"  - {leak}" for leak in leaks)
        raise PreflightError(f"refusing to upload credentials:\n{listed}")


def _text(path: Path) -> str:
    """A file's text; empty if the file is too large to be searched for credentials."""
    if path.stat().st_size > LARGEST_TEXT:
        return ""
    return path.read_text("utf-8", "replace")


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / VARIATION
    slug = slugify(folder.resolve().name) or "my-model"
    example = json.dumps(EXAMPLE | {"modelSlug": slug})
    settings = json_object(path, f"no {VARIATION} in {folder}: write it, for example {example}")
    for key in EXAMPLE:
        value = settings.get(key)
        if key == "ownerSlug" and isinstance(value, str) and is_placeholder(value):
            continue
        if not isinstance(value, str) or not value or value.startswith("INSERT_"):
            raise PreflightError(f"{path} has no {key}: fill it in")
        if key.endswith("Slug") and not MODEL_SLUG.fullmatch(value):
            raise PreflightError(
                f"{path}: {key} {value!r} must be lowercase letters, digits, hyphens"
            )
    from kernelkit.kaggle.calls import framework_of, variation_body

    framework_of(settings["framework"], str(path))
    with _known_values(path):
        variation_body(settings)
    return settings


def _see_to_model(kaggle: Kaggle, folder: Path, owner: str, slug: str) -> None:
    """Make the model if it is not there, as `MODEL` beside it describes its page.

    Raises `RefusedError` or `PreflightError`.
    """
    get = partial(kaggle.calls.get_model, owner, slug)
    if kaggle.if_there(get):
        return
    path = folder / MODEL
    page: dict[str, Any] = {"slug": slug, "title": slug.replace("-", " ").capitalize()}
    if path.is_file():
        page = json_object(path, "")
    if page.get("slug") != slug or not page.get("title"):
        raise PreflightError(f"{path} must have a title and the slug {slug!r}, as {VARIATION} says")
    filled_in = {key: value for key, value in page.items() if value != ""}
    page = {"isPrivate": True, **filled_in, "ownerSlug": owner}
    try:
        with _known_values(path):
            answer = kaggle.calls.create_model(page)
    except Failure as failure:
        if not failure.is_transient or not kaggle.if_there(get):
            raise
    else:
        if answer.error:
            raise RefusedError(f"Kaggle did not accept the model: {answer.error}")


@contextmanager
def _known_values(path: Path) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PreflightError(f"{path} has a value that Kaggle does not know: {error}") from None

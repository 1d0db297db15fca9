"""Upload a folder as a private dataset, or as a version of a model's variation.

A folder inside it is sent as one archive, which Kaggle unpacks to a folder of that name.
"""

import contextlib
import zipfile
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from slugify import slugify

from kernelkit.errors import ParameterError
from kernelkit.files import size_of
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context.kaggle_context import CommandOptions, KaggleContext
from kernelkit.kaggle.exchange.targets import DATASET_SLUG, Dataset, Target, Variation
from kernelkit.kaggle.metadata_words import is_placeholder
from kernelkit.kaggle.uploading import upload_metadata, versions
from kernelkit.kaggle.uploading.contents import Contents, refuse_leaks
from kernelkit.project import find_project
from kernelkit.terminal.events import DRY_RUN, WARNING, Event

# What is ready for kernels to use, by its kind.
READY = {kind: Event(kind, quiet=True) for kind in ("dataset", "model")}
WEIGHTS = (".pth", ".pt")  # which are zip archives inside: one was unpacked, as somebody reported
SHOWN = 5  # names of files, in a warning


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
    page = upload_metadata.dataset_page(folder)
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


def upload_model(folder: Path, **options: Unpack[UploadOptions]) -> str:
    """Upload a folder as a version of a variation, and wait until kernels can use it.

    The model and the variation are made if Kaggle has none of these names. Returns
    "owner/model/framework/variation/version", which goes into `model_sources`. Raises
    `PreflightError` for metadata that Kaggle would not take, and what `upload` raises.
    """
    settings = upload_metadata.variation_settings(folder)

    def prepare(kaggle: Kaggle) -> Variation:
        owner = _owner(kaggle, settings["ownerSlug"])
        upload_metadata.ensure_model(kaggle, folder, owner, settings["modelSlug"])
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
    """Upload a folder as a version of a dataset or variation, and wait until kernels can use it.

    `prepare` returns the dataset or variation that gets the version; it may ask Kaggle, and makes a
    model that is not there. Nothing is uploaded where Kaggle's latest version has these bytes. In
    a project, one command at a time uploads to the same dataset or variation, so that the same
    command twice at once makes one version.

    Returns the source that goes into a kernel's metadata; "" for a dry run. Raises
    `ParameterError` for an empty folder, `PreflightError` for credentials in it, `StorageError` for
    a file that changes meanwhile, `OutputsError` if Kaggle lists no file of the version, and
    `RefusedError`, `CredentialsError` or `NetworkError` as Kaggle answers.
    """
    # The project has the runs and a rehearsal's Kaggle. For a folder in none it is that of the
    # current folder: in the folder itself, what they write would be uploaded too.
    project = find_project(folder)
    if not project.is_configured:
        project = find_project(Path.cwd())
    context = KaggleContext.in_project(project, **options)
    found = Contents.of_folder(folder).files
    refuse_leaks(folder, found.values())
    metadata = upload_metadata.METADATA_FILES
    contents = Contents.of({name: path for name, path in found.items() if name not in metadata})
    files = contents.files.values()
    if not files:
        raise ParameterError(f"{folder} holds no file to upload")
    _warn_of_archives(context, files)
    if dry_run:
        sizes = {name: path.stat().st_size for name, path in contents.files.items()}
        lines = "\n".join(f"  {name}, {size_of(size)}" for name, size in sizes.items())
        total = size_of(sum(sizes.values()))
        context.events(DRY_RUN, f"nothing was sent; this would be {total}:\n{lines}", files=sizes)
        return ""
    with context.announcing_errors(), context.connect() as kaggle:
        refuse_leaks(folder, files, kaggle.connection.secrets)  # now that they are known
        target = prepare(kaggle)
        _warn_of_other_owner(context, target)
        # A push takes the same turn for its datasets. Outside any project there is no place for a
        # lock.
        doing = f"uploading {target.reference}"
        turn = context.alone(doing) if project.is_configured else contextlib.nullcontext()
        with turn:
            version = versions.ensure_version(context, target, contents, notes)
    source = target.source(version)
    kind = target.kind
    text = f'{target.reference} is ready: "{kind}_sources": ["{source}"]'
    context.events(READY[kind], text, ref=source)
    return source


def _warn_of_archives(context: KaggleContext, files: Collection[Path]) -> None:
    """Warn of the archives among files that are uploaded: Kaggle unpacks them."""
    packed = [path.name for path in files if path.suffix.lower() in versions.ARCHIVES]
    if packed:
        names = ", ".join(packed[:SHOWN])
        context.events(WARNING, f"Kaggle unpacks {names}: what is in them is not verified")
    weights = [path.name for path in files if path.suffix in WEIGHTS and zipfile.is_zipfile(path)]
    if weights:
        names = ", ".join(weights[:SHOWN])
        context.events(
            WARNING,
            f"{names}: a zip archive inside, which Kaggle may unpack to a folder. Look at the "
            "dataset's page before a run reads it",
        )


def _warn_of_other_owner(context: KaggleContext, target: Target) -> None:
    """Warn before an upload to another owner: Kaggle refuses it only when it has arrived."""
    owner = target.reference.partition("/")[0]
    account = context.kaggle.username
    if owner.lower() != account.lower():
        context.events(
            WARNING,
            f"{target.reference} belongs to {owner}, as the folder's metadata says: unless {owner} "
            f"lets {account} edit it, Kaggle refuses the files once they are all sent",
        )

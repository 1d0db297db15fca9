"""Pages with versions of files, as users may see them: datasets, and models with their variations.

A page is named by its path: `datasets/owner/slug`, `models/owner/model`, which has no files of its
own, or `models/owner/model/framework/variation`.
"""

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Row

from kagglesdk.models.types.model_enums import ModelFramework
from starlette.exceptions import HTTPException

from local_kaggle.catalogue import files_below
from local_kaggle.state import ServerState
from local_kaggle.wire import Json, Message

MODEL_DEPTH = 2  # slashes in the name of a model or a dataset; that of a variation has more
FRAMEWORKS = {
    framework: framework.name.removeprefix("MODEL_FRAMEWORK_").replace("_", "").lower()
    for framework in ModelFramework
    if framework.value
}
"""Their names in references, such as `tensorflow2`."""


@dataclass(frozen=True)
class Version:
    """One version: its files are in `folder`, and available once it is `ready`."""

    number: int
    created: float
    failure: str | None
    ready: bool
    folder: Path

    @property
    def files(self) -> list[tuple[str, Path]]:
        """Their names and paths, sorted."""
        return files_below(self.folder)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for _, path in self.files)

    @property
    def status(self) -> str:
        if self.failure:
            return "FAILED"
        return "READY" if self.ready else "BLOBS_RECEIVED"


@dataclass(frozen=True)
class Page:
    """What its owner wrote, as JSON of Kaggle's API, and its versions, the newest first.

    A page of the catalogue has the id 0.
    """

    id: int
    name: str
    fields: Json
    versions: list[Version]

    @property
    def ref(self) -> str:
        """The name as users know it, such as `owner/slug`."""
        return self.name.partition("/")[2]

    @property
    def owner(self) -> str:
        return self.name.split("/")[1]

    @property
    def slug(self) -> str:
        return self.name.rpartition("/")[2]

    def version(self, number: int | None) -> Version:
        """The version of this number, or the newest that is ready. Raises HTTPException 404."""
        for version in self.versions:
            if version.ready and number in (None, 0, version.number):
                return version
        what = "Dataset" if self.name.startswith("datasets") else "Model"
        named = number or ""
        raise HTTPException(404, f"{what} version {named} not found")


def name_of(request: Message) -> str:
    """The name of the page of the dataset, model or variation that a request names."""
    if hasattr(request, "dataset_slug"):
        return f"datasets/{request.owner_slug}/{request.dataset_slug}"
    name = f"models/{request.owner_slug}/{request.model_slug}"
    if hasattr(request, "instance_slug"):
        name += f"/{FRAMEWORKS.get(request.framework, '')}/{request.instance_slug}"
    return name


def find(state: ServerState, name: str) -> Page:
    """The page of this name, stored or of the catalogue, if the user may see it.

    Raises HTTPException 404.
    """
    kind, _, reference = name.partition("/")
    if name.count("/") > MODEL_DEPTH:
        find(state, "/".join(name.split("/")[: MODEL_DEPTH + 1]))
    page = None
    if state.contents.find(kind, reference):
        folders = state.contents.versions(kind, reference).items()
        versions = [Version(n, f.stat().st_mtime, None, True, f) for n, f in folders]
        page = Page(0, name, state.contents.page(kind, reference), versions)
    elif row := state.store.row("SELECT * FROM pages WHERE name = ?", name.lower()):
        page = Page(row["id"], row["name"], json.loads(row["fields"]), _versions(state, row))
    # Without a version a dataset or a variation is being created.
    is_model = kind == "models" and name.count("/") == MODEL_DEPTH
    not_found = HTTPException(404, f"{kind[:-1].title()} not found")
    if page is None:
        raise not_found
    if not page.versions and not is_model:
        raise not_found
    if page.fields.get("isPrivate") and not state.is_user(page.owner):
        raise not_found
    return page


def named(state: ServerState, request: Message) -> Page:
    """The page that a request names, as `find` gives it."""
    return find(state, name_of(request))


def version_of(state: ServerState, name: str, number: int | None) -> Version:
    """The version of a page whose files the user may have. Raises HTTPException 403 or 404."""
    page = find(state, name)
    if "/".join(page.ref.split("/")[:2]) in state.limits.rules_pending:
        raise HTTPException(403, "You must consent to the license of this model first")
    return page.version(number)


def below(state: ServerState, above: str) -> list[Page]:
    """All pages that the user may see two levels below `datasets`, `models` or a model, by name."""
    names = {f"{above}/{reference}" for reference in state.contents.references(above)}
    for row in state.store.rows("SELECT name FROM pages"):
        if row["name"].startswith(f"{above}/") and row["name"].count("/") == above.count("/") + 2:
            names.add(row["name"])
    pages = []
    for name in sorted(names):
        with suppress(HTTPException):  # it may not be seen, or has no version
            pages.append(find(state, name))
    return pages


def _versions(state: ServerState, page: Row) -> list[Version]:
    ready_since = time.time() - state.limits.dataset_seconds
    query = "SELECT * FROM page_versions WHERE page = ? ORDER BY number DESC"
    return [
        Version(
            row["number"],
            row["created"],
            row["failure"],
            not row["failure"] and row["created"] <= ready_since,
            state.root / page["name"] / str(row["number"]),
        )
        for row in state.store.rows(query, page["id"])
    ]

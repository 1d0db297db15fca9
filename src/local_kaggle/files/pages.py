"""Pages with versions of files: datasets, and models with their variations.

A page is named by its path: `datasets/owner/slug`, `models/owner/model`, which has no files of its
own, or `models/owner/model/framework/variation`.
"""

import json
import re
import shutil
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from starlette.exceptions import HTTPException

from local_kaggle.files import storage
from local_kaggle.state import ServerState
from local_kaggle.wire import Filters, Json, Message

MODEL_DEPTH = 2  # slashes in the name of a model or a dataset; that of a variation has more

NAMES = re.compile(
    r"datasets/[^/]+/[a-z0-9][a-z0-9_-]{5,49}"
    r"|models/[^/]+/[a-z0-9][a-z0-9_-]{1,49}(/[a-z0-9]+/[a-z0-9][a-z0-9._-]{0,49})?"
)
"""What the pages may be called that users make."""
TAKEN = {"datasets": "is already in use", "models": "is already used by another model"}
"""What is said of a name that a page has; the clients know the words."""
changing = threading.Lock()
"""Hold this to look and then change, so that no two versions get one number."""


@dataclass(frozen=True)
class Version:
    """One version: its files are in `folder`, and can be had once it is `ready`."""

    number: int
    created: float
    failure: str | None
    ready: bool
    folder: Path

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


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
        raise HTTPException(404, f"{what} version {number or ''} not found")


FILTERS: Filters = {
    "search": lambda page, words: words in f"{page.ref} {page.fields.get('title', '')}".lower(),
    "user": lambda page, owner: page.owner.lower() == owner,
    "owner": lambda page, owner: page.owner.lower() == owner,
}
"""The filters that the lists of all pages have."""


def find(state: ServerState, name: str) -> Page:
    """The page of this name, stored or of the catalogue, if the user may see it.

    Raises HTTPException 404.
    """
    kind, _, reference = name.partition("/")
    if name.count("/") > MODEL_DEPTH:
        find(state, "/".join(name.split("/")[: MODEL_DEPTH + 1]))
    page = None
    if state.catalogue.find(kind, reference):
        folders = state.catalogue.versions(kind, reference).items()
        versions = [Version(n, f.stat().st_mtime, None, True, f) for n, f in folders]
        page = Page(0, name, state.catalogue.page(kind, reference), versions)
    elif row := state.store.row("SELECT * FROM pages WHERE name = ?", name.lower()):
        fields = json.loads(row["fields"])
        page = Page(row["id"], row["name"], fields, _versions(state, row["id"], row["name"]))
    # Without a version a dataset or a variation is being created.
    is_model = kind == "models" and name.count("/") == MODEL_DEPTH
    if (
        page is None
        or (page.fields.get("isPrivate") and not state.is_user(page.owner))
        or not (page.versions or is_model)
    ):
        raise HTTPException(404, f"{kind[:-1].title()} not found")
    return page


def version_of(state: ServerState, name: str, number: int | None) -> Version:
    """The version of a page whose files the user may have. Raises HTTPException 403 or 404."""
    page = find(state, name)
    if "/".join(page.ref.split("/")[:2]) in state.limits.rules_pending:
        raise HTTPException(403, "You must consent to the license of this model first")
    return page.version(number)


def own(state: ServerState, name: str) -> Page:
    """The stored page of this name, if the user may change it; else HTTPException 403 or 404."""
    page = find(state, name)
    if not page.id or not state.is_user(page.owner):
        raise HTTPException(403, f"Permission '{name.partition('/')[0]}.update' was denied")
    return page


def below(state: ServerState, above: str) -> list[Page]:
    """All pages that the user may see two levels below `datasets`, `models` or a model, by name."""
    names = {f"{above}/{reference}" for reference in state.catalogue.references(above)}
    for row in state.store.rows("SELECT name FROM pages"):
        if row["name"].startswith(f"{above}/") and row["name"].count("/") == above.count("/") + 2:
            names.add(row["name"])
    pages = []
    for name in sorted(names):
        with suppress(HTTPException):  # it may not be seen, or has no version
            pages.append(find(state, name))
    return pages


def create(state: ServerState, name: str, fields: Json, upload: Message | None = None) -> Json:
    """Add a page of the user's, with a first version of what was uploaded; the answer.

    A name that is none, or that is taken by a page that nobody else need see, is refused in its
    `error`. Raises HTTPException 403 for another owner, and 400 for an upload that is not complete.
    """
    kind, owner, *_ = name.split("/")
    if not state.is_user(owner):
        raise HTTPException(403, f"Permission '{kind}.create' was denied")
    with changing:
        error = None
        if not NAMES.fullmatch(name):
            error = f"{name} is no valid name: 2 to 50 letters, digits and hyphens, a dataset's 6"
        elif state.catalogue.find(kind, name.partition("/")[2]) or state.store.row(
            "SELECT 1 FROM pages WHERE name = ?", name
        ):
            is_variation = name.count("/") > MODEL_DEPTH
            error = f"{name} {'already exists' if is_variation else TAKEN[kind]}"
        if error:
            return {"status": "error", "error": error, "errorCode": 409}
        files = list(_uploaded(state, upload)) if upload else None
        insert = "INSERT INTO pages (name, fields) VALUES (?, ?)"
        page = Page(state.store.change(insert, name, json.dumps(fields)), name, fields, [])
        if files is not None:
            _add(state, page, files)
    return changed(state, page)


def changed(state: ServerState, page: Page, version: str = "") -> Json:
    """The answer to a change of a page, with what any client reads from it."""
    url = f"{state.url}/{page.name}{version}"
    return {"id": page.id, "ref": page.ref + version, "url": url, "status": "ok"}


def update(state: ServerState, name: str, fields: Json) -> Json:
    """Change some of the fields of a page of the user's; the answer."""
    with changing:
        page = own(state, name)
        change = "UPDATE pages SET fields = ? WHERE id = ?"
        state.store.change(change, json.dumps(page.fields | fields), page.id)
    return changed(state, page)


def add_version(state: ServerState, name: str, upload: Message) -> Json:
    """Add a version of what was uploaded to a page of the user's; the answer.

    Raises HTTPException 400 for an upload that is not complete.
    """
    with changing:
        page = own(state, name)
        number = _add(state, page, list(_uploaded(state, upload)))
        if getattr(upload, "delete_old_versions", False):
            remove_versions(state, page, page.versions)
    return changed(state, page, "" if name.startswith("datasets") else f"/{number}")


def remove(state: ServerState, name: str) -> Json:
    """Delete a page of the user's, and the variations of a model, with all versions; the answer."""
    with changing:
        name = own(state, name).name
        for row in state.store.rows("SELECT id, name FROM pages"):
            if f"{row['name']}/".startswith(f"{name}/"):
                state.store.change("DELETE FROM page_versions WHERE page = ?", row["id"])
                state.store.change("DELETE FROM pages WHERE id = ?", row["id"])
        shutil.rmtree(state.root / name, ignore_errors=True)
    return {}


def remove_versions(state: ServerState, page: Page, versions: Sequence[Version]) -> None:
    """Forget the versions, and free what their files take."""
    for version in versions:
        shutil.rmtree(version.folder, ignore_errors=True)
        change = "DELETE FROM page_versions WHERE page = ? AND number = ?"
        state.store.change(change, page.id, version.number)


def _versions(state: ServerState, page: int, name: str) -> list[Version]:
    ready_since = time.time() - state.limits.dataset_seconds
    query = "SELECT * FROM page_versions WHERE page = ? ORDER BY number DESC"
    return [
        Version(
            row["number"],
            row["created"],
            row["failure"],
            not row["failure"] and row["created"] <= ready_since,
            state.root / name / str(row["number"]),
        )
        for row in state.store.rows(query, page)
    ]


def _uploaded(state: ServerState, upload: Message, inside: str = "") -> Iterator[tuple[str, Path]]:
    """The files of an upload and of the directories in it. Raises HTTPException 400."""
    for file in upload.files:
        name, path = storage.complete(state, file.token)
        yield inside + name, path
    for directory in upload.directories:
        if not re.fullmatch(r"(?!\.\.?$)[^/\0]+", directory.name):
            raise HTTPException(400, f"{directory.name!r} is no name of a directory")
        yield from _uploaded(state, directory, f"{inside}{directory.name}/")


def _add(state: ServerState, page: Page, files: list[tuple[str, Path]]) -> int:
    number = page.versions[0].number + 1 if page.versions else 1
    failure = _lay_out(files, state.root / page.name / str(number))
    insert = "INSERT INTO page_versions VALUES (?, ?, ?, ?)"
    state.store.change(insert, page.id, number, time.time(), failure)
    return number


def _lay_out(files: list[tuple[str, Path]], folder: Path) -> str | None:
    """Move uploads into a version's folder, archives unpacked as Kaggle does; what went wrong.

    kagglehub sends a folder of many files as one `archive.zip`, which is that folder.
    """
    folder.mkdir(parents=True)
    whole = [name for name, _ in files] == ["archive.zip"]
    try:
        for name, path in files:
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".zip"):
                with zipfile.ZipFile(path) as packed:
                    packed.extractall(folder if whole else place.with_suffix(""))  # noqa: S202 - it keeps within
                path.unlink()
            elif name.endswith(".tar"):
                with tarfile.open(path) as tarred:
                    tarred.extractall(place.with_suffix(""), filter="data")
                path.unlink()
            else:
                path.rename(place)
    except Exception as error:  # broken archives end in errors of many kinds
        return str(error)
    return None

"""Pages with versions of files: datasets, and models with their variations.

A page is named by its path: `datasets/owner/slug`, `models/owner/model`, which has no files of its
own, or `models/owner/model/framework/variation`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from local_kaggle.api.wire import Message
from local_kaggle.files import storage
from local_kaggle.files.archives import archives_of
from local_kaggle.state import ServerState

Blob = tuple[str, str, Path]  # its token, its name in the version, and its file

MODEL_DEPTH = 2  # slashes in the name of a model or a dataset; that of a variation has more

changing = threading.Lock()
"""Hold this to look and then change, so that no two versions get one number."""


@dataclass(frozen=True)
class Version:
    """One version: its files are in `folder`, and can be had once it is `ready`."""

    number: int
    created: float
    notes: str | None
    failure: str | None
    ready: bool
    folder: Path


@dataclass(frozen=True)
class Page:
    """What its owner wrote, as JSON of Kaggle's API, and its versions, the newest first.

    A page of the catalogue has the id 0.
    """

    id: int
    name: str
    fields: dict[str, Any]
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

    @property
    def private(self) -> bool:
        return bool(self.fields.get("isPrivate"))

    @property
    def size(self) -> int:
        """Bytes of the newest version."""
        files = self.versions[0].folder.rglob("*") if self.versions else ()
        return sum(path.stat().st_size for path in files if path.is_file())

    def version(self, number: int | None) -> Version:
        """The version of this number, or the newest that is ready. Raises HTTPException 404."""
        for version in self.versions:
            if version.ready and number in (None, 0, version.number):
                return version
        what = "Dataset" if self.name.startswith("datasets") else "Model"
        raise HTTPException(404, f"{what} version {number or ''} not found")


def find(state: ServerState, name: str, user: str) -> Page:
    """The page of this name, stored or of the catalogue, if `user` may see it.

    Raises HTTPException 404.
    """
    kind, _, reference = name.partition("/")
    if name.count("/") > MODEL_DEPTH:
        find(state, "/".join(name.split("/")[: MODEL_DEPTH + 1]), user)
    row = state.store.row("SELECT * FROM pages WHERE name = ?", name.lower())
    page = None
    if state.catalogue.find(kind, reference):
        folders = state.catalogue.versions(kind, reference).items()
        versions = [Version(n, f.stat().st_mtime, None, None, True, f) for n, f in folders]
        page = Page(0, name, state.catalogue.page(kind, reference), versions)
    elif row:
        fields = json.loads(row["fields"])
        page = Page(row["id"], row["name"], fields, _versions(state, row["id"], row["name"]))
    # Without a version a dataset or a variation is being created.
    is_model = kind == "models" and name.count("/") == MODEL_DEPTH
    if (
        page is None
        or (page.private and page.owner.lower() != user.lower())
        or not (page.versions or is_model)
    ):
        raise HTTPException(404, f"{kind[:-1].title()} not found")
    return page


def version_of(state: ServerState, name: str, number: int | None, user: str) -> Version:
    """The version of a page whose files `user` may have. Raises HTTPException 403 or 404."""
    page = find(state, name, user)
    if "/".join(page.ref.split("/")[:2]) in state.limits.rules_pending:
        raise HTTPException(403, "You must consent to the license of this model first")
    return page.version(number)


def own(state: ServerState, name: str, user: str) -> Page:
    """The stored page of this name, if `user` may change it; else HTTPException 403 or 404."""
    page = find(state, name, user)
    if not page.id or page.owner != user.lower():
        raise HTTPException(403, f"Permission '{name.partition('/')[0]}.update' was denied")
    return page


def below(state: ServerState, above: str, user: str) -> list[Page]:
    """All pages that `user` may see two levels below `datasets`, `models` or a model, by name."""
    stored = {row["name"] for row in state.store.rows("SELECT name FROM pages")}
    names = {
        name
        for name in stored
        if name.startswith(f"{above}/") and name.count("/") == above.count("/") + 2
    } | {f"{above}/{reference}" for reference in state.catalogue.references(above)}
    pages = []
    for name in sorted(names):
        try:
            pages.append(find(state, name, user))
        except HTTPException:  # it may not be seen, or has no version
            continue
    return pages


def mounted(state: ServerState, name: str, number: int | None, user: str) -> Path | None:
    """The folder that a kernel of `user` gets for a page; None if there is none yet.

    It is that of version `number`, or of the newest. A variation's name ends in its version.
    """
    if name.startswith("models/"):
        name, _, last = name.rpartition("/")
        number = int(last) if last.isdecimal() else -1
    try:
        return version_of(state, name, number, user).folder
    except HTTPException:
        return None


def taken(state: ServerState, name: str) -> bool:
    """Whether there is a page of this name, whoever may see it."""
    kind, _, reference = name.partition("/")
    row = state.store.row("SELECT 1 FROM pages WHERE name = ?", name)
    return bool(row or state.catalogue.find(kind, reference))


def create(
    state: ServerState, name: str, fields: dict[str, Any], upload: Message | None = None
) -> Page:
    """Add a page, with a first version of what was uploaded. Raises HTTPException 400."""
    blobs = list(_blobs(state, upload)) if upload else None
    insert = "INSERT INTO pages (name, fields) VALUES (?, ?)"
    page = Page(state.store.change(insert, name, json.dumps(fields)), name, fields, [])
    if blobs is not None:
        _add(state, page, blobs, "Initial release")
    return page


def update(state: ServerState, page: Page, fields: dict[str, Any]) -> None:
    """Change some of a page's fields."""
    change = "UPDATE pages SET fields = ? WHERE id = ?"
    state.store.change(change, json.dumps(page.fields | fields), page.id)


def add_version(state: ServerState, page: Page, upload: Message, notes: str | None) -> int:
    """Add a version of what was uploaded; its number. Raises HTTPException 400."""
    return _add(state, page, list(_blobs(state, upload)), notes)


def remove(state: ServerState, page: Page) -> None:
    """Delete a page, and the variations of a model, with all versions."""
    for row in state.store.rows("SELECT id, name FROM pages"):
        if f"{row['name']}/".startswith(f"{page.name}/"):
            remove_versions(state, row["id"], _versions(state, row["id"], row["name"]))
            state.store.change("DELETE FROM pages WHERE id = ?", row["id"])
    shutil.rmtree(state.root / page.name, ignore_errors=True)


def remove_versions(state: ServerState, page: int, versions: list[Version]) -> None:
    """Forget the versions, and free all that their bytes take: uploads, files and archives."""
    for version in versions:
        for folder in (version.folder, archives_of(state, version.folder)):
            shutil.rmtree(folder, ignore_errors=True)
        key = page, version.number
        query = "SELECT token FROM version_blobs WHERE page = ? AND number = ?"
        for row in state.store.rows(query, *key):
            storage.path_of(state, row["token"]).unlink(missing_ok=True)
        state.store.change("DELETE FROM version_blobs WHERE page = ? AND number = ?", *key)
        state.store.change("DELETE FROM page_versions WHERE page = ? AND number = ?", *key)


def _versions(state: ServerState, page: int, name: str) -> list[Version]:
    ready_since = time.time() - state.limits.dataset_seconds
    query = "SELECT * FROM page_versions WHERE page = ? ORDER BY number DESC"
    return [
        Version(
            row["number"],
            row["created"],
            row["notes"],
            row["failure"],
            not row["failure"] and row["created"] <= ready_since,
            state.root / name / str(row["number"]),
        )
        for row in state.store.rows(query, page)
    ]


def _blobs(state: ServerState, upload: Message, inside: str = "") -> Iterator[Blob]:
    """The files of an upload and of the directories in it. Raises HTTPException 400."""
    for file in upload.files:
        name, path = storage.complete(state, file.token)
        yield file.token, inside + name, path
    for directory in upload.directories:
        if not re.fullmatch(r"(?!\.\.?$)[^/\0]+", directory.name):
            raise HTTPException(400, f"{directory.name!r} is no name of a directory")
        yield from _blobs(state, directory, f"{inside}{directory.name}/")


def _add(state: ServerState, page: Page, blobs: list[Blob], notes: str | None) -> int:
    key = page.id, page.versions[0].number + 1 if page.versions else 1
    failure = _lay_out(blobs, state.root / page.name / str(key[1]))
    for token, _, _ in blobs:
        state.store.change("INSERT INTO version_blobs VALUES (?, ?, ?)", *key, token)
    insert = "INSERT INTO page_versions VALUES (?, ?, ?, ?, ?)"
    state.store.change(insert, *key, notes, time.time(), failure)
    return key[1]


def _lay_out(blobs: list[Blob], folder: Path) -> str | None:
    """Put blobs into a version's folder, archives unpacked as Kaggle does; what went wrong.

    kagglehub sends a folder of many files as one `archive.zip`, which is that folder.
    """
    folder.mkdir(parents=True)
    whole = [name for _, name, _ in blobs] == ["archive.zip"]
    try:
        for _, name, path in blobs:
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".zip"):
                into = folder if whole else place.with_suffix("")
                with zipfile.ZipFile(path) as packed:
                    packed.extractall(into)  # noqa: S202 - it keeps within
            elif name.endswith(".tar"):
                with tarfile.open(path) as tarred:
                    tarred.extractall(place.with_suffix(""), filter="data")
            else:
                os.link(path, place)  # which takes no room; a whole upload is not written again
    except (zipfile.BadZipFile, tarfile.TarError, OSError) as error:
        return str(error)
    return None

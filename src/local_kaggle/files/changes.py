"""Changes to pages by their owners: creating, uploading, editing and deleting."""

import json
import re
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from kagglesdk.datasets.types import dataset_api_service
from kagglesdk.models.types import model_api_service
from starlette.exceptions import HTTPException

from local_kaggle.files import storage, unpacking
from local_kaggle.files.pages import MODEL_DEPTH, Page, Version, find, name_of
from local_kaggle.files.unpacking import Room, TooLargeError
from local_kaggle.state import ServerState
from local_kaggle.wire import Json, Message, Service

dataset_answers = Service(dataset_api_service)
model_answers = Service(model_api_service)

NAMES = re.compile(
    r"datasets/[^/]+/[a-z0-9][a-z0-9_-]{5,49}"
    r"|models/[^/]+/[a-z0-9][a-z0-9_-]{1,49}(/[a-z0-9]+/[a-z0-9][a-z0-9._-]{0,49})?"
)
"""What the pages may be called that users make."""
TAKEN = {"datasets": "is already in use", "models": "is already used by another model"}
"""What is said of a name that a page has; the clients know the words."""
changing = threading.Lock()
"""Hold this to look and then change, so that no two versions get one number."""


def own(state: ServerState, name: str) -> Page:
    """The stored page of this name, if the user may change it; else HTTPException 403 or 404."""
    page = find(state, name)
    if not page.id or not state.is_user(page.owner):
        raise HTTPException(403, f"Permission '{name.partition('/')[0]}.update' was denied")
    return page


def create(state: ServerState, name: str, fields: Json, upload: Message | None = None) -> Json:
    """Add a page of the user's, with a first version of what was uploaded; the answer.

    An invalid or taken name, even of another private page, and files for which there is no room
    are refused in its `error`.
    Raises HTTPException 403 for another owner, and 400 for an upload that is not complete.
    """
    name = name.lower()
    kind, owner, *_ = name.split("/")
    if not state.is_user(owner):
        raise HTTPException(403, f"Permission '{kind}.create' was denied")
    with changing:
        error = None
        if not NAMES.fullmatch(name):
            error = f"{name} is not valid: 2 (a dataset's 6) to 50 letters, digits and hyphens"
        elif state.contents.find(kind, name.partition("/")[2]) or state.store.row(
            "SELECT 1 FROM pages WHERE name = ?", name
        ):
            is_variation = name.count("/") > MODEL_DEPTH
            why = "already exists" if is_variation else TAKEN[kind]
            error = f"{name} {why}"
        if error:
            return _refused(error, 409)
        files = list(_uploaded(state, upload)) if upload else None
        insert = "INSERT INTO pages (name, fields) VALUES (?, ?)"
        page = Page(state.store.change(insert, name, json.dumps(fields)), name, fields, [])
        if files is not None:
            try:
                _add(state, page, files)
            except TooLargeError as too_large:
                state.store.change("DELETE FROM pages WHERE id = ?", page.id)
                return _refused(str(too_large), 413)
    return _changed(state, page)


def update(state: ServerState, request: Message, fields: Json) -> Json:
    """Change some of the fields of the user's page that a request names; the answer."""
    with changing:
        page = own(state, name_of(request))
        change = "UPDATE pages SET fields = ? WHERE id = ?"
        state.store.change(change, json.dumps(page.fields | fields), page.id)
    return _changed(state, page)


def add_version(state: ServerState, name: str, upload: Message) -> Json:
    """Add a version of what was uploaded to a page of the user's; the answer.

    One for which there is no room is refused in its `error`. Raises HTTPException 400 for an
    upload that is not complete.
    """
    with changing:
        page = own(state, name)
        try:
            number = _add(state, page, list(_uploaded(state, upload)))
        except TooLargeError as too_large:
            return _refused(str(too_large), 413)
        if getattr(upload, "delete_old_versions", False):
            remove_versions(state, page, page.versions)
    return _changed(state, page, "" if name.startswith("datasets") else f"/{number}")


@dataset_answers.to("CreateDatasetVersion")
@model_answers.to("CreateModelInstanceVersion")
def create_version(state: ServerState, request: Message) -> Json:
    """Add a version to a dataset or a variation."""
    return add_version(state, name_of(request), request.body)


@dataset_answers.to("DeleteDataset")
@model_answers.to("DeleteModel", "DeleteModelInstance")
def delete(state: ServerState, request: Message) -> Json:
    """Delete a dataset, a model with all its variations, or a variation; with all versions."""
    with changing:
        name = own(state, name_of(request)).name
        pages = "FROM pages WHERE instr(name || '/', ?) = 1"
        versions = f"FROM page_versions WHERE page IN (SELECT id {pages})"
        for rows in (versions, pages):
            state.store.change(f"DELETE {rows}", f"{name}/")
        shutil.rmtree(state.root / name, ignore_errors=True)
    return {}


def remove_versions(state: ServerState, page: Page, versions: Sequence[Version]) -> None:
    """Delete the versions and their files."""
    for version in versions:
        shutil.rmtree(version.folder, ignore_errors=True)
        change = "DELETE FROM page_versions WHERE page = ? AND number = ?"
        state.store.change(change, page.id, version.number)


def _changed(state: ServerState, page: Page, version: str = "") -> Json:
    """The answer to a change of a page, with what any client reads from it."""
    url = f"{state.url}/{page.name}{version}"
    return {"id": page.id, "ref": page.ref + version, "url": url, "status": "ok"}


def _refused(error: str, code: int) -> Json:
    """The answer to a change that is not made."""
    return {"status": "error", "error": error, "errorCode": code}


def _uploaded(state: ServerState, upload: Message, inside: str = "") -> Iterator[tuple[str, Path]]:
    """The files of an upload and of the directories in it. Raises HTTPException 400."""
    for file in upload.files:
        name, path = storage.complete(state, file.token)
        yield inside + name, path
    for directory in upload.directories:
        if not re.fullmatch(r"(?!\.\.?$)[^/\0]+", directory.name):
            raise HTTPException(400, f"{directory.name!r} is not a directory name")
        yield from _uploaded(state, directory, f"{inside}{directory.name}/")


def _add(state: ServerState, page: Page, files: list[tuple[str, Path]]) -> int:
    """Add a version of these files, a failed one if an archive is broken; returns its number.

    Raises `TooLargeError`, after which nothing is left of it but the uploads.
    """
    number = page.versions[0].number + 1 if page.versions else 1
    folder = state.root / page.name / str(number)
    failure = None
    try:
        _lay_out(files, folder, state.limits.dataset_bytes)
    except TooLargeError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    except Exception as error:  # broken archives end in errors of many kinds
        failure = str(error)
    insert = "INSERT INTO page_versions VALUES (?, ?, ?, ?)"
    state.store.change(insert, page.id, number, time.time(), failure)
    return number


def _lay_out(files: list[tuple[str, Path]], folder: Path, most: float) -> None:
    """Move uploads into a version's folder, and unpack archives as Kaggle does.

    kagglehub sends a folder of many files as one `archive.zip`, which is that folder. Raises
    `TooLargeError`, and errors of many kinds for a broken archive.
    """
    shutil.rmtree(folder, ignore_errors=True)  # of a server that was killed before it had a version
    folder.mkdir(parents=True)
    room = Room(folder, most)
    whole = [name for name, _ in files] == ["archive.zip"]
    for name, path in files:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        ending = unpacking.ending_of(place.name)
        if ending:
            target = folder if whole else place.with_name(place.name[: -len(ending)])
            unpacking.unpack(path, ending, target, room)
            path.unlink()
        else:
            path.rename(place)

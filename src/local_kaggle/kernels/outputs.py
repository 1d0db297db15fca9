"""What a run leaves: its files in pages, behind signed links, and its log."""

from __future__ import annotations

from pathlib import Path

from kagglesdk.kernels.types import kernels_api_service as types
from starlette.exceptions import HTTPException
from starlette.responses import Response

from local_kaggle.api.wire import Message, answers, file_entry, fill, listing
from local_kaggle.catalogue import files_below
from local_kaggle.execution.logs import as_array, read_events
from local_kaggle.execution.running import log_path
from local_kaggle.execution.sessions import ALIVE
from local_kaggle.files.archives import one_or_all
from local_kaggle.kernels.kernels import Row, find, version_of
from local_kaggle.state import ServerState


@answers(types.ApiListKernelSessionOutputRequest, anonymous=True)
def session_output(state: ServerState, request: Message, user: str) -> Message:
    """Links to a page of files; the log on page one. Empty while the session is alive."""
    version = _version(state, request, user)
    log = "" if request.page_token or not _is_over(version) else log_of(state, version)
    answer = listing(
        state,
        request,
        files_of(version),
        lambda message, file: fill(message, file_name=file[0], url=state.link(file[1])),
    )
    return fill(answer, log=log)


@answers(types.ApiListKernelFilesRequest, anonymous=True)
def list_files(state: ServerState, request: Message, user: str) -> Message:
    """Names and sizes in bytes."""
    return listing(state, request, files_of(_version(state, request, user)), file_entry)


@answers(types.ApiDownloadKernelOutputRequest, anonymous=True)
def download(state: ServerState, request: Message, user: str) -> Response:
    """A redirect to one file, or to an archive of all."""
    kernel = find(state, request.owner_slug, request.kernel_slug, user)
    version = version_of(state, kernel, str(request.version_number or ""))
    if not _is_over(version):
        raise HTTPException(404, "This version has no output yet")
    return one_or_all(state, version["outputs"], files_of(version), request.file_path)


def files_of(version: Row) -> list[tuple[str, Path]]:
    """The names and paths of a version's outputs; none while its session is alive."""
    folder = version["outputs"]
    files = files_below(folder) if _is_over(version) else []
    # A link may lead to any file of this machine.
    return [(name, path) for name, path in files if path.resolve().is_relative_to(folder.resolve())]


def log_of(state: ServerState, version: Row) -> str:
    """The log so far as a JSON array; "" where there is none."""
    return as_array(read_events(log_path(state.sessions.folder(version["id"]))))


def _is_over(version: Row) -> bool:
    return version["status"] is not None and version["status"] not in ALIVE


def _version(state: ServerState, request: Message, user: str) -> Row:
    kernel = find(state, request.user_name, request.kernel_slug, user)
    return version_of(state, kernel, request.version_label)

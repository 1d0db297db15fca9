"""Competitions of the catalogue and their files."""

from __future__ import annotations

from pathlib import Path

from kagglesdk.competitions.types import competition_api_service as types
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from local_kaggle.api.wire import Message, answers, fill, moment, page
from local_kaggle.catalogue import files_below
from local_kaggle.files.archives import archive
from local_kaggle.state import ServerState


def folder_of(state: ServerState, competition: str) -> Path:
    """The folder of a competition's files. Raises HTTPException 404."""
    folder = state.catalogue.find("competitions", competition)
    if folder is None:
        raise HTTPException(404, f"Competition {competition} not found")
    return folder


@answers(types.ApiListCompetitionsRequest)
def list_competitions(state: ServerState, request: Message, _user: str) -> Message:
    """The competitions of the catalogue."""
    names = state.catalogue.references("competitions", request.search)
    shown, following = page(state, request, names)
    answer = types.ApiListCompetitionsResponse()
    entries = [_about(state, name) for name in shown]
    return fill(answer, competitions=entries, next_page_token=following)


@answers(types.ApiGetCompetitionRequest)
def get(state: ServerState, request: Message, _user: str) -> Message:
    """One competition."""
    folder_of(state, request.competition_name)
    return _about(state, request.competition_name)


def _about(state: ServerState, name: str) -> Message:
    return fill(
        types.ApiCompetition(),
        ref=f"{state.url}/competitions/{name}",
        title=name,
        url=f"{state.url}/competitions/{name}",
        user_has_entered=True,
        max_daily_submissions=state.limits.submissions_a_day,
        is_kernels_submissions_only=state.catalogue.find("hidden", name) is not None,
    )


@answers(types.ApiListDataFilesRequest)
def list_files(state: ServerState, request: Message, _user: str) -> Message:
    """Names and sizes in bytes."""
    folder = folder_of(state, request.competition_name)
    shown, following = page(state, request, files_below(folder))
    files = [
        fill(
            types.ApiDataFile(),
            name=name,
            total_bytes=path.stat().st_size,
            creation_date=moment(path.stat().st_mtime),
        )
        for name, path in shown
    ]
    return fill(types.ApiListDataFilesResponse(), files=files, next_page_token=following)


@answers(types.ApiDownloadDataFileRequest)
def download(state: ServerState, request: Message, _user: str) -> Response:
    """A redirect to one file."""
    files = dict(files_below(folder_of(state, request.competition_name)))
    if request.file_name not in files:
        raise HTTPException(404, f"The competition has no file {request.file_name}")
    return RedirectResponse(state.link(files[request.file_name]), 302)


@answers(types.ApiDownloadDataFilesRequest)
def download_all(state: ServerState, request: Message, _user: str) -> Response:
    """A redirect to one archive."""
    name = request.competition_name
    packed = archive(state, folder_of(state, name), f"competitions/{name}")
    return RedirectResponse(state.link(packed), 302)

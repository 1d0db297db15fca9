"""Competitions of the catalogue and their files."""

from __future__ import annotations

from pathlib import Path

from kagglesdk.competitions.types import competition_api_service as types
from starlette.exceptions import HTTPException
from starlette.responses import Response

from local_kaggle.api.wire import Json, Message, answers, file_entries, listing
from local_kaggle.catalogue import files_below
from local_kaggle.files.archives import one_or_all
from local_kaggle.state import ServerState


def folder_of(state: ServerState, competition: str) -> Path:
    """The folder of a competition's files. Raises HTTPException 404."""
    folder = state.catalogue.find("competitions", competition)
    if folder is None:
        raise HTTPException(404, f"Competition {competition} not found")
    return folder


def entered(state: ServerState, competition: str) -> Path:
    """The same, where the competition's rules are accepted; else HTTPException 403."""
    folder = folder_of(state, competition)
    if competition in state.limits.rules_pending:
        raise HTTPException(403, "You must accept this competition's rules before you can continue")
    return folder


@answers(types.ApiListCompetitionsRequest)
def list_competitions(state: ServerState, request: Message) -> Json:
    """The competitions of the catalogue whose names hold the words of a search."""
    search = (request.search or "").lower()
    names = state.catalogue.references("competitions")
    found = [_about(state, name) for name in names if search in name.lower()]
    return listing(state, request, "competitions", found)


@answers(types.ApiGetCompetitionRequest)
def get(state: ServerState, request: Message) -> Json:
    """One competition."""
    folder_of(state, request.competition_name)
    return _about(state, request.competition_name)


def _about(state: ServerState, name: str) -> Json:
    return {
        "title": name,
        **state.catalogue.page("competitions", name),
        "ref": f"{state.url}/competitions/{name}",
        "url": f"{state.url}/competitions/{name}",
        "userHasEntered": name not in state.limits.rules_pending,
        "maxDailySubmissions": state.limits.submissions_a_day,
        "isKernelsSubmissionsOnly": state.catalogue.find("hidden", name) is not None,
    }


@answers(types.ApiListDataFilesRequest)
def list_files(state: ServerState, request: Message) -> Json:
    """Names and sizes in bytes."""
    folder = entered(state, request.competition_name)
    return listing(state, request, "files", file_entries(files_below(folder)))


@answers(types.ApiDownloadDataFileRequest)
@answers(types.ApiDownloadDataFilesRequest)
def download(state: ServerState, request: Message) -> Response:
    """A redirect to one file, or to an archive of all."""
    folder = entered(state, request.competition_name)
    name = getattr(request, "file_name", None)
    return one_or_all(state, files_below(folder), name)

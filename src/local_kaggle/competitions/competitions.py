"""Competitions of the catalogue and their files."""

from __future__ import annotations

from pathlib import Path

from kagglesdk.competitions.types import competition_api_service as types
from kagglesdk.competitions.types.competition_enums import HostSegment
from starlette.exceptions import HTTPException
from starlette.responses import Response

from local_kaggle.api.wire import Message, answers, file_entry, fill, listing
from local_kaggle.catalogue import files_below
from local_kaggle.files.archives import one_or_all
from local_kaggle.state import ServerState

TABS = ("GENERAL", "ENTERED", "EVERYTHING")  # the groups that have the catalogue's competitions


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
def list_competitions(state: ServerState, request: Message, _user: str) -> Message:
    """The competitions of the catalogue: entered by everybody, and launched."""
    names = state.catalogue.references("competitions", request.search)
    segment = request.category or HostSegment.HOST_SEGMENT_UNSPECIFIED
    if request.group and request.group.name.rpartition("_TAB_")[2] not in TABS:
        names = []
    elif segment.value:
        category = segment.name.removeprefix("HOST_SEGMENT_").replace("_", " ").lower()
        pages = {name: state.catalogue.page("competitions", name) for name in names}
        names = [name for name in names if pages[name].get("category", "").lower() == category]
    return listing(state, request, names, lambda message, name: _about(state, message, name))


@answers(types.ApiGetCompetitionRequest)
def get(state: ServerState, request: Message, _user: str) -> Message:
    """One competition."""
    folder_of(state, request.competition_name)
    return _about(state, types.ApiCompetition(), request.competition_name)


def _about(state: ServerState, message: Message, name: str) -> Message:
    page = {"title": name, **state.catalogue.page("competitions", name)}
    return fill(
        type(message).from_dict(page),
        ref=f"{state.url}/competitions/{name}",
        url=f"{state.url}/competitions/{name}",
        user_has_entered=name not in state.limits.rules_pending,
        max_daily_submissions=state.limits.submissions_a_day,
        is_kernels_submissions_only=state.catalogue.find("hidden", name) is not None,
    )


@answers(types.ApiListDataFilesRequest)
def list_files(state: ServerState, request: Message, _user: str) -> Message:
    """Names and sizes in bytes."""
    folder = entered(state, request.competition_name)
    return listing(state, request, files_below(folder), file_entry)


@answers(types.ApiDownloadDataFileRequest)
@answers(types.ApiDownloadDataFilesRequest)
def download(state: ServerState, request: Message, _user: str) -> Response:
    """A redirect to one file, or to an archive of all."""
    folder = entered(state, request.competition_name)
    name = getattr(request, "file_name", None)
    return one_or_all(state, folder, files_below(folder), name)

"""A competition's site: its pages, settings and folders.

competitions/<slug>.pages/<name>.md   a page, such as rules.md
"""

from kagglesdk.competitions.types import competition_api_service as types
from kagglesdk.competitions.types.host_service import CompetitionSettings
from starlette.exceptions import HTTPException

from local_kaggle.catalogue import files_below
from local_kaggle.competitions.competitions import entered, folder_of
from local_kaggle.state import ServerState
from local_kaggle.wire import Json, Message, Service, tree_listing

answers = Service(types)


@answers
def list_competition_pages(state: ServerState, request: Message) -> Json:
    """The pages, or the one that is named."""
    folder = folder_of(state, request.competition_name)
    pages = []
    for path in sorted(folder.with_name(f"{folder.name}.pages").glob("*.md")):
        if request.page_name in (None, "", path.stem):
            content = path.read_text("utf-8")
            mime_type = "text/markdown"
            pages.append({"name": path.stem, "content": content, "mimeType": mime_type})
    return {"pages": pages}


@answers
def get_competition_settings(state: ServerState, request: Message) -> Json:
    """The settings on the catalogue's page, for the host that it names in `hostName`."""
    name = request.competition_name
    folder_of(state, name)
    page = state.contents.page("competitions", name)
    if not state.is_user(page.get("hostName", "")):
        raise HTTPException(403, "Permission 'competitions.update' was denied")
    known = {field.json_name for field in CompetitionSettings._fields}
    settings = {field: value for field, value in page.items() if field in known}
    is_code = state.contents.find("hidden", name) is not None
    usual = {"title": name, "competitionName": name, "onlyAllowKernelSubmissions": is_code}
    return usual | settings


@answers
def list_data_tree_files(state: ServerState, request: Message) -> Json:
    """The files and folders in one folder of a competition's files."""
    return tree_listing(state, request, files_below(entered(state, request.competition_name)))

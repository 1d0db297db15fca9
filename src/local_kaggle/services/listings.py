"""What there is on this Kaggle: lists of datasets, competitions and models; whole datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from kagglesdk.competitions.types import competition_api_service as competitions
from kagglesdk.datasets.types import dataset_api_service as datasets
from kagglesdk.datasets.types.dataset_enums import DatasetSelectionGroup
from kagglesdk.datasets.types.dataset_types import DatasetInfo
from kagglesdk.models.types import model_api_service as models

from local_kaggle.catalogue import files_below
from local_kaggle.services.datasets import Datasets
from local_kaggle.services.wire import (
    ApiError,
    Message,
    Method,
    Redirect,
    fill,
    page,
)
from local_kaggle.state import ServerState

Entry = TypeVar("Entry")
DEPTHS = {"datasets": 2, "competitions": 1, "models": 2}  # folders of the catalogue to an entry


class Listings:
    """Answers the lists and searches of three services, and downloads of datasets."""

    def __init__(self, state: ServerState, uploaded: Datasets) -> None:
        self._state = state
        self._uploaded = uploaded

    def methods(self) -> dict[str, Method]:
        of_datasets = "datasets.DatasetApiService"
        return {
            f"{of_datasets}/ListDatasets": Method(datasets.ApiListDatasetsRequest, self.datasets),
            f"{of_datasets}/DownloadDataset": Method(
                datasets.ApiDownloadDatasetRequest, self.download
            ),
            f"{of_datasets}/GetDatasetMetadata": Method(
                datasets.ApiGetDatasetMetadataRequest, self.metadata
            ),
            "competitions.CompetitionApiService/ListCompetitions": Method(
                competitions.ApiListCompetitionsRequest, self.competitions
            ),
            "models.ModelApiService/ListModels": Method(models.ApiListModelsRequest, self.models),
        }

    def datasets(self, request: Message, user: str) -> Message:
        """The answer to ListDatasets: the catalogue's, and those of users that `user` may see."""
        rows = self._state.store.rows(
            "SELECT owner, slug, title FROM datasets WHERE owner = ? OR NOT private", user.lower()
        )
        titles = {f"{row['owner']}/{row['slug']}": row["title"] for row in rows}
        titles |= {name: name.partition("/")[2] for name in self._catalogued("datasets")}
        mine = request.group == DatasetSelectionGroup.DATASET_SELECTION_GROUP_MY
        owner = (user if mine else request.user or "").lower()
        wanted = [
            name
            for name in self._fitting(titles, request.search)
            if not owner or name.partition("/")[0].lower() == owner
        ]
        shown, following = self._page(wanted, request)
        entries = [
            fill(
                datasets.ApiDataset(),
                ref=name,
                title=titles[name],
                owner_ref=name.partition("/")[0],
                total_bytes=self._size(name, user),
            )
            for name in shown
        ]
        answer = datasets.ApiListDatasetsResponse()
        return fill(answer, datasets=entries, next_page_token=following)

    def competitions(self, request: Message, _user: str) -> Message:
        """The answer to ListCompetitions: those of the catalogue."""
        titles = {name: name for name in self._catalogued("competitions")}
        shown, following = self._page(self._fitting(titles, request.search), request)
        limit = self._state.limits.submissions_a_day
        entries = [
            fill(
                competitions.ApiCompetition(),
                ref=f"{self._state.url}/competitions/{name}",
                title=name,
                url=f"{self._state.url}/competitions/{name}",
                user_has_entered=True,
                max_daily_submissions=limit,
            )
            for name in shown
        ]
        answer = competitions.ApiListCompetitionsResponse()
        return fill(answer, competitions=entries, next_page_token=following)

    def models(self, request: Message, _user: str) -> Message:
        """The answer to ListModels: those of the catalogue."""
        titles = {name: name for name in self._catalogued("models")}
        wanted = [
            name
            for name in self._fitting(titles, request.search)
            if not request.owner or name.partition("/")[0] == request.owner
        ]
        shown, following = self._page(wanted, request)
        entries = [
            fill(models.ApiModel(), ref=name, slug=slug, title=slug, author=owner)
            for name in shown
            for owner, _, slug in [name.partition("/")]
        ]
        answer = models.ApiListModelsResponse()
        return fill(answer, models=entries, next_page_token=following, total_results=len(wanted))

    def download(self, request: Message, user: str) -> Redirect:
        """The answer to DownloadDataset: a redirect to one file, or to an archive of all."""
        owner, slug, name = request.owner_slug, request.dataset_slug, request.file_name
        folder = self._folder(f"{owner}/{slug}", user)
        if name and name not in dict(files_below(folder)):
            raise ApiError(404, f"The dataset has no file {name}")
        # The link is signed for whoever it is given to, so that it names whose view it is.
        wanted = f"{user}/{owner}/{slug}/{name or ''}"
        path = f"/storage/datasets/{'file' if name else 'archive'}/{wanted}"
        return Redirect(self._state.signer.link(path, self._state.limits.link_seconds))

    def metadata(self, request: Message, user: str) -> Message:
        """The answer to GetDatasetMetadata: what `dataset-metadata.json` is made of."""
        name = f"{request.owner_slug}/{request.dataset_slug}"
        self._folder(name, user)
        row = self._state.store.row(
            "SELECT * FROM datasets WHERE owner = ? AND slug = ?",
            request.owner_slug.lower(),
            request.dataset_slug.lower(),
        )
        info = fill(
            DatasetInfo(),
            dataset_slug=request.dataset_slug,
            owner_user=request.owner_slug,
            title=row["title"] if row else request.dataset_slug,
            is_private=bool(row and row["private"]),
            dataset_id=row["id"] if row else None,
        )
        return fill(datasets.ApiGetDatasetMetadataResponse(), info=info)

    def _folder(self, name: str, user: str) -> Path:
        folder = self._uploaded.mounted(name, user)
        if folder is None:
            raise ApiError(404, "Dataset not found")
        return folder

    def _size(self, name: str, user: str) -> int | None:
        folder = self._uploaded.mounted(name, user)
        return sum(path.stat().st_size for _, path in files_below(folder)) if folder else None

    def _catalogued(self, kind: str) -> list[str]:
        base = self._state.catalogue.folder / kind
        found = base.glob("/".join(["*"] * DEPTHS[kind]))
        return sorted(path.relative_to(base).as_posix() for path in found if path.is_dir())

    @staticmethod
    def _fitting(titles: dict[str, str], search: str | None) -> list[str]:
        word = (search or "").lower()
        return sorted(name for name, title in titles.items() if word in f"{name} {title}".lower())

    def _page(self, names: list[Entry], request: Any) -> tuple[list[Entry], str | None]:
        size = min(request.page_size or self._state.limits.page_size, 100)
        number = getattr(request, "page", None) or 1
        return page(names, request.page_token or str((number - 1) * size), size)

"""Lists, searches and whole datasets, as the genuine client asks for them."""

import json
import zipfile
from pathlib import Path

import pytest
from requests.exceptions import HTTPError


@pytest.fixture
def stocked(context):
    catalogue = context.kaggle.catalogue
    for name in (
        "datasets/meadow/soil",
        "datasets/other/rain",
        "competitions/harvest",
        "models/meadow/roots/keras/base/1",
    ):
        (catalogue / name).mkdir(parents=True, exist_ok=True)
        (catalogue / name / "a.csv").write_text("a\n1\n")
    return context


@pytest.fixture
def api(stocked, api):
    return api


def refs(found):
    return [entry.ref for entry in found]


def test_lists_are_searched(api):
    assert {"meadow/soil", "other/rain"} <= set(refs(api.dataset_list()))
    assert refs(api.dataset_list(search="soil")) == ["meadow/soil"]
    assert refs(api.dataset_list(user="other")) == ["other/rain"]
    assert api.dataset_list(mine=True) in ([], None)
    found = api.competitions_list(search="harv")
    assert [entry.title for entry in found.competitions] == ["harvest"]
    assert refs(api.model_list(owner="meadow")) == ["meadow/roots"]


def test_a_page_of_the_catalogue_says_what_is_listed(api, stocked):
    page = stocked.kaggle.catalogue / "datasets/meadow/soil.toml"
    page.write_text('voteCount = 2\nkeywords = ["earth", "garden"]\n')
    (soil,) = api.dataset_list(search="soil")
    assert (soil.vote_count, [tag.name for tag in soil.tags]) == (2, ["earth", "garden"])
    page.unlink()


def test_competitions_keep_to_their_category(api, stocked):
    page = stocked.kaggle.catalogue / "competitions/harvest.toml"
    page.write_text('category = "Getting Started"\n')
    for category, titles in (("gettingStarted", ["harvest"]), ("featured", [])):
        competitions = api.competitions_list(category=category).competitions
        assert [entry.title for entry in competitions] == titles
    page.unlink()


def test_metadata_are_changed_by_their_owner_and_read_back(api, stocked, tmp_path):
    (tmp_path / "a.csv").write_text("a")
    metadata = {"id": "tester/renamed", "title": "Before", "licenses": [{"name": "CC0-1.0"}]}
    file = tmp_path / "dataset-metadata.json"
    file.write_text(json.dumps(metadata))
    api.dataset_create_new(str(tmp_path), public=True, quiet=True)
    changed = {"title": "After", "licenses": [{"name": "GPL-2.0"}], "keywords": ["soil"]}
    file.write_text(json.dumps(metadata | changed | {"isPrivate": True}))
    api.dataset_metadata_update("tester/renamed", str(tmp_path))
    api.dataset_metadata("tester/renamed", str(tmp_path))
    written = json.loads(file.read_text())
    info = written.get("info", written)
    assert (info["title"], info["keywords"], info["isPrivate"]) == ("After", ["soil"], True)
    assert info["licenses"] == [{"name": "GPL-2.0"}]
    assert refs(api.dataset_list(search="after", mine=True)) == ["tester/renamed"]
    with pytest.raises(HTTPError, match="denied"):
        api.dataset_metadata_update("meadow/soil", str(tmp_path))


def test_a_private_dataset_is_in_no_public_list(api, tmp_path):
    (tmp_path / "a.csv").write_text("a")
    metadata = {"id": "tester/private", "title": "Private", "licenses": [{"name": "CC0-1.0"}]}
    (tmp_path / "dataset-metadata.json").write_text(json.dumps(metadata))
    api.dataset_create_new(str(tmp_path), quiet=True)
    assert "tester/private" not in refs(api.dataset_list())
    assert "tester/private" in refs(api.dataset_list(mine=True))


def test_a_dataset_comes_whole_or_by_file(api, tmp_path):
    api.dataset_download_files("meadow/soil", path=str(tmp_path), quiet=True)
    with zipfile.ZipFile(tmp_path / "soil.zip") as archive:
        assert archive.namelist() == ["a.csv"]
    api.dataset_download_file("other/rain", "a.csv", path=str(tmp_path), quiet=True)
    assert (tmp_path / "a.csv").read_text() == "a\n1\n"
    file = api.dataset_metadata("meadow/soil", str(tmp_path))
    assert "soil" in Path(file).read_text()


def test_a_list_comes_in_pages(stocked):
    answer = stocked.call("ListDatasets", pageSize=1)
    assert len(answer["datasets"]) == 1
    rest = stocked.call("ListDatasets", pageSize=9, pageToken=answer["nextPageToken"])
    assert answer["datasets"][0]["ref"] not in [entry["ref"] for entry in rest["datasets"]]


def test_what_is_not_there_is_404(stocked):
    for method in ("DownloadDataset", "GetDatasetMetadata"):
        assert stocked.post(method, ownerSlug="no", datasetSlug="body").status_code == 404
    answer = stocked.post(
        "DownloadDataset", ownerSlug="other", datasetSlug="rain", fileName="../a.csv"
    )
    assert answer.status_code == 404

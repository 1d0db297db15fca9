"""Lists, searches and whole datasets, as the genuine client asks for them."""

import json
from pathlib import Path

import pytest
from requests.exceptions import HTTPError


@pytest.fixture
def stocked(context):
    places = "datasets/meadow/soil", "datasets/other/rain", "competitions/harvest"
    places += ("models/meadow/roots/keras/base/1",)
    context.put({f"{place}/a.csv": "a\n1\n" for place in places})
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
    assert api.dataset_list(search="general") == []  # no group that passes all
    assert api.dataset_list(mine=True) in ([], None)
    found = api.competitions_list(search="harv")
    assert [entry.title for entry in found.competitions] == ["harvest"]
    assert refs(api.model_list(owner="meadow")) == ["meadow/roots"]


def test_lists_keep_to_their_filters(api, dataset):
    folder = dataset("licensed", {"b.json": "{}" * 100}, licenses=[{"name": "GPL-2.0"}])
    api.dataset_create_new(folder, public=True, quiet=True)
    assert refs(api.dataset_list(file_type="json")) == ["tester/licensed"]
    assert refs(api.dataset_list(file_type="csv")) == ["meadow/soil", "other/rain"]
    assert refs(api.dataset_list(min_size="100")) == ["tester/licensed"]
    assert refs(api.dataset_list(max_size="100")) == ["meadow/soil", "other/rain"]
    assert refs(api.dataset_list(license_name="gpl")) == ["tester/licensed"]
    assert refs(api.dataset_list(license_name="other")) == ["meadow/soil", "other/rain"]
    assert api.dataset_list(license_name="cc") == api.dataset_list(tag_ids="soil") == []
    for group, titles in (("entered", ["harvest"]), ("hosted", [])):
        competitions = api.competitions_list(group=group).competitions
        assert [entry.title for entry in competitions] == titles


def test_lists_keep_to_what_the_catalogues_pages_say(api, stocked):
    pages = {
        "datasets/meadow/soil.toml": 'voteCount = 2\nkeywords = ["earth", "garden"]\n',
        "datasets/other/rain.toml": 'voteCount = 10\nkeywords = ["water", "garden"]\n',
        "competitions/harvest.toml": 'reward = "$900"\ndeadline = 2026-05-01T00:00:00Z\n',
        "competitions/orchard/a.csv": "a\n",
        "competitions/orchard.toml": 'reward = "$5,000"\ncategory = "Getting Started"\n',
    }
    stocked.put(pages)
    ordered = [ref for ref in refs(api.dataset_list(sort_by="votes")) if "tester" not in ref]
    assert ordered == ["other/rain", "meadow/soil"]
    (soil,) = api.dataset_list(tag_ids="garden,earth")
    assert (soil.ref, soil.vote_count) == ("meadow/soil", 2)
    assert [tag.name for tag in soil.tags] == ["earth", "garden"]
    for order, first in (("prize", "orchard"), ("earliestDeadline", "harvest")):
        assert api.competitions_list(sort_by=order).competitions[0].title == first
    for category, titles in (("gettingStarted", ["orchard"]), ("featured", [])):
        competitions = api.competitions_list(category=category).competitions
        assert [entry.title for entry in competitions] == titles
    for name in pages:
        (stocked.kaggle.catalogue / name).unlink()
    (stocked.kaggle.catalogue / "competitions/orchard").rmdir()


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        ("ListDatasets", {"size": "SMALL"}),
        ("ListDatasets", {"sortBy": "DATASET_SORT_BY_USABILITY"}),
        ("ListCompetitions", {"group": "COMMUNITY"}),
        ("ListKernels", {"group": "BOOKMARKED"}),
        ("ListModels", {"onlyVertexModels": True}),
        ("ListSubmissions", {"competitionName": "harvest", "sortBy": "SUBMISSION_SORT_BY_NAME"}),
        ("ListTopics", {"group": "UPVOTED"}),
    ],
)
def test_a_parameter_is_named_that_would_have_no_effect(stocked, method, fields):
    answer = stocked.post(method, **fields)
    assert answer.status_code == 501
    assert answer.json()["message"].startswith(f"{list(fields)[-1]}=")


def test_metadata_are_changed_by_their_owner_and_read_back(api, dataset):
    folder = dataset("renamed", {"a.csv": "a"}, title="Before")
    api.dataset_create_new(folder, public=True, quiet=True)
    changed = {"title": "After", "licenses": [{"name": "GPL-2.0"}], "keywords": ["soil"]}
    dataset("renamed", {}, **changed, isPrivate=True)
    api.dataset_metadata_update("tester/renamed", folder)
    api.dataset_metadata("tester/renamed", folder)
    written = json.loads(Path(folder, "dataset-metadata.json").read_text())
    info = written.get("info", written)
    assert info["isPrivate"]
    assert {name: info[name] for name in changed} == changed
    assert refs(api.dataset_list(search="after", mine=True)) == ["tester/renamed"]
    assert refs(api.dataset_list(search="after")) == []  # it is private now
    with pytest.raises(HTTPError, match="denied"):
        api.dataset_metadata_update("meadow/soil", folder)


def test_a_file_comes_alone_and_a_page_as_metadata(api, tmp_path):
    api.dataset_download_file("other/rain", "a.csv", path=str(tmp_path), quiet=True)
    assert (tmp_path / "a.csv").read_text() == "a\n1\n"
    assert "soil" in Path(api.dataset_metadata("meadow/soil", str(tmp_path))).read_text()


def test_what_is_not_there_is_404(stocked):
    for method in ("DownloadDataset", "GetDatasetMetadata"):
        assert stocked.post(method, ownerSlug="no", datasetSlug="body").status_code == 404
    rain = {"ownerSlug": "other", "datasetSlug": "rain"}
    assert stocked.post("DownloadDataset", **rain, fileName="../a.csv").status_code == 404

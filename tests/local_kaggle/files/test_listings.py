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


@pytest.fixture
def listed(api):
    """The datasets that a list has."""
    return lambda **filters: [entry.ref for entry in api.dataset_list(**filters) or ()]


@pytest.fixture
def titles(api):
    """The titles in a list of competitions."""

    def titles(**filters):
        return [entry.title for entry in api.competitions_list(**filters).competitions]

    return titles


def test_lists_are_searched(api, listed, titles):
    assert {"meadow/soil", "other/rain"} <= set(listed())
    assert listed(search="soil") == ["meadow/soil"]
    assert listed(user="other") == ["other/rain"]
    assert listed(search="general") == []  # no group that passes all
    assert listed(mine=True) == []
    assert titles(search="harv") == ["harvest"]
    assert [model.ref for model in api.model_list(owner="meadow")] == ["meadow/roots"]


def test_lists_keep_to_their_filters(api, dataset, listed, titles):
    folder = dataset("licensed", {"b.json": "{}" * 100}, licenses=[{"name": "GPL-2.0"}])
    api.dataset_create_new(folder, public=True, quiet=True)
    assert listed(file_type="json") == ["tester/licensed"]
    assert listed(file_type="csv") == ["meadow/soil", "other/rain"]
    assert listed(min_size="100") == ["tester/licensed"]
    assert listed(max_size="100") == ["meadow/soil", "other/rain"]
    assert listed(license_name="gpl") == ["tester/licensed"]
    assert listed(license_name="other") == ["meadow/soil", "other/rain"]
    assert listed(license_name="cc") == listed(tag_ids="soil") == titles(group="hosted") == []
    assert titles(group="entered") == ["harvest"]


def test_lists_keep_to_what_the_catalogues_pages_say(api, stocked, listed, titles):
    pages = {
        "datasets/meadow/soil.toml": 'voteCount = 2\nkeywords = ["earth", "garden"]\n',
        "datasets/other/rain.toml": 'voteCount = 10\nkeywords = ["water", "garden"]\n',
        "competitions/harvest.toml": 'reward = "$900"\ndeadline = 2026-05-01T00:00:00Z\n',
        "competitions/orchard/a.csv": "a\n",
        "competitions/orchard.toml": 'reward = "$5,000"\ncategory = "Getting Started"\n',
    }
    stocked.put(pages)
    ordered = [ref for ref in listed(sort_by="votes") if "tester" not in ref]
    assert ordered == ["other/rain", "meadow/soil"]
    (soil,) = api.dataset_list(tag_ids="garden,earth")
    assert (soil.ref, soil.vote_count) == ("meadow/soil", 2)
    assert [tag.name for tag in soil.tags] == ["earth", "garden"]
    assert titles(sort_by="prize") == ["orchard", "harvest"]
    assert titles(sort_by="earliestDeadline") == ["harvest", "orchard"]
    assert titles(category="gettingStarted") == ["orchard"]
    assert titles(category="featured") == []
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
    assert answer.status_code == 400
    assert f": {list(fields)[-1]}=" in answer.json()["message"]


def test_metadata_are_changed_by_their_owner_and_read_back(api, dataset, listed):
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
    assert listed(search="after", mine=True) == ["tester/renamed"]
    assert listed(search="after") == []  # it is private now
    with pytest.raises(HTTPError, match="denied"):
        api.dataset_metadata_update("meadow/soil", folder)


def test_a_file_comes_alone_and_what_is_not_there_as_404(api, stocked, tmp_path):
    api.dataset_download_file("other/rain", "a.csv", path=str(tmp_path), quiet=True)
    assert (tmp_path / "a.csv").read_text() == "a\n1\n"
    for method in ("DownloadDataset", "GetDatasetMetadata"):
        assert stocked.post(method, ownerSlug="no", datasetSlug="body").status_code == 404
    rain = {"ownerSlug": "other", "datasetSlug": "rain"}
    assert stocked.post("DownloadDataset", **rain, fileName="../a.csv").status_code == 404

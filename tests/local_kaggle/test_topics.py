"""Forums and topics of the catalogue, as the genuine client reads them."""

import pytest
from requests.exceptions import HTTPError

TOPICS = {
    "forums/getting-started.topics/11.toml": 'title = "Welcome"\nvotes = 1\n'
    'postDate = "2026-01-01T00:00:00Z"\n[[comments]]\nauthorName = "clover"\ncontent = "Hello"\n',
    "forums/getting-started.topics/12.toml": 'title = "Rules"\nvotes = 5\n'
    "postDate = 2025-01-01T00:00:00Z\n",
    "forums/product.topics/13.toml": 'title = "News"\n',
    "competitions/harvest.topics/14.toml": 'title = "A leak"\n',
    "datasets/meadow/soil.topics/15.toml": 'title = "Soil?"\n',
    "models/meadow/roots.topics/16.toml": 'title = "Roots?"\n',
}


@pytest.fixture
def api(context, api):
    context.put(TOPICS)
    return api


def titles(answer):
    return [topic.title for topic in answer.topics]


def test_forums_and_their_topics_are_listed(api):
    assert [forum.name for forum in api.forums_list().forums] == ["getting-started", "product"]
    assert api.forums_list_topics().total_count == 3
    assert titles(api.forums_list_topics("getting-started")) == ["Welcome", "Rules"]
    assert titles(api.forums_list_topics("getting-started", sort_by="top")) == ["Rules", "Welcome"]
    assert titles(api.forums_list_topics("getting-started", sort_by="new")) == ["Welcome", "Rules"]
    assert titles(api.forums_list_topics(search="new")) == ["News"]


def test_what_is_talked_about_has_topics_of_its_own(api):
    assert titles(api.competition_list_topics("harvest")) == ["A leak"]
    assert titles(api.dataset_list_topics("meadow/soil")) == ["Soil?"]
    assert titles(api.model_list_topics("meadow/roots")) == ["Roots?"]
    assert titles(api.competition_list_topics("another")) == []


def test_a_topic_is_shown_with_its_comments(api):
    topic, comments, _ = api.forums_topic_show(11)
    assert (topic.title, topic.forum_name) == ("Welcome", "getting-started")
    assert [(comment.author_name, comment.content) for comment in comments] == [("clover", "Hello")]
    with pytest.raises(HTTPError, match="Topic not found"):
        api.forums_topic_show(17)

"""Who may ask for what: nobody signed in, another account, and rules that nobody accepted."""

import pytest
import requests
from requests.exceptions import HTTPError


@pytest.fixture
def api(context, api):
    places = "competitions/strict", "competitions/open", "datasets/meadow/soil"
    context.put({f"{place}/a.csv": "a\n" for place in places})
    return api


def test_what_is_public_needs_no_account(api, context):
    done = context.cli("datasets", "download", "meadow/soil", user="")
    assert (context.folder / "soil.zip").is_file(), done.stdout + done.stderr


def test_kagglehubs_question_who_asks_is_answered(context):
    url = f"{context.kaggle.url}/api/v1/api.v1.DiagnosticsService/Hello"
    hello = requests.post(url, json={}, auth=context.auth(), timeout=60)
    assert hello.json() == {"userName": "tester"}
    assert requests.post(url, json={}, timeout=60).json()["code"] == 401


def test_rules_that_nobody_accepted_close_a_competition(api, script, tmp_path):
    entered = {c.title: c.user_has_entered for c in api.competitions_list().competitions}
    assert entered == {"open": True, "strict": False}
    with pytest.raises(HTTPError, match="accept this competition's rules") as refusal:
        api.competition_download_file("strict", "a.csv", path=str(tmp_path))
    assert refusal.value.response.status_code == 403
    with pytest.raises(HTTPError, match="accept this competition's rules"):
        api.competition_submit(__file__, "mine", "strict")
    folder = script("rules-kernel", competition_sources=["strict", "open"])
    assert api.kernels_push(folder).invalid_competition_sources == ["strict"]


def test_a_404_says_so_in_the_clients_error(api, tmp_path):
    with pytest.raises(HTTPError, match="404 Client Error: Not Found"):  # as tools look for it
        api.dataset_metadata("tester/not-there-yet", str(tmp_path))

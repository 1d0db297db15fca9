"""Search, as the newest client asks."""

import pytest


@pytest.fixture(scope="module")
def meadow(context):
    context.put(
        {
            "competitions/meadow-cup/a.csv": "",
            "datasets/other/meadow-photos/a.csv": "",
            "datasets/other/hidden-meadow/a.csv": "",
            "datasets/other/hidden-meadow.toml": "isPrivate = true",
            "kernels/other/first-meadow/out.csv": "",
            "models/other/meadow/keras/b0/1/config.json": "{}",
            "datasets/other/desert/a.csv": "",
        }
    )
    context.save("my-meadow", "print(1)")
    context.finish("my-meadow")
    return context


def search(context, query, **filters):
    page = {"pageSize": 20, "canonicalOrderBy": "LIST_SEARCH_CONTENT_ORDER_BY_VOTES"}
    found = context.call("ListEntities", filters={"query": query, **filters}, **page)
    return {(entry["documentType"], entry["slug"]) for entry in found.get("documents", ())}


def test_everything_that_the_user_may_see_is_found_by_its_words(meadow):
    assert search(meadow, "Meadow") == {
        ("COMPETITION", "meadow-cup"),
        ("DATASET", "meadow-photos"),
        ("KERNEL", "first-meadow"),
        ("KERNEL", "my-meadow"),
        ("MODEL", "meadow"),
    }
    assert search(meadow, "photos meadow") == {("DATASET", "meadow-photos")}
    kinds = {"documentTypes": ["MODEL", "COMPETITION"]}
    assert len(search(meadow, "meadow", **kinds)) == 2
    own = {"listType": "API_LIST_TYPE_YOUR_WORK"}
    assert search(meadow, "meadow", **own) == {("KERNEL", "my-meadow")}

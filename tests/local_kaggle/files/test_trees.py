"""A dataset's folders one by one, as kagglehub downloads a folder, with and without an account."""

import requests


def test_a_folder_lists_what_is_directly_in_it(context):
    for name in ("a.csv", "sub/b.csv", "sub/c.csv", "sub/deep/d.csv"):
        context.put({f"datasets/other/trees/{name}": "x"})
    ask = {"ownerSlug": "other", "datasetSlug": "trees"}
    top = context.call("ListTreeDatasetFiles", **ask)
    assert [file["relativeUrl"] for file in top["files"]] == ["a.csv"]
    (folder,) = top["directories"]
    assert folder == {
        "name": "sub",
        "relativeUrl": "sub",
        "totalFiles": 2,
        "totalDirectories": 1,
        "totalChildren": 3,
    }
    seen, token = set(), ""
    while token is not None:
        page = context.call("ListTreeDatasetFiles", path="sub", pageSize=1, pageToken=token, **ask)
        seen |= {entry["relativeUrl"] for entry in page["files"] + page["directories"]}
        token = page.get("nextPageToken")
    assert seen == {"sub/b.csv", "sub/c.csv", "sub/deep"}


def test_what_is_not_there_is_not_found_with_and_without_an_account(context):
    context.put({"datasets/other/trees/a.csv": "x"})
    ask = {"ownerSlug": "other", "datasetSlug": "trees"}
    for method, more in (
        ("ListTreeDatasetFiles", {"path": "nowhere"}),
        ("DownloadDataset", {"fileName": "zzz.csv"}),
        ("ListTreeDatasetFiles", {"datasetSlug": "none-such"}),
    ):
        assert context.post(method, **ask | more).status_code == 404
        url = context.url(method)
        assert requests.post(url, json=ask | more, timeout=60).status_code == 404

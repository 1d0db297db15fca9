"""Versions of datasets and their archives, as the genuine client meets them."""

import contextlib
import io
import json
import sqlite3
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from requests.exceptions import HTTPError

from local_kaggle.errors import LocalKaggleError
from local_kaggle.server import LocalKaggle


def downloaded(api, reference, folder):
    api.dataset_download_files(reference, path=str(folder), quiet=True, force=True)
    with zipfile.ZipFile(folder / f"{reference.split('/')[1]}.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_upload_that_a_version_holds_cannot_be_written_again(context):
    token = context.upload(b"a", type="DATASET", name="a.txt")
    create = {"ownerSlug": "tester", "slug": "unchanged", "title": "unchanged"}
    context.call("CreateDataset", **create, files=[{"token": token}])
    again = requests.put(f"{context.kaggle.url}/upload/{token}", data=b"b", timeout=60)
    assert again.status_code == 200
    named = {"ownerSlug": "tester", "datasetSlug": "unchanged"}
    assert context.post("DownloadDataset", **named, fileName="a.txt").content == b"a"


def test_many_clients_at_once_get_one_archive(context):
    files = {f"datasets/meadow/leaves/{number}.txt": str(number) * 10_000 for number in range(50)}
    context.put(files)
    named = {"ownerSlug": "meadow", "datasetSlug": "leaves"}
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: context.post("DownloadDataset", **named), range(20)))
    assert len({answer.url for answer in answers}) == 1
    with zipfile.ZipFile(io.BytesIO(answers[0].content)) as archive:
        assert len(archive.namelist()) == 50


def test_an_archive_has_what_the_catalogue_has_now(api, context, tmp_path):
    first = "datasets/a/b-cccccc/a.txt", "datasets/a/b-cccccc/gone.txt"
    context.put(dict.fromkeys(first, "first") | {"datasets/a-b/cccccc/a.txt": "second"})
    assert downloaded(api, "a-b/cccccc", tmp_path) == {"a.txt": b"second"}
    assert len(downloaded(api, "a/b-cccccc", tmp_path)) == 2
    (context.kaggle.catalogue / first[1]).unlink()
    assert downloaded(api, "a/b-cccccc", tmp_path) == {"a.txt": b"first"}


def test_bytes_are_stored_once_and_freed_with_their_dataset(api, context, dataset):
    before, size = context.used(), 1_000_000
    api.dataset_create_new(dataset("much-room", {"a.txt": "1" * size}), quiet=True)
    assert context.used() - before < 1.2 * size
    source = dataset("much-room", {"a.txt": "2" * size})
    api.dataset_create_version(source, "second", quiet=True, delete_old_versions=True)
    assert context.used() - before < 1.2 * size
    api.dataset_delete("tester", "much-room", no_confirm=True)
    assert context.used() - before < 0.2 * size


def test_a_dataset_of_the_catalogue_has_a_status_and_may_be_its_owners_alone(
    context, api, tmp_path
):
    texts = {
        "/a.txt": "new",
        ".versions/1/a.txt": "old",
        ".toml": 'title = "Mine"\nisPrivate = true',
    }
    context.put({f"datasets/tester/diary{name}": text for name, text in texts.items()})
    status = api.dataset_status("tester/diary", format="json(status,current_version_number)")
    assert json.loads(status) == {"status": "ready", "current_version_number": 2}
    assert downloaded(api, "tester/diary/1", tmp_path) == {"a.txt": b"old"}
    assert downloaded(api, "tester/diary", tmp_path) == {"a.txt": b"new"}
    with pytest.raises(HTTPError, match="version 9 not found"):
        downloaded(api, "tester/diary/9", tmp_path)
    named = {"ownerSlug": "tester", "datasetSlug": "diary"}
    assert context.call("GetDataset", **named)["title"] == "Mine"
    assert requests.post(context.url("GetDataset"), json=named, timeout=60).status_code == 404


def test_a_root_of_an_earlier_version_is_refused(tmp_path):
    path = tmp_path / "kaggle.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE datasets (id INTEGER)")
    before = path.read_bytes()
    with pytest.raises(LocalKaggleError, match="earlier version: remove it"):
        LocalKaggle(tmp_path).start()
    assert path.read_bytes() == before

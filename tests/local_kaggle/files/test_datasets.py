from __future__ import annotations

import io
import zipfile

import pytest

from local_kaggle.limits import ServerLimits


@pytest.fixture(scope="module")
def limits() -> ServerLimits:
    return ServerLimits(lag_seconds=0, dataset_seconds=0.5)


def zipped(name: str, text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, text)
    return packed.getvalue()


def create(context, slug: str, *files: tuple[str, bytes]) -> dict:
    tokens = [{"token": context.upload(data, type="DATASET", name=name)} for name, data in files]
    return context.call(
        "CreateDataset",
        ownerSlug="tester",
        slug=slug,
        title=slug,
        isPrivate=True,
        licenseName="CC0-1.0",
        files=tokens,
    )


def ready(context, slug: str) -> str:
    status = context.post("GetDatasetStatus", ownerSlug="tester", datasetSlug=slug)
    return status.json().get("status", "") if status.status_code == 200 else "free"


def test_it_is_mounted_once_it_is_ready_and_not_before(context):
    assert ready(context, "shards-192") == "free"
    shards = zipped("train/0.tfrec", "shard")
    create(context, "shards-192", ("shards.zip", shards), ("labels.csv", b"a"))
    early = context.save("too-early", "1", datasetDataSources=["tester/shards-192"])
    assert early["invalidDatasetSources"] == ["tester/shards-192"]
    context.wait_for(lambda: ready(context, "shards-192") == "READY")
    text = """
import os, pathlib
root = pathlib.Path(os.environ["KERNELKIT_INPUT_ROOT"]) / "datasets/tester/shards-192"
print((root / "shards/train/0.tfrec").read_text(), (root / "labels.csv").read_text())
"""
    assert "invalidDatasetSources" not in context.save(
        "in-time", text, datasetDataSources=["tester/shards-192"]
    )
    assert context.finish("in-time") == "COMPLETE"
    assert context.log("in-time") == "shard a\n"
    context.finish("too-early")


def test_a_name_is_taken_once(context):
    create(context, "taken-once", ("a.csv", b"a"))
    again = create(context, "taken-once", ("a.csv", b"a"))
    assert again["status"] == "error"
    assert "already in use" in again["error"]


@pytest.mark.parametrize("slug", ["../way-out", "short", "a" * 51, ""])
def test_a_name_that_is_none_is_refused(context, slug):
    assert create(context, slug, ("a.csv", b"a"))["status"] == "error"


def locked() -> bytes:
    """An archive whose directory says that its file is encrypted."""
    packed = bytearray(zipped("a.csv", "a"))
    packed[packed.rindex(b"PK\1\2") + 8] |= 1
    return bytes(packed)


@pytest.mark.parametrize("data", [b"not a zip", locked()], ids=["broken", "locked"])
def test_an_archive_that_cannot_be_unpacked_makes_a_failed_version(context, request, data):
    slug = f"{request.node.callspec.id}-zip"
    create(context, slug, ("a.zip", data))
    assert ready(context, slug) == "FAILED"


def test_an_unfinished_upload_makes_no_dataset(context):
    start = context.call("StartBlobUpload", type="DATASET", name="a.bin", contentLength=10)
    response = context.post(
        "CreateDataset",
        ownerSlug="tester",
        slug="unfinished",
        title="x",
        files=[{"token": start["token"]}],
    )
    assert response.status_code == 400
    assert ready(context, "unfinished") == "free"


def test_the_name_of_a_file_cannot_lead_out_of_the_folder(context):
    create(context, "far-reaching", ("../../../escaped.csv", b"a"))
    context.wait_for(lambda: ready(context, "far-reaching") == "READY")
    files = context.call("ListDatasetFiles", ownerSlug="tester", datasetSlug="far-reaching")
    assert [file["name"] for file in files["datasetFiles"]] == ["escaped.csv"]

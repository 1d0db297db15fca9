"""Datasets that users make of their uploads."""

import gzip
import io
import tarfile
import zipfile
from types import SimpleNamespace

import pytest

from kernelkit.kaggle.uploading import versions
from local_kaggle.files import unpacking
from local_kaggle.limits import ServerLimits

LIMITS = ServerLimits(lag_seconds=0, dataset_seconds=0.5, dataset_bytes=3e6)


@pytest.fixture
def create(context):
    """Makes a dataset of `tester`; names in a directory are `directory/name`."""

    def create(slug, files=None, **fields):
        def token(name):
            return {"token": context.upload(files[name], type="DATASET", name=name)}

        page = {"ownerSlug": "tester", "slug": slug, "title": slug, "isPrivate": True}
        return context.call("CreateDataset", **page, files=[*map(token, files or ())], **fields)

    return create


def zipped(name, text):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, text)
    return packed.getvalue()


def status(context, slug):
    answer = context.post("GetDatasetStatus", ownerSlug="tester", datasetSlug=slug)
    return answer.json().get("status", "") if answer.status_code == 200 else "free"


def names(context, slug):
    """The files of a dataset once it is ready."""
    context.wait_for(lambda: status(context, slug) == "READY")
    files = context.call("ListDatasetFiles", ownerSlug="tester", datasetSlug=slug)
    return [file["name"] for file in files["datasetFiles"]]


def test_it_is_mounted_once_it_is_ready_and_not_before(context, create):
    assert status(context, "shards-192") == "free"
    shards = zipped("train/0.tfrec", "shard")
    create("shards-192", {"shards.zip": shards, "labels.csv": b"a"})
    early = context.save("too-early", "1", datasetDataSources=["tester/shards-192"])
    assert early["invalidDatasetSources"] == ["tester/shards-192"]
    assert names(context, "shards-192") == ["labels.csv", "shards/train/0.tfrec"]
    text = """
import os, pathlib
root = pathlib.Path(os.environ["KERNELKIT_INPUT_ROOT"]) / "datasets/tester/shards-192"
print((root / "shards/train/0.tfrec").read_text(), (root / "labels.csv").read_text())
"""
    answer = context.save("in-time", text, datasetDataSources=["tester/shards-192"])
    assert "invalidDatasetSources" not in answer
    assert context.finish("in-time") == "COMPLETE"
    assert context.log("in-time") == "shard a\n"


def test_a_name_is_taken_once_and_has_to_be_one(create):
    assert create("taken-once")["status"] == "ok"
    assert "already in use" in create("taken-once")["error"]
    for slug in ("../way-out", "short", "a" * 51, ""):
        assert create(slug)["status"] == "error"


def locked():
    """An archive whose directory says that its file is encrypted."""
    packed = bytearray(zipped("a.csv", "a"))
    packed[packed.rindex(b"PK\1\2") + 8] |= 1
    return bytes(packed)


def tarred(*entries):
    """An archive of these entries, each with these fields of `TarInfo`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for entry in entries:
            info = tarfile.TarInfo()
            for field, value in entry.items():
                setattr(info, field, value)
            archive.addfile(info)
    return packed.getvalue()


def file(name):
    return {"name": name}


def link(name, target, kind=tarfile.SYMTYPE):
    return {"name": name, "type": kind, "linkname": target}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("broken.zip", b"not a zip"),
        ("locked.zip", locked()),
        ("leads-out.tar", tarred(file("../a"))),
        ("absolute.tar", tarred(file("/tmp/a"))),
        ("leads-out.zip", zipped("../a", "a")),
        ("device.tar", tarred({"name": "pipe", "type": tarfile.FIFOTYPE})),
        ("leads-out-by-link.tar", tarred(link("a", "/etc/passwd"))),
        ("hard-link-out.tar", tarred(link("a", "../../../secret", tarfile.LNKTYPE))),
        ("through-a-link.tar", tarred(link("a", "../.."), file("a/b"))),
        ("in-a-circle.tar", tarred(link("a", "b"), link("b", "a"))),
    ],
)
def test_an_archive_that_cannot_be_unpacked_makes_a_failed_version(context, create, name, data):
    slug = name.replace(".", "-")
    create(slug, {name: data})
    assert status(context, slug) == "FAILED"


def test_a_link_in_an_archive_is_a_copy_of_its_file_and_no_link_on_the_disk(context, create):
    create("with-links", {"a.tar": tarred(file("b/a.csv"), link("b/same.csv", "a.csv"))})
    assert names(context, "with-links") == ["a/b/a.csv", "a/b/same.csv"]
    folder = context.kaggle.root / "datasets/tester/with-links/1"
    assert not any(path.is_symlink() for path in folder.rglob("*"))


def test_what_a_killed_server_left_of_a_version_is_not_in_it(context, create):
    (context.kaggle.root / "datasets/tester/begun-before/1/left").mkdir(parents=True)
    create("begun-before", {"a.tar": tarred(file("b/a.csv"))})
    assert names(context, "begun-before") == ["a/b/a.csv"]


def test_a_folder_that_kagglehub_packed_is_a_folder_again(context, create):
    create("packed-whole", {"archive.zip": zipped("train/b.txt", "b")})
    assert names(context, "packed-whole") == ["train/b.txt"]


def bombs():
    """Archives that hold more than `LIMITS` allow, by their file names."""
    zeros = bytes(10_000_000)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", zeros)
    with_content = io.BytesIO()
    with tarfile.open(fileobj=with_content, mode="w") as archive:
        info = tarfile.TarInfo("a")
        info.size = 1_000_000
        archive.addfile(info, io.BytesIO(zeros))
        for number in range(9):  # each of which would be a copy
            info = tarfile.TarInfo(f"copy-{number}")
            info.type, info.linkname = tarfile.LNKTYPE, "a"
            archive.addfile(info)
    large = io.BytesIO()
    with tarfile.open(fileobj=large, mode="w") as archive:
        info = tarfile.TarInfo("zeros")
        info.size = len(zeros)
        archive.addfile(info, io.BytesIO(zeros))
    return {
        "deflated.zip": packed.getvalue(),
        "of-copies.tar": with_content.getvalue(),
        "compressed.tar": gzip.compress(large.getvalue()),
    }


@pytest.mark.parametrize(("name", "data"), bombs().items())
def test_an_archive_that_would_fill_the_disk_is_refused_and_leaves_nothing(
    context, create, name, data
):
    slug = name.replace(".", "-")
    answer = create(slug, {name: data})
    assert answer["errorCode"] == 413
    assert "larger than 0.003 GB, the limit of a dataset" in answer["error"]
    assert status(context, slug) == "free"
    assert not list((context.kaggle.root / "datasets/tester").glob(f"{slug}/*"))
    create(slug, {"a.csv": b"a"})
    token = context.upload(data, type="DATASET", name=name)
    page = {"ownerSlug": "tester", "datasetSlug": slug}
    answer = context.call("CreateDatasetVersion", **page, body={"files": [{"token": token}]})
    assert answer["errorCode"] == 413
    assert names(context, slug) == ["a.csv"]


def test_an_archive_is_not_unpacked_onto_a_disk_that_is_almost_full(tmp_path, monkeypatch):
    packed = tmp_path / "a.zip"
    packed.write_bytes(zipped("a.csv", "a"))
    room = unpacking.Room(tmp_path, 1e9)
    disk = SimpleNamespace(f_bavail=1, f_frsize=1_000_000_000, f_files=1_000_000, f_favail=500_000)
    monkeypatch.setattr("os.statvfs", lambda _: disk)
    unpacking.unpack(packed, ".zip", tmp_path / "enough", room)
    assert (tmp_path / "enough/a.csv").read_text() == "a"
    disk.f_favail = 12
    with pytest.raises(unpacking.TooLargeError, match="more files than fit on this machine"):
        unpacking.unpack(packed, ".zip", tmp_path / "files", room)
    disk.f_files = 0  # of a file system without a greatest number
    disk.f_frsize = 500_000_000
    with pytest.raises(unpacking.TooLargeError, match="does not fit on this machine"):
        unpacking.unpack(packed, ".zip", tmp_path / "bytes", room)
    assert not (tmp_path / "bytes").exists()


def test_an_upload_that_is_announced_as_too_large_is_refused_at_once(context):
    answer = context.post("StartBlobUpload", type="DATASET", name="a.bin", contentLength=4_000_000)
    assert answer.status_code == 413
    assert "larger than 0.003 GB" in answer.json()["message"]


def test_an_unfinished_upload_makes_no_dataset(context):
    start = context.call("StartBlobUpload", type="DATASET", name="a.bin", contentLength=10)
    page = {"ownerSlug": "tester", "slug": "unfinished", "title": "x"}
    response = context.post("CreateDataset", **page, files=[{"token": start["token"]}])
    assert response.status_code == 400
    assert status(context, "unfinished") == "free"


def test_directories_are_kept_and_no_name_leads_out_of_the_folder(context, create):
    token = context.upload(b"b", type="DATASET", name="b.txt")
    inner = {"name": "deep", "files": [{"token": token}]}
    outer = [{"name": "train", "directories": [inner]}]
    create("directories", {"../../../escaped.csv": b"a"}, directories=outer)
    assert names(context, "directories") == ["escaped.csv", "train/deep/b.txt"]
    page = {"ownerSlug": "tester", "slug": "way-out-of-it", "title": "x"}
    answer = context.post("CreateDataset", **page, directories=[{"name": ".."}])
    assert answer.status_code == 400
    assert "is not a directory name" in answer.json()["message"]


def test_the_desk_expects_the_archives_to_be_unpacked_that_are(tmp_path):
    endings = {f".{ending.rpartition('.')[2]}" for ending in unpacking.ENDINGS}
    assert endings == set(versions.ARCHIVES)


def test_a_compressed_file_comes_out_without_its_ending(tmp_path):
    packed = tmp_path / "table.json.gz"
    packed.write_bytes(gzip.compress(b"{}"))
    assert unpacking.ending_of("Table.JSON.GZ") == ".gz"
    assert unpacking.ending_of("code.tar.gz") == ".tar.gz"
    unpacking.unpack(packed, ".gz", tmp_path / "table.json", unpacking.Room(tmp_path, 1e9))
    assert (tmp_path / "table.json").read_text() == "{}"

"""The genuine `kaggle` command line, unmodified, as a subprocess against the local Kaggle."""

import csv
import json
import shutil

import pytest

from .conftest import notebook


@pytest.fixture(scope="module", autouse=True)
def _catalogue(context):
    texts = {
        "competitions/flowers/sample_submission.csv": "id,label\na,0\nb,0\n",
        "competitions/flowers/train/00.tfrec": "record" * 2000,
        "solutions/flowers.csv": "id,label\na,0\nb,1\nc,1\n",
        "solutions/flowers.toml": 'metric = "f1_macro"\n',
    }
    context.put(texts)


@pytest.fixture(scope="module")
def pushed(context):
    """The folder of a kernel that was pushed by the CLI and ran."""
    folder = context.folder / "kernel"
    folder.mkdir()
    cell = """
from pathlib import Path
for n in range(25):
    Path(f"file-{n:02}.bin").write_bytes(bytes([n]) * (n * 1000))
Path("submission.csv").write_text("id,label\\na,0\\nb,1\\nc,0\\n")
print("made the files")
"""
    (folder / "work.ipynb").write_text(notebook(cell))
    metadata = {
        "id": "tester/pushed-kernel",
        "title": "Pushed Kernel",
        "code_file": "work.ipynb",
        "language": "python",
        "kernel_type": "notebook",
        "enable_internet": False,
        "competition_sources": ["flowers", "c/flowers"],
    }
    (folder / "kernel-metadata.json").write_text(json.dumps(metadata))
    done = context.cli("kernels", "push", "-p", str(folder), "-t", "120")
    assert "Kernel version 1 successfully pushed" in done.stdout, done.stderr
    assert "not valid competition sources" in done.stdout
    assert "['c/flowers']" in done.stdout
    done = context.cli("kernels", "logs", "--follow", "tester/pushed-kernel")
    assert "made the files" in done.stdout
    assert context.finish("pushed-kernel") == "COMPLETE"
    return folder


def test_status_log_and_output_over_several_pages(context, pushed):
    assert "COMPLETE" in context.cli("kernels", "status", "tester/pushed-kernel").stdout
    done = context.cli("kernels", "logs", "tester/pushed-kernel")
    assert json.loads(done.stdout)[0]["data"] == "made the files\n"
    target = context.folder / "output"
    done = context.cli("kernels", "output", "tester/pushed-kernel", "-p", str(target))
    assert done.returncode == 0, done.stderr
    for n in range(25):
        assert (target / f"file-{n:02}.bin").read_bytes() == bytes([n]) * (n * 1000)
    assert "made the files" in (target / "pushed-kernel.log").read_text()


def test_pull_gives_what_was_pushed_and_writes_a_pinned_image(context, api, pushed):
    target = context.folder / "pulled"
    api.kernels_pull("tester/pushed-kernel", path=str(target), metadata=True)
    source = json.loads((target / "pushed-kernel.ipynb").read_text())
    assert source == json.loads((pushed / "work.ipynb").read_text())
    assert json.loads((target / "kernel-metadata.json").read_text())["docker_image"]


def test_a_dataset_is_created_and_gets_a_version(context, dataset):
    folder = dataset("own-flowers", {"labels.csv": "a,b\n"})
    done = context.cli("datasets", "create", "-p", folder)
    assert "is being created" in done.stdout, done.stdout + done.stderr
    dataset("own-flowers", {"labels.csv": "a,b,c\n"})
    done = context.cli("datasets", "version", "-p", folder, "-m", "more")
    assert "version is being created" in done.stdout, done.stdout + done.stderr
    files = context.cli("datasets", "files", "tester/own-flowers", "-v").stdout
    assert "labels.csv,6," in files


def test_competition_files_and_downloads(context, api, tmp_path):
    assert "train/00.tfrec" in context.cli("competitions", "files", "flowers").stdout
    api.competition_download_file("flowers", "sample_submission.csv", path=str(tmp_path))
    assert (tmp_path / "sample_submission.csv").read_text().startswith("id,label")
    api.competition_download_files("flowers", path=str(tmp_path))
    shutil.unpack_archive(tmp_path / "flowers.zip", tmp_path / "all")
    assert (tmp_path / "all" / "train" / "00.tfrec").stat().st_size == 12_000


def test_submit_a_file_and_a_kernels_output_and_see_the_scores(context, pushed):
    file = context.folder / "mine.csv"
    file.write_text("id,label\na,0\nb,1\nc,1\n")
    done = context.cli("competitions", "submit", "flowers", "-f", str(file), "-m", "by file")
    assert "Successfully submitted" in done.stdout, done.stderr
    assert "99 submissions remaining today" in done.stdout
    output = ["-f", "submission.csv", "-k", "tester/pushed-kernel", "-v", "1"]
    done = context.cli("competitions", "submit", "flowers", *output, "-m", "by kernel")
    assert "Successfully submitted" in done.stdout, done.stderr
    done = context.cli("competitions", "submissions", "flowers", "-v")
    scores = {r["description"]: r["publicScore"] for r in csv.DictReader(done.stdout.splitlines())}
    assert scores == {"by file": "1.00000", "by kernel": "0.66667"}

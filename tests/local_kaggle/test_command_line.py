"""The genuine `kaggle` command line, unmodified, as a subprocess against the local Kaggle."""

import json
import shutil
from pathlib import Path

import pytest

from .conftest import SCRIPT, notebook, write_folder


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
    cell = """
from pathlib import Path
for n in range(25):
    Path(f"file-{n:02}.bin").write_bytes(bytes([n]) * (n * 1000))
Path("submission.csv").write_text("id,label\\na,0\\nb,1\\nc,0\\n")
print("made the files")
"""
    metadata = {
        "id": "tester/pushed-kernel",
        "title": "Pushed Kernel",
        "code_file": "work.ipynb",
        "kernel_type": "notebook",
        "competition_sources": ["flowers", "c/flowers"],
    }
    texts = {"work.ipynb": notebook(cell)}
    folder = write_folder(context.folder / "kernel", texts, kernel=SCRIPT | metadata)
    done = context.cli("kernels", "push", "-p", folder, "-t", "120")
    assert "Kernel version 1 successfully pushed" in done.stdout, done.stderr
    assert "['c/flowers']" in done.stdout
    done = context.cli("kernels", "logs", "--follow", "tester/pushed-kernel")
    assert "made the files" in done.stdout
    assert context.finish("pushed-kernel") == "COMPLETE"
    return Path(folder)


@pytest.mark.long
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


def test_competition_files_and_downloads(context, api, tmp_path):

    api.competition_download_file("flowers", "sample_submission.csv", path=str(tmp_path))
    assert (tmp_path / "sample_submission.csv").read_text().startswith("id,label")
    api.competition_download_files("flowers", path=str(tmp_path))
    shutil.unpack_archive(tmp_path / "flowers.zip", tmp_path / "all")
    assert (tmp_path / "all" / "train" / "00.tfrec").stat().st_size == 12_000


def test_submit_a_file_and_a_kernels_output_and_see_the_scores(context, api, pushed):
    file = context.folder / "mine.csv"
    file.write_text("id,label\na,0\nb,1\nc,1\n")
    done = context.cli("competitions", "submit", "flowers", "-f", str(file), "-m", "by file")
    assert "99 submissions remaining today" in done.stdout, done.stdout + done.stderr
    kernel = "tester/pushed-kernel"
    api.competition_submit_code("submission.csv", "by kernel", "flowers", kernel, 1, quiet=True)
    listed = api.competition_submissions("flowers")
    scores = {entry.description: entry.public_score for entry in listed}
    assert scores == {"by file": "1.00000", "by kernel": "0.66667"}

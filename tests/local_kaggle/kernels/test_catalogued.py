"""Kernels of the catalogue and outputs as a whole, as the genuine client asks for them."""

import io
import zipfile

import pytest
from requests.exceptions import HTTPError


@pytest.fixture
def api(context, api):
    texts = {"leaves.csv": "leaf\n", "plot.png": "png"}
    context.put({f"kernels/meadow/herbarium/{name}": text for name, text in texts.items()})
    return api


@pytest.fixture
def packed(context):
    """The names in an archive of a whole output."""

    def names(owner, slug, version=None):
        named = {"ownerSlug": owner, "kernelSlug": slug, "versionNumber": version}
        archive = io.BytesIO(context.post("DownloadKernelOutput", **named).content)
        return sorted(zipfile.ZipFile(archive).namelist())

    return names


@pytest.fixture
def listed(api):
    """The kernels that a list has."""
    return lambda **filters: [kernel.ref for kernel in api.kernels_list(**filters)]


@pytest.fixture
def push(api, script):
    return lambda *words, **metadata: api.kernels_push(script(*words, **metadata))


def test_a_kernel_of_the_catalogue_can_be_read_but_not_deleted(api, packed, tmp_path):
    assert api.kernels_status("meadow/herbarium").status.name == "COMPLETE"
    files = {file.name: file.size for file in api.kernels_list_files("meadow/herbarium").files}
    assert files == {"leaves.csv": 5, "plot.png": 3}
    api.kernels_output("meadow/herbarium", path=str(tmp_path / "output"))
    assert (tmp_path / "output" / "leaves.csv").read_text() == "leaf\n"
    assert packed("meadow", "herbarium") == ["leaves.csv", "plot.png"]
    api.kernels_pull("meadow/herbarium", path=str(tmp_path / "pulled"), metadata=True)
    with pytest.raises(HTTPError, match="denied"):
        api.kernels_delete("meadow/herbarium", no_confirm=True)


def test_lists_keep_to_their_filters(context, listed, push):
    context.put({"datasets/meadow/soil/a.csv": "a", "competitions/harvest/a.csv": "a"})
    sources = {"dataset_sources": ["meadow/soil"], "competition_sources": ["harvest"]}
    assert not push("soil-study", "print(1)", **sources).error
    push("soil-child", "1", kernel_sources=["meadow/herbarium"])
    context.finish("soil-study")
    context.finish("soil-child")
    assert listed(sort_by="dateCreated")[:2] == ["tester/soil-child", "tester/soil-study"]
    assert listed(dataset="meadow/soil") == listed(competition="harvest") == ["tester/soil-study"]
    assert listed(parent_kernel="meadow/herbarium") == ["tester/soil-child"]
    assert listed(kernel_type="notebook") == listed(language="r") == []
    assert listed(output_type="visualization") == listed(user="meadow") == ["meadow/herbarium"]
    assert listed(search="Soil-s") == ["tester/soil-study"]
    assert "meadow/herbarium" not in listed(mine=True)


def test_a_kernel_of_the_catalogue_has_versions_and_may_be_private(context, packed, other):
    texts = {"/new.csv": "a", ".versions/1/old.csv": "a", ".toml": "isPrivate = true"}
    context.put({f"kernels/tester/own-notes{name}": text for name, text in texts.items()})
    assert packed("tester", "own-notes") == ["new.csv"]
    assert packed("tester", "own-notes", 1) == ["old.csv"]
    with pytest.raises(HTTPError, match="denied"):
        other.kernels_list_files("tester/own-notes")


def test_a_source_may_pin_its_version(api, context, packed, push, dataset):
    for number in (1, 2):
        push("soil-sower", f"open('v.txt', 'w').write('row {number}'); open('{number}', 'w')")
        assert context.finish("soil-sower", number) == "COMPLETE"
        assert packed("tester", "soil-sower", number) == [f"{number}", "v.txt"]
        seeds = dataset("soil-seeds", {"v.txt": f"seed {number}"})
        upload = api.dataset_create_version if number > 1 else api.dataset_create_new
        upload(seeds, *["next"] * (number > 1), quiet=True)
    text = """
import os, pathlib
root = pathlib.Path(os.environ["KERNELKIT_INPUT_ROOT"])
print(*sorted(path.read_text() for path in root.glob("*/tester/*/v.txt")), sep=", ")
"""
    pinned = {"kernel_sources": ["tester/soil-sower/1"], "dataset_sources": ["tester/soil-seeds/1"]}
    answer = push("soil-pins", text, **pinned)
    assert not answer.invalid_dataset_sources
    assert context.finish("soil-pins") == "COMPLETE"
    assert "row 1, seed 1" in context.log("soil-pins")
    answer = push("soil-pins", text, kernel_sources=["tester/soil-sower/3"])
    assert answer.invalid_kernel_sources == ["tester/soil-sower/3"]

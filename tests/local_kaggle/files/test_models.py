"""Models, their variations and versions, as the genuine client meets them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from requests.exceptions import HTTPError

from local_kaggle.limits import ServerLimits

VARIATION = "tester/{}/jax/main"


@pytest.fixture(scope="module")
def limits() -> ServerLimits:
    return ServerLimits(lag_seconds=0, dataset_seconds=0, rules_pending=("meadow/gated",))


@pytest.fixture
def folder(tmp_path):
    """Makes a folder of a model and its variation with these files."""

    def make(slug: str, *, private: bool = True, title: str = "", **files: str) -> str:
        folder = tmp_path / slug
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.txt").write_text(text)
        owner = {"ownerSlug": "tester"}
        about = {"title": title or slug, "subtitle": "", "description": "About it."}
        model = {**owner, **about, "slug": slug, "isPrivate": private}
        variation = {
            **owner,
            "modelSlug": slug,
            "instanceSlug": "main",
            "framework": "jax",
            "overview": "Small.",
            "licenseName": "Apache 2.0",
            "trainingData": ["meadow/soil"],
        }
        (folder / "model-metadata.json").write_text(json.dumps(model))
        (folder / "model-instance-metadata.json").write_text(json.dumps(variation))
        return str(folder)

    return make


@pytest.fixture
def create(api, folder):
    """Makes a model with one version of its variation."""

    def make(slug: str, **settings) -> str:
        source = folder(slug, **({"a": "1"} | settings))
        assert api.model_create_new(source).ref == f"tester/{slug}"
        answer = api.model_instance_create(source, quiet=True, dir_mode="zip")
        assert not answer.error, answer.error
        return source

    return make


def files(api, reference: str) -> dict[str, int]:
    answer = api.model_instance_version_files(reference)
    return {file.name: file.size for file in answer.files}


def test_a_model_is_created_read_and_downloaded(api, create, tmp_path):
    (tmp_path / "bert-tiny" / "assets").mkdir(parents=True)
    (tmp_path / "bert-tiny" / "assets" / "words.txt").write_text("flower")
    create("bert-tiny")
    model = api.model_get("tester/bert-tiny")
    assert (model.ref, model.title, model.is_private) == ("tester/bert-tiny", "bert-tiny", True)
    assert [variation.slug for variation in model.instances] == ["main"]
    variation = api.model_instance_get("tester/bert-tiny/jax/main")
    assert variation.id
    assert (variation.framework.name, variation.version_number) == ("MODEL_FRAMEWORK_JAX", 1)
    assert (variation.license_name, variation.training_data) == ("Apache 2.0", ["meadow/soil"])
    assert variation.total_uncompressed_bytes == 7
    assert files(api, "tester/bert-tiny/jax/main/1") == {"a.txt": 1, "assets/words.txt": 6}
    whole = api.model_instance_version_download("tester/bert-tiny/jax/main/1", str(tmp_path / "w"))
    with tarfile.open(whole) as archive:
        assert sorted(archive.getnames()) == ["a.txt", "assets/words.txt"]


def test_a_version_that_is_named_is_the_one_that_comes(api, create, folder, tmp_path):
    create("two-versions")
    (tmp_path / "two-versions" / "a.txt").unlink()
    source = folder("two-versions", bb="22")
    answer = api.model_instance_version_create(
        VARIATION.format("two-versions"), source, "second", quiet=True
    )
    assert answer.ref == "tester/two-versions/jax/main/2"
    assert files(api, "tester/two-versions/jax/main/1") == {"a.txt": 1}
    assert files(api, "tester/two-versions/jax/main/2") == {"bb.txt": 2}
    listed = api.model_instance_versions_list(VARIATION.format("two-versions"))
    assert [version.version_number for version in listed.version_list.versions] == [2, 1]
    with pytest.raises(HTTPError, match="version 9 not found"):
        files(api, "tester/two-versions/jax/main/9")


def test_an_update_changes_what_the_metadata_name_and_nothing_else(api, create, folder):
    create("updated-model", private=False)
    assert not api.model_update(folder("updated-model", title="Another", private=True)).error
    model = api.model_get("tester/updated-model")
    assert (model.title, model.is_private, model.description) == ("Another", True, "About it.")
    source = Path(folder("updated-model"))
    written = json.loads((source / "model-instance-metadata.json").read_text())
    del written["licenseName"], written["trainingData"]
    changed = json.dumps(written | {"fineTunable": True})
    (source / "model-instance-metadata.json").write_text(changed)
    assert not api.model_instance_update(str(source)).error
    variation = api.model_instance_get("tester/updated-model/jax/main")
    assert variation.fine_tunable
    assert (variation.license_name, variation.training_data) == ("Apache 2.0", ["meadow/soil"])


def test_a_name_is_taken_once(api, create):
    source = create("taken-once")
    assert "already used" in api.model_create_new(source).error
    again = api.model_instance_create(source, quiet=True)
    assert again.error_code == 409
    assert "already exists" in again.error


def test_what_is_deleted_is_gone_and_its_bytes_are_freed(api, context, create, folder):
    before, size = context.used(), 1_000_000
    source = create("much-room", a="1" * size)
    name = VARIATION.format("much-room")
    assert "only version" in api.model_instance_version_delete(f"{name}/1", True).error
    api.model_instance_version_create(name, folder("much-room", a="2"), quiet=True)
    assert not api.model_instance_version_delete(f"{name}/1", True).error
    assert context.used() - before < 0.2 * size
    assert files(api, f"{name}/2") == {"a.txt": 1}
    assert not api.model_instance_delete(name, True).error
    with pytest.raises(HTTPError, match="Model not found"):
        api.model_instance_get(name)
    assert not api.model_instance_create(source, quiet=True).error
    assert not api.model_delete("tester/much-room", True).error
    for gone in (api.model_get, api.model_instances_list):
        with pytest.raises(HTTPError, match="Model not found"):
            gone("tester/much-room")


def test_nobody_reads_or_changes_anothers_private_model(create, request):
    source = create("hidden-from-all")
    create("seen-by-all", private=False)
    other = request.getfixturevalue("other")
    assert [model.ref for model in other.model_list(owner="tester")] == ["tester/seen-by-all"]
    with pytest.raises(HTTPError, match="Model not found"):
        other.model_instance_get("tester/hidden-from-all/jax/main")
    assert files(other, "tester/seen-by-all/jax/main/1") == {"a.txt": 1}
    with pytest.raises(HTTPError, match="denied"):
        other.model_delete("tester/seen-by-all", True)
    with pytest.raises(HTTPError, match="denied"):
        other.model_create_new(source)


def test_a_model_of_the_catalogue_is_read_like_any_other(api, context, tmp_path):
    configs = {f"models/keras/bert/keras/tiny/{n}/config.json": "{}" * n for n in (1, 2)}
    context.put(configs | {"models/keras/bert.toml": 'id = 2819\ntitle = "BERT"\n'})
    model = api.model_get("keras/bert")
    assert (model.id, model.title) == (2819, "BERT")
    assert api.model_instance_get("keras/bert/keras/tiny").version_number == 2
    listed = api.model_instances_list("keras/bert").instances
    assert [(each.slug, each.framework.name) for each in listed] == [
        ("tiny", "MODEL_FRAMEWORK_KERAS")
    ]
    assert files(api, "keras/bert/keras/tiny/1") == {"config.json": 2}
    path = api.model_instance_version_download("keras/bert/keras/tiny/1", str(tmp_path))
    with tarfile.open(path) as archive:
        assert archive.getnames() == ["config.json"]


def test_a_model_whose_license_nobody_has_consented_to_is_seen_and_not_had(api, context):
    model = "models/meadow/gated"
    context.put({f"{model}/jax/main/1/a.txt": "a", f"{model}.toml": "publishTime = 2026-01-02"})
    assert api.model_get("meadow/gated").publish_time.year == 2026
    with pytest.raises(HTTPError, match="must consent"):
        api.model_instance_version_download("meadow/gated/jax/main/1", str(context.folder))
    answer = context.save("gated-source", "1", modelDataSources=["meadow/gated/jax/main/1"])
    assert answer["invalidModelSources"] == ["meadow/gated/jax/main/1"]
    context.finish("gated-source")


def test_an_uploaded_version_is_mounted_where_a_session_looks_for_it(api, context, create):
    create("mounted-model")
    text = """
import os, pathlib
root = pathlib.Path(os.environ["KERNELKIT_INPUT_ROOT"])
print((root / "models/tester/mounted-model/jax/main/1/a.txt").read_text())
"""
    models = ["tester/mounted-model/Jax/main/1", "tester/mounted-model/jax/main/2"]
    answer = context.save("takes-models", text, modelDataSources=models)
    assert answer["invalidModelSources"] == models[1:]
    assert context.finish("takes-models") == "COMPLETE"
    assert "1\n" in context.log("takes-models")

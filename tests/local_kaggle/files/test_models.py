"""Models, their variations and versions, as the genuine client meets them."""

import json
import tarfile
from pathlib import Path

import pytest
from requests.exceptions import HTTPError

from ..conftest import write_folder


@pytest.fixture
def folder(tmp_path):
    """Makes a folder of a model and its variation with these files."""

    def make(slug, *, private=True, title="", **files):
        about = {"title": title or slug, "subtitle": "", "description": "About it."}
        variation = {
            "instanceSlug": "main",
            "framework": "jax",
            "overview": "Small.",
            "licenseName": "Apache 2.0",
            "trainingData": ["meadow/soil"],
        }
        page = {"ownerSlug": "tester", "slug": slug, "modelSlug": slug, "isPrivate": private}
        metadata = {"model": page | about, "model_instance": page | variation}
        texts = {f"{name}.txt": text for name, text in files.items()}
        return write_folder(tmp_path / slug, texts, **metadata)

    return make


@pytest.fixture
def create(api, folder):
    """Makes a model with one version of its variation."""

    def make(slug, **settings):
        source = folder(slug, **({"a": "1"} | settings))
        assert api.model_create_new(source).ref == f"tester/{slug}"
        answer = api.model_instance_create(source, quiet=True, dir_mode="zip")
        assert not answer.error, answer.error
        return source

    return make


def files(api, reference):
    answer = api.model_instance_version_files(reference)
    return {file.name: file.size for file in answer.files}


def packed(api, reference, folder):
    """The names of the files in a downloaded version."""
    with tarfile.open(api.model_instance_version_download(reference, str(folder))) as archive:
        return sorted(archive.getnames())


def test_a_model_is_read_and_downloaded_as_it_was_created(api, create, tmp_path):
    (tmp_path / "bert-tiny" / "assets").mkdir(parents=True)
    (tmp_path / "bert-tiny" / "assets" / "words.txt").write_text("flower")
    create("bert-tiny")
    model = api.model_get("tester/bert-tiny")
    assert (model.ref, model.title, model.is_private) == ("tester/bert-tiny", "bert-tiny", True)
    assert [variation.slug for variation in model.instances] == ["main"]
    name = "tester/bert-tiny/jax/main"
    variation = api.model_instance_get(name)
    assert variation.id
    assert (variation.framework.name, variation.version_number) == ("MODEL_FRAMEWORK_JAX", 1)
    assert (variation.license_name, variation.training_data) == ("Apache 2.0", ["meadow/soil"])
    assert variation.total_uncompressed_bytes == 7
    assert files(api, f"{name}/1") == {"a.txt": 1, "assets/words.txt": 6}
    assert packed(api, f"{name}/1", tmp_path / "whole") == ["a.txt", "assets/words.txt"]


def test_a_model_is_created_once(api, create):
    source = create("bert-twice")
    assert "already used" in api.model_create_new(source).error
    again = api.model_instance_create(source, quiet=True)
    assert (again.error_code, "already exists" in again.error) == (409, True)


def test_an_update_changes_what_the_metadata_name_and_nothing_else(api, create, folder):
    create("updated-model", private=False)
    assert not api.model_update(folder("updated-model", title="Another", private=True)).error
    model = api.model_get("tester/updated-model")
    assert (model.title, model.is_private, model.description) == ("Another", True, "About it.")
    written = Path(folder("updated-model"), "model-instance-metadata.json")
    fields = json.loads(written.read_text()) | {"fineTunable": True}
    del fields["licenseName"], fields["trainingData"]
    written.write_text(json.dumps(fields))
    assert not api.model_instance_update(str(written.parent)).error
    variation = api.model_instance_get("tester/updated-model/jax/main")
    assert variation.fine_tunable
    assert (variation.license_name, variation.training_data) == ("Apache 2.0", ["meadow/soil"])


def test_versions_are_told_apart(api, create, folder):
    create("much-room")
    name = "tester/much-room/jax/main"
    answer = api.model_instance_version_create(name, folder("much-room", a="22"), quiet=True)
    assert answer.ref == f"{name}/2"
    assert [files(api, f"{name}/{n}") for n in (1, 2)] == [{"a.txt": 1}, {"a.txt": 2}]


def test_a_version_is_deleted_unless_it_is_the_only_one(api, create, folder):
    create("less-room")
    name = "tester/less-room/jax/main"
    assert "only version" in api.model_instance_version_delete(f"{name}/1", True).error
    api.model_instance_version_create(name, folder("less-room", a="22"), quiet=True)
    assert not api.model_instance_version_delete(f"{name}/1", True).error
    with pytest.raises(HTTPError, match="version 1 not found"):
        files(api, f"{name}/1")


def test_a_deleted_variation_or_model_is_gone(api, create):
    source = create("no-room")
    name = "tester/no-room/jax/main"
    assert not api.model_instance_delete(name, True).error
    with pytest.raises(HTTPError, match="Model not found"):
        api.model_instance_get(name)
    assert not api.model_instance_create(source, quiet=True).error
    assert not api.model_delete("tester/no-room", True).error
    for gone in (api.model_get, api.model_instances_list):
        with pytest.raises(HTTPError, match="Model not found"):
            gone("tester/no-room")


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
    (listed,) = api.model_instances_list("keras/bert").instances
    assert (listed.slug, listed.framework.name) == ("tiny", "MODEL_FRAMEWORK_KERAS")
    assert files(api, "keras/bert/keras/tiny/1") == {"config.json": 2}
    assert packed(api, "keras/bert/keras/tiny/1", tmp_path) == ["config.json"]


def test_a_model_whose_license_nobody_has_consented_to_is_seen_and_not_had(api, context):
    version = "meadow/gated/jax/main/1"
    page = {"models/meadow/gated.toml": "publishTime = 2026-01-02"}
    context.put(page | {f"models/{version}/a.txt": "a"})
    assert api.model_get("meadow/gated").publish_time.year == 2026
    with pytest.raises(HTTPError, match="must consent"):
        files(api, version)
    answer = context.save("gated-source", "1", modelDataSources=[version])
    assert answer["invalidModelSources"] == [version]


def test_a_session_finds_models_by_their_framework_in_lower_case(context, create):
    create("mounted-model")
    context.put({"models/me/net/tensorflow2/b0/1/a.txt": "weights"})
    text = """
import os, pathlib
root = pathlib.Path(os.environ["KERNELKIT_INPUT_ROOT"], "models")
for place in ("tester/mounted-model/jax/main/1", "me/net/tensorflow2/b0/1"):
    print((root / place / "a.txt").read_text())
"""
    models = ["tester/mounted-model/Jax/main/1", "me/net/tensorFlow2/b0/1"]
    wrong = ["tester/mounted-model/jax/main/2", "me/net/tensorflw2/b0/1"]
    answer = context.save("takes-models", text, modelDataSources=models + wrong)
    assert answer["invalidModelSources"] == wrong
    assert context.finish("takes-models") == "COMPLETE"
    assert "1\nweights\n" in context.log("takes-models")

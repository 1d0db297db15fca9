"""A folder becomes a version of a model that kernels can use."""

import io
import json

import pytest

from kernelkit import errors
from kernelkit.kaggle.uploading.uploads import upload_model
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

from ..conftest import contents

MODEL, VARIATION = "model-metadata.json", "model-instance-metadata.json"


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "weights"
    (data / "assets").mkdir(parents=True)
    (data / "head.bin").write_bytes(b"head" * 1000)
    (data / "assets" / "words.txt").write_text("petal sepal")
    (data / MODEL).write_text(
        '{"ownerSlug": "tester", "slug": "roses", "title": "Roses", "publishTime": ""}'
    )
    (data / VARIATION).write_text(
        '{"ownerSlug": "tester", "modelSlug": "roses", "instanceSlug": "small", '
        '"framework": "tensorFlow2", "licenseName": "Apache 2.0", "fineTunable": true}'
    )
    return data


@pytest.fixture
def push(timing):
    """Uploads a folder; gives its source and the events."""

    def push(folder, **options):
        stream = io.StringIO()
        source = upload_model(folder, stream=stream, timing=timing, as_json=True, **options)
        return source, [json.loads(line) for line in stream.getvalue().splitlines()]

    return push


def change(folder, name, **values):
    written = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(written | values))


def stored(kaggle, version):
    """The files of a version, but for those checksums that travel with them."""
    files = contents(kaggle.root / f"models/tester/roses/tensorflow2/small/{version}")
    return {name: data for name, data in files.items() if not name.startswith("SHA256SUMS-")}


def test_it_is_made_and_then_updated(kaggle, folder, push):
    from kaggle.api.kaggle_api_extended import KaggleApi

    source, events = push(folder)
    assert source == "tester/roses/tensorFlow2/small/1"
    assert f'"model_sources": ["{source}"]' in events[-1]["text"]
    assert (events[-1]["event"], events[-1]["ref"]) == ("model", source)
    files = {"head.bin": b"head" * 1000, "assets/words.txt": b"petal sepal"}
    assert stored(kaggle, 1) == files
    api = KaggleApi()
    api.authenticate()
    model = api.model_get("tester/roses")
    assert (model.title, model.is_private) == ("Roses", True)
    variation = api.model_instance_get("tester/roses/tensorFlow2/small")
    assert (variation.license_name, variation.fine_tunable) == ("Apache 2.0", True)

    (folder / MODEL).unlink()
    (folder / "head.bin").write_bytes(b"better")
    assert push(folder)[0] == "tester/roses/tensorFlow2/small/2"
    assert stored(kaggle, 2) == files | {"head.bin": b"better"}


def test_a_dry_run_lists_the_files_and_asks_nobody(folder, push):
    (folder / ".git").mkdir()
    (folder / ".git" / "config").touch()
    source, (event,) = push(folder, dry_run=True)
    assert source == ""
    assert event["files"] == {"assets/words.txt": 11, "head.bin": 4000}
    assert "nothing was sent" in event["text"]


def test_a_lost_answer_makes_nothing_twice(kaggle, folder, push):
    methods = ("CreateModel", "CreateModelInstance")
    kaggle.faults = FaultSchedule([Fault(name, 1, FaultKind.LOST_ANSWER) for name in methods])
    assert push(folder)[0] == "tester/roses/tensorFlow2/small/1"
    assert len(kaggle.faults.fired) == 2
    assert not stored(kaggle, 2)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        (VARIATION, {"licenseName": ""}, "has no licenseName"),
        (VARIATION, {"instanceSlug": "INSERT_INSTANCE_SLUG_HERE"}, "has no instanceSlug"),
        (VARIATION, {"modelSlug": "Rosy Roses"}, "modelSlug 'Rosy Roses' must be lowercase"),
        (VARIATION, {"framework": "pytorch"}, "no framework 'pytorch': did you mean pyTorch"),
        (VARIATION, {"framework": "abacus"}, "it takes tensorFlow1, tensorFlow2, .* or vllm"),
        (MODEL, {"slug": "tulips"}, "must have a title and the slug 'roses'"),
        (MODEL, {"publishTime": "spring"}, "value that Kaggle does not know"),
    ],
)
@pytest.mark.usefixtures("kaggle")
def test_metadata_that_kaggle_would_not_take_are_refused(folder, push, name, values, message):
    change(folder, name, **values)
    with pytest.raises(errors.PreflightError, match=message):
        push(folder)


@pytest.mark.usefixtures("kaggle")
def test_missing_metadata_are_shown_by_an_example_that_works(folder, push):
    for name in (MODEL, VARIATION):
        (folder / name).unlink()
    with pytest.raises(errors.PreflightError, match=r"write it, for example \{") as caught:
        push(folder)
    (folder / VARIATION).write_text(str(caught.value).partition("for example ")[2])
    assert push(folder)[0] == "tester/weights/tensorFlow2/default/1"


def test_a_rehearsal_uploads_to_its_own_account(kaggle, folder, push):
    for name in (MODEL, VARIATION):
        change(folder, name, ownerSlug="meadow")
    assert push(folder)[0] == "tester/roses/tensorFlow2/small/1"
    assert stored(kaggle, 1)


@pytest.mark.usefixtures("kaggle")
def test_what_kaggle_cannot_unpack_fails_at_once(folder, push):
    (folder / "broken.zip").write_text("no archive")
    with pytest.raises(errors.RefusedError, match=r"could not process .*: it is failed"):
        push(folder)

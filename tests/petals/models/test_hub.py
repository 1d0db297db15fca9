import json
import re
import sys
from types import SimpleNamespace

import pytest

from petals import registry
from petals.errors import SettingError, WeightsError
from petals.models import hub
from petals.models.build import build, find_backbone

VIT = {
    "module": "keras_hub.src.models.vit",
    "class_name": "ViTBackbone",
    "config": {"dtype": {"module": "keras", "class_name": "DTypePolicy"}},
}


def test_without_the_package_or_a_preset_one_line_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_hub", None)
    for find in (lambda: find_backbone("hub:vit"), lambda: build("hub:vit", 32, 3)):
        with pytest.raises(SettingError, match=r"keras_hub .*: pip install keras-hub") as error:
            find()
        assert "\n" not in str(error.value)
    with pytest.raises(SettingError, match="write a preset after it"):
        find_backbone("hub:")


def test_under_tf_keras_it_is_refused(monkeypatch):
    monkeypatch.setattr(hub, "keras", SimpleNamespace(__version__="2.21.0"))
    with pytest.raises(SettingError, match="need Keras 3, and this run has tf_keras"):
        find_backbone("hub:vit")


def test_a_preset_is_a_folder_or_an_attached_model(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(tmp_path / "input"))
    own = tmp_path / "own"
    attached = tmp_path / "input/models/keras/vit/keras/base/2"
    for folder in (own, attached):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    assert hub.folder_of(str(own)) == own
    assert hub.folder_of("keras/vit/keras/base/2") == attached
    assert hub.folder_of("vit_base_patch16_224_imagenet") is None


@pytest.mark.parametrize("module", ["os", "keras_hubris.x"])
def test_classes_of_other_packages_are_not_built(module):
    assert hub._checked(json.dumps(VIT), "hub:vit") == VIT
    bad = json.loads(json.dumps(VIT))
    bad["config"]["inside"] = [{"module": module, "class_name": "system"}]
    with pytest.raises(WeightsError, match=f"is made of {module!r}"):
        hub._checked(json.dumps(bad), "hub:vit")


def test_a_preset_that_is_not_here_is_told_by_its_files_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(tmp_path / "input"))
    monkeypatch.setattr(registry, "find_spec", lambda name: name)  # with keras_hub
    registry.require_presets(["VGG16", "hub:anything"], "auto")
    for weights in ("none", "own.weights.h5"):
        registry.require_presets(["dinov3-small"], weights)
    source = "keras/dinov3/keras/dinov3_vit_small_lvd1689m/1"
    for name in ("dinov3-small", f"hub:{source}"):
        with pytest.raises(WeightsError, match=re.escape(f"model_download('{source}')")) as error:
            registry.require_presets(["VGG16", name], "auto")
        assert "weights/dinov3-small" in str(error.value)
    folder = tmp_path / "cache" / "models" / source
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    registry.require_presets(["VGG16", "dinov3-small"], "auto")


def test_a_missing_package_is_told_without_importing_anything(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    registry.require_presets(["VGG16"], "auto")
    for weights in ("auto", "none"):
        with pytest.raises(SettingError, match=r"no module keras_hub\): pip install keras-hub"):
            registry.require_presets(["VGG16", "hub:anything"], weights)


@pytest.mark.parametrize(
    ("config", "patch", "native"),
    [
        ({"patch_size": 14, "image_shape": [518, 518, 3]}, 14, 518),
        ({"patch_size": [16, 16], "image_shape": [None, None, 3]}, 16, 224),
        ({"vision_encoder": {"config": {"patch_size": 8, "image_shape": [64, 64, 3]}}}, 8, 64),
        ({"patch_size": "large", "image_shape": 518}, 1, 224),
        ({"patch_size": [], "image_shape": []}, 1, 224),
        ({"patch_size": 0}, 1, 224),
    ],
)
def test_the_rule_of_sizes_reads_any_configuration(tmp_path, config, patch, native):
    (tmp_path / "config.json").write_text(json.dumps({"config": config}))
    facts = registry.Facts(f"hub:{tmp_path}")
    assert (facts.patch, facts.native) == (patch, native)

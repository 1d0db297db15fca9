from urllib.error import URLError

import numpy as np
import pytest
from tensorflow import keras

from petals.errors import WeightsError
from petals.models import backbones as weights
from petals.models.backbones import Backbone, Weights

MOBILENET = Backbone("MobileNet-0.25")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Weights of a narrow MobileNet in Keras 3's format, and the values they hold."""
    network = MOBILENET.build(64)
    path = tmp_path_factory.mktemp("weights") / "mobilenet_2_5_224_tf_no_top.weights.h5"
    network.save_weights(path)
    return path, network.get_weights()


def load(backbone, size, setting):
    return Weights.find(backbone, size, setting).load(size)


def same(network, values):
    return all((a == b).all() for a, b in zip(network.get_weights(), values, strict=True))


@pytest.mark.long
def test_the_old_format_is_loaded_under_either_ending(tmp_path):
    import tf_keras

    old = tf_keras.applications.MobileNet(
        alpha=0.25, include_top=False, weights=None, input_shape=(64, 64, 3)
    )
    for name in ("mobilenet_2_5_224_tf_no_top.h5", "renamed.weights.h5"):
        old.save_weights(tmp_path / "saved.h5")
        (tmp_path / "saved.h5").rename(tmp_path / name)
        network = load(MOBILENET, 64, str(tmp_path / name))
        x = np.random.default_rng(0).normal(size=(1, 64, 64, 3)).astype(np.float32)
        assert np.allclose(network(x), old(x), atol=1e-4)


def test_auto_finds_kerass_name_among_kaggles_inputs_and_locally(saved, tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "kernel-metadata.json").touch()
    monkeypatch.chdir(tmp_path / "notebooks")
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(tmp_path / "input"))
    attached = tmp_path / "input/models/someone/mobilenet/keras/default/1" / saved[0].name
    for path in (attached, tmp_path / "weights" / saved[0].name):
        path.parent.mkdir(parents=True)
        path.symlink_to(saved[0])
        weights = Weights.find(MOBILENET, 64, "auto")
        assert weights.path.absolute() == path
        origin = {"setting": "auto", "file": saved[0].name, "licence": "Apache-2.0"}
        assert weights.origin == origin
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")  # a rehearsal below the repository
    assert Weights.find(MOBILENET, 64, "auto").path == attached
    assert same(weights.load(64), saved[1])
    assert same(load(MOBILENET, 64, saved[0].name), saved[1])  # among the inputs


def test_the_same_count_in_other_shapes_is_refused(tmp_path):
    one = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6)])
    other = keras.Sequential([keras.Input((5,)), keras.layers.Dense(5)])
    one.save_weights(tmp_path / "one.weights.h5")
    assert one.count_params() == other.count_params()
    with pytest.raises(WeightsError, match="does not fit other"):
        weights.load_file(other, tmp_path / "one.weights.h5", "other")


def test_without_a_network_the_error_says_which_file_to_bring(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        WeightsError,
        match=r"Put mobilenet_2_5_192_tf_no_top.h5 or .* into weights/, or set weights='none'",
    ):
        load(MOBILENET, 192, "imagenet")
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")  # which lacks the folders of the desk
    with pytest.raises(WeightsError, match="Attach a Kaggle dataset or model with mobilenet"):
        load(MOBILENET, 192, "imagenet")


def test_the_small_network_has_no_imagenet_weights():
    with pytest.raises(WeightsError, match="set weights='none'"):
        load(Backbone("SmallNet"), 64, "imagenet")
    assert load(Backbone("SmallNet"), 64, "auto").count_params() > 0


@pytest.fixture
def built(monkeypatch, tmp_path):
    """With which weights networks were built; a machine without network and without weights."""
    settings = []
    build = Backbone.build

    def without_download(self, size, weights=None):
        settings.append(weights)
        return build(self, size)

    monkeypatch.setattr(Backbone, "build", without_download)
    monkeypatch.setattr(weights, "ask_for_server", offline)
    monkeypatch.setattr(weights, "LOCAL_FOLDERS", ())
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    return settings


def offline():
    raise URLError("no network")


@pytest.mark.parametrize("chosen", [True, False])
def test_where_no_server_answers_nothing_is_built(built, chosen):
    if chosen:
        with pytest.raises(WeightsError, match=r"could not be downloaded: "):
            weights.at_hand("EfficientNetB0", 224, "auto", chosen=True)
    else:
        assert not weights.at_hand("EfficientNetB0", 224, "auto", chosen=False)
    assert built == []


def test_weights_that_keras_keeps_need_no_server(built, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mobilenet_2_5_224_tf_no_top.h5").touch()
    assert weights.at_hand("MobileNet-0.25", 64, "auto", chosen=True)
    assert built == ["imagenet"]


@pytest.mark.parametrize(
    ("name", "setting"), [("SmallNet", "none"), ("VGG16", "none"), ("dinov2-small", "imagenet")]
)
def test_a_network_that_needs_no_download_is_not_asked_about(built, name, setting):
    assert weights.at_hand(name, 224, setting, chosen=True)
    assert built == []

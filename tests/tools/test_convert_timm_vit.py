"""A ViT of timm is read without running its code, and its preset computes the same."""

import argparse
import collections
import json
import pickle
import sys
import types
import zipfile

import numpy as np
import pytest
import vit_reference as reference

DTYPES = {"<f4": "F32", "<f2": "F16"}


@pytest.fixture
def convert(tool):
    return types.SimpleNamespace(**tool("convert_timm_vit"))


def safetensors(path, arrays, dtype="<f4"):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in arrays.items():
        own = np.ascontiguousarray(array, dtype).tobytes()
        header[name] = {
            "dtype": DTYPES[dtype],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(own)],
        }
        data += own
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


class Tensor:
    def __init__(self, key, array):
        self.key, self.array = key, np.ascontiguousarray(array, np.float32)

    def __reduce__(self):
        strides = tuple(step // 4 for step in self.array.strides)
        storage = Storage(self.key, self.array)
        arguments = (storage, 0, self.array.shape, strides, False, collections.OrderedDict())
        return torch._utils._rebuild_tensor_v2, arguments


class Storage:
    def __init__(self, key, array):
        self.key, self.array = key, array


class Writer(pickle.Pickler):
    def persistent_id(self, value):
        if isinstance(value, Storage):
            return ("storage", torch.FloatStorage, value.key, "cpu", value.array.size)
        return None


torch = types.ModuleType("torch")
torch._utils = types.ModuleType("torch._utils")
torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
torch._utils._rebuild_tensor_v2 = type("_rebuild_tensor_v2", (), {"__module__": "torch._utils"})


def of_a_training(path, arrays, prefix="module.", **more):
    """What timm's training script leaves: a state among its arguments, in an archive."""
    tensors = {
        f"{prefix}{name}": Tensor(str(number), array)
        for number, (name, array) in enumerate(arrays.items())
    }
    state = {"epoch": 3, "arch": "vit", "args": argparse.Namespace(lr=0.1), "state_dict": tensors}
    with pytest.MonkeyPatch.context() as patch, zipfile.ZipFile(path, "w") as archive:
        patch.setitem(sys.modules, "torch", torch)
        patch.setitem(sys.modules, "torch._utils", torch._utils)
        with archive.open("model/data.pkl", "w") as file:
            Writer(file, 2).dump(state | more)
        for tensor in tensors.values():
            archive.writestr(f"model/data/{tensor.key}", tensor.array.tobytes())
    return path


PLAIN = reference.made_up(width=128, depth=2, hidden=96)
VARIANTS = {
    "dinov2": PLAIN,
    "registers without positions": reference.made_up(width=128, registers=4)
    | {"pos_embed": PLAIN["pos_embed"][:, 1:]},
    "a gated mlp": reference.made_up(width=64, gated=True),
    "a plain vit": reference.made_up(width=64, scale=False),
}


@pytest.mark.long
@pytest.mark.parametrize("write", [safetensors, of_a_training])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_preset_computes_what_timms_network_does(call, tmp_path, write, variant):
    keras_hub = pytest.importorskip("keras_hub")
    arrays = VARIANTS[variant]
    classifier = {"head.weight": np.zeros((7, 3)), "head.bias": np.zeros(7)}
    file = write(tmp_path / "vit.bin", {**arrays, **classifier})
    preset = tmp_path / "preset"
    done = call("convert_timm_vit", file, preset)
    assert done.exit_code == 0, done.output
    assert "24 pixels in patches of 4" in done.output

    heads = arrays["cls_token"].shape[-1] // 64
    for size in (24, 36, 16):
        images = np.random.default_rng(1).normal(size=(2, size, size, 3)).astype(np.float32)
        shape = (size, size, 3)
        network = keras_hub.models.Backbone.from_preset(str(preset), image_shape=shape)
        computed = np.asarray(network({"images": images}))
        expected = reference.tokens(images, arrays, heads, antialias=True)
        np.testing.assert_allclose(computed, expected, atol=1e-4)


def test_the_preset_is_a_backbone_of_the_kit(call, tmp_path, convert):
    pytest.importorskip("keras_hub")
    from petals.models.build import build_features
    from petals.registry import Facts

    preset = tmp_path / "preset"
    call("convert_timm_vit", safetensors(tmp_path / "a.safetensors", PLAIN), preset)
    name = f"hub:{preset}"
    assert (Facts(name).native, Facts(name).patch) == (24, 4)
    images = np.random.default_rng(1).integers(0, 256, (2, 24, 24, 3), np.uint8)
    scale, offset = convert.SCALINGS["imagenet"]
    expected = reference.features(images * np.array(scale) + np.array(offset), PLAIN, 2)
    np.testing.assert_allclose(build_features(name, 24)[0](images), expected, atol=1e-4)


def test_registers_with_positions_keep_them(convert):
    arrays = reference.made_up(width=64, registers=2)
    rng = np.random.default_rng(3)
    extra = rng.normal(size=(1, 2, 64)).astype(np.float32)
    place = arrays["pos_embed"]
    arrays["pos_embed"] = np.concatenate([place[:, :1], extra, place[:, 1:]], axis=1)
    assert convert._grid(arrays) == (6, 3)


def test_metas_own_names_and_half_precision_are_read(convert, tmp_path):
    arrays = reference.made_up(width=64, registers=4, gated=True)
    theirs = {
        name.replace("reg_token", "register_tokens")
        .replace("mlp.fc1", "mlp.w12")
        .replace("mlp.fc2", "mlp.w3"): array
        for name, array in arrays.items()
    } | {"mask_token": np.zeros((1, 64))}
    file = safetensors(tmp_path / "dinov2.safetensors", theirs, "<f2")
    read = convert.renamed(convert.read_checkpoint(file, convert.LARGEST))
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_allclose(read[name], array, atol=2e-3)
    assert convert.architecture(read)["intermediate_dim"] == 96
    assert convert.architecture(read)["num_register_tokens"] == 4


def without(*names):
    return {name: array for name, array in PLAIN.items() if name not in names}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (without("cls_token"), "it lacks cls_token"),
        (without("blocks.1.attn.qkv.bias"), "it lacks blocks.1.attn.qkv.bias"),
        (PLAIN | {"norm_pre.weight": np.ones(128)}, "norm_pre.weight does not belong there"),
        (PLAIN | {"pos_embed": np.ones((1, 31, 128))}, "31 positions are no square of patches"),
        ({"conv1.weight": np.ones((3, 3))}, "it is not a ViT with DINOv2's architecture"),
        (
            PLAIN | {"blocks.1.attn.proj.weight": np.ones((128, 64))},
            "blocks.1.attn.proj.weight has the shape (128, 64), not (128, 128)",
        ),
        (PLAIN | {"norm.weight": np.ones(())}, "has the shape"),
        (PLAIN | {"pos_embed": np.ones(37)}, "pos_embed has the shape (37,), not (1, 0, 128)"),
        (PLAIN | {"blocks.0.mlp.fc2.weight": np.ones(())}, "has the shape"),
        (PLAIN | {"patch_embed.proj.weight": np.ones((128, 48))}, "patch_embed.proj.weight has"),
        (
            PLAIN | {"blocks.1.norm2.bias": np.full(128, np.inf)},
            "blocks.1.norm2.bias has numbers that are not finite",
        ),
        (reference.made_up(width=64, hidden=60, gated=True), "60 numbers, which is no multiple"),
        (without("pos_embed") | {"blocks.0.gamma_1": np.ones(128)}, "set backbone=dinov3-small"),
        ({"embeddings.cls_token": np.ones((1, 1, 128))}, "names of the library transformers"),
    ],
)
def test_another_architecture_is_refused_in_one_line(call, tmp_path, arrays, message):
    file = safetensors(tmp_path / "vit.safetensors", arrays)
    done = call("convert_timm_vit", file, tmp_path / "preset")
    (line,) = done.stderr.splitlines()
    assert done.exit_code == 11 and message in line
    assert not (tmp_path / "preset").exists()


class Evil:
    def __reduce__(self):
        return print, ("this ran",)


def test_no_code_of_a_checkpoint_is_run(call, tmp_path, capfd):
    file = of_a_training(tmp_path / "evil.pth", PLAIN, optimizer=Evil())
    done = call("convert_timm_vit", file, tmp_path / "preset")
    assert done.exit_code == 11 and ".print, which is not a tensor" in done.stderr
    assert "save the network's state_dict() alone" in done.stderr
    assert "this ran" not in done.output + capfd.readouterr().out


@pytest.mark.parametrize("write", [safetensors, of_a_training])
def test_a_cut_file_is_refused_in_one_line(call, tmp_path, write):
    whole = write(tmp_path / "whole", PLAIN).read_bytes()
    for length in (0, 20, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        done = call("convert_timm_vit", tmp_path / "cut", tmp_path / "preset")
        (line,) = done.stderr.splitlines()
        assert done.exit_code == 11 and line.startswith("error: ")


def test_tensors_that_reach_beyond_the_file_are_refused(convert, tmp_path):
    file = tmp_path / "bad.safetensors"
    for offsets in ([0, 8], [-4, 12], [0, 4000]):
        header = {"a": {"dtype": "F32", "shape": [4], "data_offsets": offsets}}
        text = json.dumps(header).encode()
        file.write_bytes(len(text).to_bytes(8, "little") + text + bytes(16))
        with pytest.raises(convert.BadCheckpointError, match="reaches beyond the file"):
            convert.read_checkpoint(file, 1000)
    with pytest.raises(convert.BadCheckpointError, match="more than 0 MB"):
        convert.read_checkpoint(file, 10)

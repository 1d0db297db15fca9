"""A checkpoint is read without running its code, and computes the same as a preset."""

import collections
import itertools
import pickle
import sys
import types

import numpy as np
import pytest

WIDTHS = (8, 8, 16, 24, 32, 40, 48, 56)  # channels between the stacks of blocks
KERNELS = (3, 3, 5, 3, 5, 5, 3)
STRIDES = (1, 2, 2, 2, 1, 2, 1)


def blocks():
    """(name, whether it expands, channels in and out, kernel, stride): one a stack, or two."""
    number = itertools.count()
    for stack, kernel in enumerate(KERNELS):
        before, after = WIDTHS[stack : stack + 2]
        for channels, stride in ((before, STRIDES[stack]), (after, 1))[: 1 + stack % 2]:
            yield f"_blocks.{next(number)}", stack > 0, channels, after, kernel, stride


@pytest.fixture
def convert(tool):
    return types.SimpleNamespace(**tool("convert_efficientnet_lite"))


class Tensor:
    """An array as PyTorch before 1.6 wrote one: a call of its own function, and a storage."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array, np.float32)

    def __reduce__(self):
        strides = tuple(step // 4 for step in self.array.strides)
        storage, empty = self.array, collections.OrderedDict()
        return torch._utils._rebuild_tensor_v2, (storage, 0, storage.shape, strides, False, empty)


class Writer(pickle.Pickler):
    """Writes a name in place of each storage."""

    def persistent_id(self, value):
        if isinstance(value, np.ndarray):
            return ("storage", torch.FloatStorage, str(id(value)), "cpu", value.size, None)
        return None


# What a checkpoint holds of PyTorch are names.
torch = types.ModuleType("torch")
torch._utils = types.ModuleType("torch._utils")
torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
torch._utils._rebuild_tensor_v2 = type("_rebuild_tensor_v2", (), {"__module__": "torch._utils"})


def checkpoint(path, arrays):
    """Write arrays in the format of PyTorch before 1.6."""
    tensors = collections.OrderedDict((name, Tensor(array)) for name, array in arrays.items())
    with pytest.MonkeyPatch.context() as patch, path.open("wb") as file:
        patch.setitem(sys.modules, "torch", torch)
        patch.setitem(sys.modules, "torch._utils", torch._utils)
        system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
        keys = [str(id(tensor.array)) for tensor in tensors.values()]
        for value in (0x1950A86A20F9469CFC6C, 1001, system, tensors, keys):
            Writer(file, 2).dump(value)
        for tensor in tensors.values():
            file.write(tensor.array.size.to_bytes(8, "little") + tensor.array.tobytes())
    return path


@pytest.fixture
def arrays():
    """The tensors of a small network of the same structure."""
    rng = np.random.default_rng(0)
    made = {}

    def convolution(name, *shape):
        made[f"{name}.weight"] = rng.normal(0, 0.3, shape)

    def norm(name, channels):
        for part in ("bias", "running_mean"):
            made[f"{name}.{part}"] = rng.normal(0, 0.5, channels)
        for part in ("weight", "running_var"):
            made[f"{name}.{part}"] = rng.uniform(0.5, 2, channels)

    convolution("_conv_stem", WIDTHS[0], 3, 3, 3)
    norm("_bn0", WIDTHS[0])
    for place, expands, before, after, kernel, _ in blocks():
        wide = before * (6 if expands else 1)
        if expands:
            convolution(f"{place}._expand_conv", wide, before, 1, 1)
            norm(f"{place}._bn0", wide)
        convolution(f"{place}._depthwise_conv", wide, 1, kernel, kernel)
        norm(f"{place}._bn1", wide)
        convolution(f"{place}._project_conv", after, wide, 1, 1)
        norm(f"{place}._bn2", after)
    convolution("_conv_head", 1280, WIDTHS[-1], 1, 1)
    norm("_bn1", 1280)
    return {name: array.astype(np.float32) for name, array in made.items()}


def test_a_checkpoint_is_read_as_it_was_written(convert, arrays, tmp_path):
    read = convert.read_checkpoint(checkpoint(tmp_path / "lite.pth", arrays), convert.LARGEST)
    assert read.keys() == arrays.keys()
    assert all(np.array_equal(read[name], arrays[name]) for name in arrays)
    built = convert.architecture(read)
    assert built["stackwise_num_repeats"] == [1, 2, 1, 2, 1, 2, 1]
    assert built["stackwise_output_filters"] == list(WIDTHS[1:])
    assert built["stackwise_expansion_ratios"] == [1, 6, 6, 6, 6, 6, 6]


class Evil:
    def __reduce__(self):
        return print, ("this ran",)


def test_a_damaged_file_is_one_line_and_a_code_and_no_code_of_it_is_run(call, arrays, tmp_path):
    whole = checkpoint(tmp_path / "whole.pth", arrays).read_bytes()
    bad, preset = tmp_path / "bad.pth", tmp_path / "preset"
    contents = {
        b"no checkpoint": "it cannot be read: UnpicklingError",
        pickle.dumps(Evil(), 2): ".print, which is not a tensor",
        **{whole[:length]: "" for length in (0, 200, 5000, -1)},
    }
    for content, message in contents.items():
        bad.write_bytes(content)
        done = call("convert_efficientnet_lite", bad, preset)
        assert (done.exit_code, done.stdout) == (11, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("error: ") and message in line
    assert not preset.exists()


def test_a_tensor_beyond_its_storage_is_refused(convert):
    import _checkpoint

    for offset, shape, strides in ((1, (4, 4), (4, 1)), (0, (4, 4), (-4, 1)), (0, (2,), (16,))):
        with pytest.raises(convert.BadCheckpointError, match="beyond its storage"):
            _checkpoint._view(np.zeros(16, np.float32), offset, shape, strides)
    with pytest.raises(convert.BadCheckpointError, match="0 stacks of blocks, not 7"):
        convert.architecture({})


@pytest.mark.long
@pytest.mark.parametrize("size", [64, 65])
def test_the_preset_computes_what_the_layers_of_the_checkpoint_do(convert, arrays, tmp_path, size):
    keras_hub = pytest.importorskip("keras_hub")
    tf = pytest.importorskip("tensorflow")
    network = keras_hub.models.EfficientNetBackbone(**convert.architecture(arrays))
    convert.assign(network, arrays)
    images = np.random.default_rng(1).normal(size=(2, size, size, 3)).astype(np.float32)

    def norm(x, name):
        gamma, beta, mean, variance = (arrays[f"{name}.{part}"] for part in convert.NORM)
        return (x - mean) * gamma / np.sqrt(variance + 1e-3) + beta

    def convolution(x, name, stride=1):
        return tf.nn.conv2d(x, arrays[f"{name}.weight"].transpose(2, 3, 1, 0), stride, "SAME")

    x = tf.nn.relu6(norm(convolution(images, "_conv_stem", 2), "_bn0"))
    for place, expands, *_, stride in blocks():
        y = x
        if expands:
            y = tf.nn.relu6(norm(convolution(y, f"{place}._expand_conv"), f"{place}._bn0"))
        kernel = arrays[f"{place}._depthwise_conv.weight"].transpose(2, 3, 0, 1)
        y = tf.nn.depthwise_conv2d(y, kernel, [1, stride, stride, 1], "SAME")
        y = tf.nn.relu6(norm(y, f"{place}._bn1"))
        y = norm(convolution(y, f"{place}._project_conv"), f"{place}._bn2")
        x = x + y if y.shape == x.shape else y
    expected = tf.nn.relu6(norm(convolution(x, "_conv_head"), "_bn1"))
    np.testing.assert_allclose(network(images), expected, rtol=1e-2, atol=1e-2)

"""A checkpoint is read without running its code, and computes the same as a preset."""

import collections
import importlib
import io
import pickle
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

TOOLS = Path(__file__).parents[2] / "tools"
CHANNELS = (
    (8, 8),
    (8, 16),
    (16, 24),
    (24, 32),
    (32, 40),
    (40, 48),
    (48, 56),
)  # in and out of stacks
KERNELS = (3, 3, 5, 3, 5, 5, 3)


@pytest.fixture(scope="module")
def tool():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOLS))
        return importlib.import_module("convert_efficientnet_lite")


def rebuild(*_):
    """Stands for PyTorch's function, of which a checkpoint holds the name alone."""


rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"


class Tensor:
    def __init__(self, array):
        self.array = np.ascontiguousarray(array, np.float32)
        self.storage = Storage(self)

    def __reduce__(self):
        strides = tuple(step // 4 for step in self.array.strides)
        shape = self.array.shape
        return rebuild, (self.storage, 0, shape, strides, False, collections.OrderedDict())


class Storage:
    def __init__(self, tensor):
        self.tensor = tensor


class Writer(pickle.Pickler):
    """Writes tensors as PyTorch before 1.6 did: a persistent name for each storage."""

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        size = value.tensor.array.size
        return ("storage", FloatStorage, str(id(value.tensor)), "cpu", size, None)


class FloatStorage:
    pass


FloatStorage.__module__, FloatStorage.__qualname__ = "torch", "FloatStorage"


def checkpoint(path, arrays):
    """Write arrays in the format of PyTorch before 1.6."""
    torch, utilities = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage, utilities._rebuild_tensor_v2 = FloatStorage, rebuild
    tensors = collections.OrderedDict((name, Tensor(array)) for name, array in arrays.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", torch)
        patch.setitem(sys.modules, "torch._utils", utilities)
        stream = io.BytesIO()
        system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
        keys = [str(id(tensor)) for tensor in tensors.values()]
        for value in (0x1950A86A20F9469CFC6C, 1001, system, tensors, keys):
            Writer(stream, 2).dump(value)
    for tensor in tensors.values():
        stream.write(tensor.array.size.to_bytes(8, "little") + tensor.array.tobytes())
    path.write_bytes(stream.getvalue())
    return path


@pytest.fixture
def arrays():
    """The tensors of a small network of the same structure; stacks have one block, or two."""
    rng = np.random.default_rng(0)
    made = {}

    def convolution(name, *shape):
        made[f"{name}.weight"] = rng.normal(0, 0.3, shape)

    def norm(name, channels):
        made[f"{name}.weight"] = rng.uniform(0.5, 2, channels)
        made[f"{name}.bias"] = rng.normal(0, 0.5, channels)
        made[f"{name}.running_mean"] = rng.normal(0, 0.5, channels)
        made[f"{name}.running_var"] = rng.uniform(0.5, 2, channels)

    convolution("_conv_stem", 8, 3, 3, 3)
    norm("_bn0", 8)
    number = 0
    for stack, ((before, after), kernel) in enumerate(zip(CHANNELS, KERNELS, strict=True)):
        for channels in (before, after)[: 1 + stack % 2]:
            wide = channels if stack == 0 else 6 * channels
            place = f"_blocks.{number}"
            if stack:
                convolution(f"{place}._expand_conv", wide, channels, 1, 1)
                norm(f"{place}._bn0", wide)
            convolution(f"{place}._depthwise_conv", wide, 1, kernel, kernel)
            norm(f"{place}._bn1", wide)
            convolution(f"{place}._project_conv", after, wide, 1, 1)
            norm(f"{place}._bn2", after)
            number += 1
    convolution("_conv_head", 1280, CHANNELS[-1][1], 1, 1)
    norm("_bn1", 1280)
    return {name: array.astype(np.float32) for name, array in made.items()}


def test_a_checkpoint_is_read_as_it_was_written(tool, arrays, tmp_path):
    read = tool.read_checkpoint(checkpoint(tmp_path / "lite.pth", arrays))
    assert read.keys() == arrays.keys()
    assert all(np.array_equal(read[name], arrays[name]) for name in arrays)
    built = tool.architecture(read)
    assert built["stackwise_num_repeats"] == [1, 2, 1, 2, 1, 2, 1]
    assert built["stackwise_input_filters"] == [before for before, _ in CHANNELS]
    assert built["stackwise_output_filters"] == [after for _, after in CHANNELS]
    assert built["stackwise_kernel_sizes"] == list(KERNELS)
    assert built["stackwise_expansion_ratios"] == [1, 6, 6, 6, 6, 6, 6]


class Evil:
    def __reduce__(self):
        return print, ("this ran",)


def test_no_code_of_a_checkpoint_is_run(tool, tmp_path, capsys):
    path = tmp_path / "evil.pth"
    path.write_bytes(pickle.dumps(Evil(), 2))
    with pytest.raises(tool.BadCheckpointError, match=r"contains (builtins|__builtin__)\.print"):
        tool.read_checkpoint(path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("keep", [0, 10, 200, 5000, -1])
def test_a_truncated_checkpoint_is_refused(tool, arrays, tmp_path, keep):
    path = checkpoint(tmp_path / "lite.pth", arrays)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(tool.BadCheckpointError):
        tool.read_checkpoint(path)


def test_a_tensor_beyond_its_storage_is_refused(tool, arrays, tmp_path):
    path = checkpoint(tmp_path / "lite.pth", {"a": np.zeros((4, 4))})
    tensor = ("key", np.dtype("<f4"), 16)
    for offset, shape, strides in ((1, (4, 4), (4, 1)), (0, (4, 4), (-4, 1)), (0, (2,), (16,))):
        with pytest.raises(tool.BadCheckpointError, match="beyond its storage"):
            tool._array({"key": np.zeros(16, np.float32)}, (tensor, offset, shape, strides))
    with pytest.raises(tool.BadCheckpointError, match="0 stacks of blocks, not 7"):
        tool.architecture(tool.read_checkpoint(path))


@pytest.mark.long
def test_the_command_ends_with_one_line_and_a_code_for_a_bad_file(tmp_path):
    (tmp_path / "bad.pth").write_bytes(b"no checkpoint")
    command = [sys.executable, "-W", "ignore", str(TOOLS / "convert_efficientnet_lite.py")]
    done = subprocess.run(
        [*command, str(tmp_path / "bad.pth"), str(tmp_path / "preset")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 11
    assert done.stderr.startswith("error: it cannot be read: UnpicklingError")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "preset").exists()


@pytest.mark.long
@pytest.mark.parametrize("size", [64, 65])
def test_the_preset_computes_what_the_layers_of_the_checkpoint_do(tool, arrays, tmp_path, size):
    keras_hub = pytest.importorskip("keras_hub")
    tf = pytest.importorskip("tensorflow")
    network = keras_hub.models.EfficientNetBackbone(**tool.architecture(arrays))
    tool.assign(network, arrays)
    images = np.random.default_rng(1).normal(size=(2, size, size, 3)).astype(np.float32)

    def norm(x, name):
        gamma, beta, mean, variance = (arrays[f"{name}.{part}"] for part in tool.NORM)
        return (x - mean) * gamma / np.sqrt(variance + 1e-3) + beta

    def convolution(x, name, stride=1):
        return tf.nn.conv2d(x, arrays[f"{name}.weight"].transpose(2, 3, 1, 0), stride, "SAME")

    x = tf.nn.relu6(norm(convolution(images, "_conv_stem", 2), "_bn0"))
    number = 0
    for stack, stride in enumerate(tool.STRIDES):
        for step in (stride, 1)[: 1 + stack % 2]:
            place, y = f"_blocks.{number}", x
            if stack:
                y = tf.nn.relu6(norm(convolution(y, f"{place}._expand_conv"), f"{place}._bn0"))
            kernel = arrays[f"{place}._depthwise_conv.weight"].transpose(2, 3, 0, 1)
            y = tf.nn.depthwise_conv2d(y, kernel, [1, step, step, 1], "SAME")
            y = tf.nn.relu6(norm(y, f"{place}._bn1"))
            y = norm(convolution(y, f"{place}._project_conv"), f"{place}._bn2")
            x = x + y if y.shape == x.shape else y
            number += 1
    expected = tf.nn.relu6(norm(convolution(x, "_conv_head"), "_bn1"))
    np.testing.assert_allclose(network(images), expected, rtol=1e-2, atol=1e-2)

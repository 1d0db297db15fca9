"""Read the tensors of PyTorch's checkpoints and of safetensors, without running code of theirs.

A PyTorch checkpoint is a pickle, which can name any function to call. Here only tensors and plain
containers are built; what else training scripts leave, such as their arguments, becomes empty.
"""

import json
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001  # of the format before PyTorch 1.6
BFLOAT16 = "bfloat16"  # read as 16-bit integers
DTYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "BFloat16Storage": BFLOAT16,
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "BoolStorage": "|b1",
}
SAFE_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": BFLOAT16,
    "I64": "<i8",
    "I32": "<i4",
    "U8": "|u1",
    "BOOL": "|b1",
}
LONGEST_HEADER = 100_000_000  # bytes of a safetensors file, as its own library limits them
# Where training scripts keep a network's tensors, besides at the top
STATES = ("state_dict", "model", "model_state_dict", "teacher")
WRAPPED = "module."  # what training on several GPUs puts before each name
# What they keep beside it; nothing of it is built.
EMPTY = {
    ("argparse", "Namespace"),
    ("collections", "defaultdict"),
    ("_codecs", "encode"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
}
Arrays = dict[str, np.ndarray]
ReadStorage = Callable[[str, str, int], np.ndarray]  # key, dtype, number of elements


class BadCheckpointError(Exception):
    """The file is not a checkpoint that can be converted; the message says why."""

    exit_code = 11


class _Empty:
    """In place of an object that is not built: it takes any state and keeps nothing."""

    def __new__(cls, *_: Any, **__: Any) -> "_Empty":
        return super().__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setstate__(self, _: Any) -> None:
        pass

    def __setitem__(self, _: Any, __: Any) -> None:
        pass


class _Tensor(tuple[Any, ...]):
    """(storage, offset, shape, strides) of a tensor; the storage is (key, dtype, elements)."""


class _Tensors(pickle.Unpickler):
    """Reads tensors and refuses everything else that is neither plain nor known to be harmless."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, shape, strides, *_: _Tensor(
                (storage, offset, shape, strides)
            )
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda tensor, *_: tensor
        if module == "torch" and name in DTYPES:
            return name
        if (module, name) in EMPTY:
            return _Empty
        raise BadCheckpointError(
            f"it contains {module}.{name}, which is not a tensor, and none of its code is run: "
            "save the network's state_dict() alone"
        )

    def persistent_load(self, pid: Any) -> Any:
        kind, dtype, key, _, count, *view = pid
        if kind != "storage" or any(part is not None for part in view) or dtype not in DTYPES:
            raise BadCheckpointError("it contains a storage of an unknown kind")
        return key, DTYPES[dtype], count


def read_checkpoint(path: Path, largest: int) -> Arrays:
    """The tensors of a checkpoint of at most `largest` bytes by name.

    Files of PyTorch, before and since 1.6, and of safetensors. Raises `BadCheckpointError`.
    """
    if path.stat().st_size > largest:
        raise BadCheckpointError(f"it has more than {largest / 1e6:.0f} MB")
    try:
        with path.open("rb") as file:
            begins = file.read(9)
        if begins.startswith(b"PK\x03\x04"):
            return _read_zip(path)
        if begins[8:] == b"{":
            return _read_safetensors(path)
        with path.open("rb") as file:
            return _read_old(file)
    except BadCheckpointError:
        raise
    except Exception as error:  # damaged bytes can make pickle raise anything
        raise BadCheckpointError(f"it cannot be read: {type(error).__name__}: {error}") from None


def _read_old(file: IO[bytes]) -> Arrays:
    """PyTorch before 1.6: pickles, then the storages in the order of their keys."""
    if (_load(file), _load(file)) != (MAGIC, PROTOCOL):
        raise BadCheckpointError("it is neither in a format of PyTorch nor safetensors")
    if not _load(file)["little_endian"]:
        raise BadCheckpointError("it is big-endian")
    tensors = _state(_load(file))
    keys = _load(file)
    kinds = {storage[0]: storage[1:] for storage, *_ in tensors.values()}
    storages = {}
    for key in keys:
        if key not in kinds:
            raise BadCheckpointError("it has tensors besides those of one network")
        dtype, count = kinds[key]
        if int.from_bytes(file.read(8), "little") != count:
            raise BadCheckpointError("a storage has another size than its tensor")
        storages[key] = _elements(file.read(count * _bytes(dtype)), dtype, count)
    return _arrays(tensors, lambda key, *_: storages[key])


def _read_zip(path: Path) -> Arrays:
    """PyTorch since 1.6: an archive of a pickle and one file a storage."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.rpartition("/")[2] == "data.pkl"]
        if len(names) != 1:
            raise BadCheckpointError("it is an archive without one data.pkl")
        root = names[0].removesuffix("data.pkl")
        order = f"{root}byteorder"
        if order in archive.namelist() and archive.read(order).strip() != b"little":
            raise BadCheckpointError("it is big-endian")
        with archive.open(names[0]) as file:
            tensors = _state(_load(file))

        def storage(key: str, dtype: str, count: int) -> np.ndarray:
            place = f"{root}data/{key}"
            if archive.getinfo(place).file_size != count * _bytes(dtype):
                raise BadCheckpointError("a storage has another size than its tensor")
            return _elements(archive.read(place), dtype, count)

        return _arrays(tensors, storage)


def _read_safetensors(path: Path) -> Arrays:
    """safetensors: the length of a JSON header, the header, the bytes that it describes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(size, LONGEST_HEADER):
            raise BadCheckpointError("its header is longer than the file may be")
        header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        arrays = {}
        for name, about in header.items():
            if about["dtype"] not in SAFE_DTYPES:
                raise BadCheckpointError(f"{name} has the unknown type {about['dtype']}")
            dtype = SAFE_DTYPES[about["dtype"]]
            shape = about["shape"]
            begin, end = about["data_offsets"]
            count = math.prod(shape)
            inside = 0 <= begin <= end <= size - 8 - length
            if not inside or end - begin != count * _bytes(dtype):
                raise BadCheckpointError(f"{name} reaches beyond the file")
            file.seek(8 + length + begin)
            arrays[name] = _elements(file.read(end - begin), dtype, count).reshape(shape)
    return arrays


def _load(file: IO[bytes]) -> Any:
    return _Tensors(file).load()


def _state(loaded: Any) -> dict[str, _Tensor]:
    """The tensors by name in what a checkpoint holds."""
    candidates = [loaded]
    if isinstance(loaded, Mapping):
        candidates += [loaded[key] for key in STATES if key in loaded]
    for candidate in candidates:
        if isinstance(candidate, Mapping) and candidate:
            tensors = {n: t for n, t in candidate.items() if isinstance(t, _Tensor)}
            if len(tensors) == len(candidate):
                return {str(name).removeprefix(WRAPPED): t for name, t in tensors.items()}
    raise BadCheckpointError(f"it holds no tensors by name, neither at the top nor in {STATES}")


def _arrays(tensors: Mapping[str, _Tensor], storage: ReadStorage) -> Arrays:
    read: Arrays = {}
    arrays = {}
    for name, ((key, dtype, count), offset, shape, strides) in tensors.items():
        if key not in read:
            read[key] = storage(key, dtype, count)
        arrays[name] = _view(read[key], offset, shape, strides)
    return arrays


def _view(elements: np.ndarray, offset: int, shape: Any, strides: Any) -> np.ndarray:
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    inside = 0 <= offset <= last < len(elements)
    if (math.prod(shape) and not inside) or min(strides, default=0) < 0:
        raise BadCheckpointError("a tensor reaches beyond its storage")
    steps = [step * elements.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(elements[offset:], shape, steps)


def _bytes(dtype: str) -> int:
    return 2 if dtype == BFLOAT16 else np.dtype(dtype).itemsize


def _elements(data: bytes, dtype: str, count: int) -> np.ndarray:
    if dtype == BFLOAT16:  # the upper half of a float32
        upper = np.frombuffer(data, "<u2", count).astype(np.uint32)
        return (upper << 16).view(np.float32)
    return np.frombuffer(data, dtype, count)

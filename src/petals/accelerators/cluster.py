"""The hosts of a run: which there are, and collective operations between them.

`read` tells from the environment how to join the others, `petals.accelerators.joining` joins them,
and `here` is this host. Host 0 writes the files. On a single host each collective operation
returns its argument unchanged. Nothing here imports Keras before it is needed.
"""

from __future__ import annotations

import json
import os
import random
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from petals.errors import HostsError, SettingError

if TYPE_CHECKING:
    import tensorflow as tf
    from tensorflow import keras

P = ParamSpec("P")
T = TypeVar("T")
CHUNK = 1 << 22  # words exchanged at a time: 16 MB of each host
CHOICE = "PETALS_HOSTS"
ADDRESS, COUNT, INDEX = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
TF_CONFIG = "TF_CONFIG"
JAX, TENSORFLOW = "jax", "tensorflow"

LOST = (
    "another host of this run has ended or is out of reach: its own output says why. Start all "
    "hosts again with the same command, and the run goes on from its checkpoint"
)
_SIGNS_OF_LOSS = ("Gloo", "Collective ops is aborted", "coordination service", "heartbeat")


@dataclass(frozen=True)
class Hosts:
    """This host's `index` of `count`; `strategy`: TensorFlow's where the hosts join through it."""

    index: int = 0
    count: int = 1
    strategy: Any = None

    @property
    def first(self) -> bool:
        """Whether this host writes the files."""
        return self.index == 0


_here = Hosts()


def here() -> Hosts:
    """This host among those that joined; a single host before."""
    return _here


def set_here(hosts: Hosts) -> None:
    """Note what `petals.accelerators.joining.join` found."""
    global _here
    _here = hosts


@contextmanager
def naming_lost_hosts() -> Iterator[None]:
    """Turn the error of a collective operation that lost a host into a `HostsError`."""
    try:
        yield
    except Exception as error:
        if _here.count > 1 and any(sign in str(error) for sign in _SIGNS_OF_LOSS):
            raise HostsError(LOST) from error
        raise


@dataclass(frozen=True)
class ClusterSpec:
    """How to join the other hosts. With `address` "" and `index` None, JAX detects them itself."""

    through: str
    address: str = ""
    count: int | None = None
    index: int | None = None


def read(environ: Mapping[str, str] = os.environ) -> ClusterSpec | None:
    """How to join the other hosts of the environment; None when this host runs alone.

    Raises `SettingError` for variables that are missing, not numbers or in contradiction.
    """
    choice = environ.get(CHOICE, "")
    if choice not in ("", "1", "auto"):
        raise SettingError(f"{CHOICE}={choice}: auto, or 1 to run alone")
    if choice == "1":
        return None
    if any(environ.get(name) for name in (COUNT, INDEX)):
        return _told_for_jax(environ)
    slurm = environ.get("SLURM_STEP_NUM_TASKS", "1") != "1" and "SLURM_STEP_NODELIST" in environ
    if choice == "auto" or slurm or "," in environ.get("TPU_WORKER_HOSTNAMES", ""):
        return ClusterSpec(JAX)
    return _told_for_tensorflow(environ)


def _told_for_jax(environ: Mapping[str, str]) -> ClusterSpec | None:
    missing = [name for name in (ADDRESS, COUNT, INDEX) if not environ.get(name)]
    if missing:
        raise SettingError(
            f"several hosts need {ADDRESS}, {COUNT} and {INDEX}, the last one different on each: "
            f"{', '.join(missing)} not set"
        )
    count, index = (_number(name, environ[name]) for name in (COUNT, INDEX))
    if not 0 <= index < count:
        raise SettingError(f"{INDEX}={index} of {COUNT}={count} hosts: 0 to {count - 1}")
    host, _, port = environ[ADDRESS].rpartition(":")
    if not (host and port.isdigit()):
        raise SettingError(f"{ADDRESS}={environ[ADDRESS]}: HOST:PORT of host 0")
    return ClusterSpec(JAX, environ[ADDRESS], count, index) if count > 1 else None


def _told_for_tensorflow(environ: Mapping[str, str]) -> ClusterSpec | None:
    try:
        config = json.loads(environ.get(TF_CONFIG) or "{}")
        workers = config["cluster"]["worker"] if config else []
        index = config["task"]["index"] if config else 0
    except (ValueError, KeyError, TypeError):
        raise SettingError(
            f'{TF_CONFIG} is not {{"cluster": {{"worker": ["HOST:PORT", ...]}}, "task": '
            '{"type": "worker", "index": 0}}'
        ) from None
    if len(workers) < 2:
        return None
    if not (isinstance(index, int) and 0 <= index < len(workers)):
        raise SettingError(
            f"{TF_CONFIG}: worker {index} of {len(workers)}: 0 to {len(workers) - 1}"
        )
    return ClusterSpec(TENSORFLOW, workers[0], len(workers), index)


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingError(f"{name}={text}: a whole number") from None


def gather(rows: np.ndarray) -> np.ndarray:
    """Arrays of all hosts joined along the first axis, in the hosts' order, the same on each.

    The arrays may differ in length. Every host must call the function; raises `HostsError` when
    a host is gone.
    """
    host = here()
    if host.count == 1:
        return rows
    rows = np.ascontiguousarray(rows)
    lengths = _numbers(len(rows))
    width = int(np.prod(rows.shape[1:])) * rows.itemsize
    words = _words(rows.tobytes(), -(-int(lengths.max()) * width // 4))
    parts = [
        np.frombuffer(part.tobytes(), rows.dtype, count=length * (width // rows.itemsize))
        for part, length in zip(_of_all(words), lengths, strict=True)
    ]
    return np.concatenate(parts).reshape(-1, *rows.shape[1:])


def broadcast(data: bytes) -> bytes:
    """Host 0's bytes, on every host; the arguments of the other hosts are ignored."""
    host = here()
    if host.count == 1:
        return data
    length = int(_numbers(len(data))[0])
    size = -(-length // 4)
    words = _words(data if host.first else b"", size)
    parts = [_of_all(words[at : at + CHUNK])[0] for at in range(0, size, CHUNK)]
    return b"".join(part.tobytes() for part in parts)[:length]


def broadcast_scalar(value: float) -> float:
    """Host 0's number, on every host, so that all hosts decide alike."""
    if here().count == 1:
        return value
    return float(np.frombuffer(broadcast(np.float64(value).tobytes()), np.float64)[0])


def of_first(array: np.ndarray) -> np.ndarray:
    """Host 0's array, on every host; `array` has the same shape on all hosts."""
    data = broadcast(np.ascontiguousarray(array).tobytes())
    return np.frombuffer(data, array.dtype).reshape(array.shape)


def _numbers(own: int) -> np.ndarray:
    """int64 (hosts,): one number from each host."""
    return np.ascontiguousarray(_of_all(np.array([own], np.int64).view(np.int32))).view(np.int64)[
        :, 0
    ]


def _words(data: bytes, size: int) -> np.ndarray:
    return np.frombuffer(data.ljust(4 * size, b"\0"), np.int32)


def _of_all(words: np.ndarray) -> np.ndarray:
    """The int32 (n,) arrays of all hosts as one (hosts, n) array; n is the same on all hosts."""
    host = here()
    with naming_lost_hosts():
        if host.strategy is None:
            from jax.experimental import multihost_utils

            return np.asarray(multihost_utils.process_allgather(words))
        import tensorflow as tf

        table = np.zeros((host.count, len(words)), np.int32)
        table[host.index] = words
        return _summing(host.strategy)(tf.constant(table)).numpy()


@lru_cache(maxsize=1)
def _summing(strategy: Any) -> Any:
    import tensorflow as tf

    replicas = strategy.num_replicas_in_sync // here().count  # of each host

    def total(table: tf.Tensor) -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        first_of_host = tf.equal(context.replica_id_in_sync_group % replicas, 0)
        return context.all_reduce("sum", tf.where(first_of_host, table, tf.zeros_like(table)))

    @tf.function(reduce_retracing=True)
    def on_all(table: tf.Tensor) -> tf.Tensor:
        return strategy.experimental_local_results(strategy.run(total, (table,)))[0]

    return on_all


_doubles: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def local_devices_only(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: the function uses only this host's devices, independently of the other hosts."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        host = here()
        if host.count == 1:
            return function(*args, **kwargs)
        if host.strategy is not None:
            # tf_keras calls back inside its strategy's scope; a new thread is outside of the scope.
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(function, *args, **kwargs).result()
        import jax
        from tensorflow import keras

        own = [f"{device.platform}:{device.id}" for device in jax.local_devices()]
        with keras.distribution.DataParallel(devices=own, auto_shard_dataset=False).scope():
            return function(*args, **kwargs)

    return wrapper


def local_copy(model: keras.Model) -> keras.Model:
    """A copy of the model with its present weights, for use `on_this_host`.

    Every host must call the function. On a single host it returns the model itself.
    """
    if here().count == 1:
        return model
    from tensorflow import keras

    weights = model.get_weights()  # under tf.distribute the hosts agree on some of them
    if model not in _doubles:
        rng = random.getstate()  # clone_model draws initial weights, which are overwritten below
        _doubles[model] = keras.models.clone_model(model)
        random.setstate(rng)
    _doubles[model].set_weights(weights)
    return _doubles[model]


def feed(dataset: tf.data.Dataset, batch_size: int) -> Any:
    """The dataset for `fit`: this host's part of batches of `batch_size` images over all hosts."""
    strategy = here().strategy
    if strategy is None:
        return dataset
    each = dataset.rebatch(batch_size // strategy.num_replicas_in_sync, drop_remainder=True)
    return strategy.distribute_datasets_from_function(lambda context: each)

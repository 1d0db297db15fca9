"""Collective operations between hosts: gather rows, broadcast from host 0, use one host alone.

On a single host each function returns its argument unchanged.
"""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import tensorflow as tf
from tensorflow import keras

from petals.accelerators import cluster

P = ParamSpec("P")
T = TypeVar("T")
CHUNK = 1 << 22  # words exchanged at a time: 16 MB of each host


def gather(rows: np.ndarray) -> np.ndarray:
    """Arrays of all hosts joined along the first axis, in the hosts' order, the same on each.

    The arrays may differ in length. Every host must call the function; raises `HostsError` when
    a host is gone.
    """
    here = cluster.here()
    if here.count == 1:
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
    here = cluster.here()
    if here.count == 1:
        return data
    length = int(_numbers(len(data))[0])
    size = -(-length // 4)
    words = _words(data if here.first else b"", size)
    parts = [_of_all(words[at : at + CHUNK])[0] for at in range(0, size, CHUNK)]
    return b"".join(part.tobytes() for part in parts)[:length]


def broadcast_scalar(value: float) -> float:
    """Host 0's number, on every host, so that all hosts decide alike."""
    if cluster.here().count == 1:
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
    here = cluster.here()
    with cluster.naming_lost_hosts():
        if here.strategy is None:
            from jax.experimental import multihost_utils

            return np.asarray(multihost_utils.process_allgather(words))
        table = np.zeros((here.count, len(words)), np.int32)
        table[here.index] = words
        return _summing(here.strategy)(tf.constant(table)).numpy()


@lru_cache(maxsize=1)
def _summing(strategy: Any) -> Any:
    replicas = strategy.num_replicas_in_sync // cluster.here().count  # of each host

    def total(table: tf.Tensor) -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        one = tf.equal(context.replica_id_in_sync_group % replicas, 0)
        return context.all_reduce("sum", tf.where(one, table, tf.zeros_like(table)))

    @tf.function(reduce_retracing=True)
    def on_all(table: tf.Tensor) -> tf.Tensor:
        return strategy.experimental_local_results(strategy.run(total, (table,)))[0]

    return on_all


_doubles: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def local_devices_only(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: the function uses only this host's devices, independently of the other hosts."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        here = cluster.here()
        if here.count == 1:
            return function(*args, **kwargs)
        if here.strategy is not None:
            # tf_keras calls back inside its strategy's scope; a new thread is outside of the scope.
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(function, *args, **kwargs).result()
        import jax

        own = [f"{device.platform}:{device.id}" for device in jax.local_devices()]
        with keras.distribution.DataParallel(devices=own, auto_shard_dataset=False).scope():
            return function(*args, **kwargs)

    return wrapper


def local_copy(model: keras.Model) -> keras.Model:
    """A copy of the model with its present weights, for use `on_this_host`.

    Every host must call the function. On a single host it returns the model itself.
    """
    if cluster.here().count == 1:
        return model
    weights = model.get_weights()  # under tf.distribute the hosts agree on some of them
    if model not in _doubles:
        rng = random.getstate()  # clone_model draws initial weights, which are overwritten below
        _doubles[model] = keras.models.clone_model(model)
        random.setstate(rng)
    _doubles[model].set_weights(weights)
    return _doubles[model]


def feed(dataset: tf.data.Dataset, batch_size: int) -> Any:
    """The dataset for `fit`: this host's part of batches of `batch_size` images over all hosts."""
    strategy = cluster.here().strategy
    if strategy is None:
        return dataset
    each = dataset.rebatch(batch_size // strategy.num_replicas_in_sync, drop_remainder=True)
    return strategy.distribute_datasets_from_function(lambda context: each)

"""The hosts of a run: which there are, how they join, and collective operations between them.

`read` tells from the environment how to join the others, `join` joins them, and `here` is this
host. Host 0 writes the files. On a single host each collective operation returns its argument
unchanged. Nothing here imports Keras before it is needed.
"""

from __future__ import annotations

import inspect
import os
import random
import socket
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from petals.accelerators.timeouts import call_with_timeout
from petals.errors import HostsError, SettingError

if TYPE_CHECKING:
    from tensorflow import keras

P = ParamSpec("P")
T = TypeVar("T")
CHUNK = 1 << 22  # words exchanged at a time: 16 MB of each host
PATIENCE = 50.0  # seconds within which all hosts must join
HEARTBEAT = 60  # seconds without a sign of life after which JAX ends all hosts
CHOICE = "PETALS_HOSTS"
ADDRESS, COUNT, INDEX = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"

LOST = (
    "another host of this run has ended or cannot be reached: its own output says why. Start all "
    "hosts again with the same command, and the run continues from its checkpoint"
)
_SIGNS_OF_LOSS = ("Gloo", "coordination service", "heartbeat")


@dataclass(frozen=True)
class Hosts:
    """This host's `index` of `count`."""

    index: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this host writes the files."""
        return self.index == 0


_here = Hosts()


def here() -> Hosts:
    """This host among those that joined; a single host before."""
    return _here


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

    address: str = ""
    count: int | None = None
    index: int | None = None


def read(environ: Mapping[str, str] = os.environ) -> ClusterSpec | None:
    """How to join the other hosts of the environment; None when this host runs alone.

    Raises `SettingError` for variables that are missing, not numbers or in contradiction.
    """
    choice = environ.get(CHOICE, "")
    if choice not in ("", "1", "auto"):
        raise SettingError(f"{CHOICE}={choice}: write auto, or 1 to run on one host")
    if choice == "1":
        return None
    if environ.get(COUNT) or environ.get(INDEX):
        return _of_jax(environ)
    if choice == "auto" or "," in environ.get("TPU_WORKER_HOSTNAMES", ""):
        return ClusterSpec()
    return None


def _of_jax(environ: Mapping[str, str]) -> ClusterSpec | None:
    address, count, index = (environ.get(name, "") for name in (ADDRESS, COUNT, INDEX))
    host, _, port = address.rpartition(":")
    numbers = [text.isdecimal() for text in (port, count, index)]
    if not (host and all(numbers) and int(index) < int(count)):
        raise SettingError(
            f"several hosts need {ADDRESS}, HOST:PORT of host 0, {COUNT}, their number, and "
            f"{INDEX}, which counts them from 0: not {address!r}, {count!r} and {index!r}"
        )
    return ClusterSpec(address, int(count), int(index)) if int(count) > 1 else None


def join(spec: ClusterSpec, seconds: float = PATIENCE) -> Hosts:
    """Join the other hosts through JAX; call it before any other use of JAX.

    Raises `HostsError` when not all hosts join within `seconds`.
    """
    global _here
    name = "host ?" if spec.index is None else f"host {spec.index} of {spec.count}"
    deadline = time.monotonic() + seconds
    if spec.index and not _answers(spec.address, deadline):
        raise HostsError(
            f"{name}: nothing answered at {spec.address} within {seconds:.0f} s: start host 0 "
            "there, and make sure that this machine can reach its port"
        )
    try:
        # At its own timeout JAX would end the process, so the limit here must be shorter.
        remaining = max(deadline - time.monotonic(), 0.1)
        _here = call_with_timeout(remaining, lambda: _initialize(spec))
    except TimeoutError:
        place = spec.address or "the address JAX found"
        raise HostsError(
            f"{name} waited {seconds:.0f} s at {place}, but not all hosts joined: start every host "
            "once, with the same number of hosts and an index of its own"
        ) from None
    return _here


def _answers(address: str, deadline: float) -> bool:
    host, _, port = address.rpartition(":")
    while (remaining := deadline - time.monotonic()) > 0:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=remaining):
                return True
        except OSError:
            time.sleep(min(0.2, remaining))
    return False


def _initialize(spec: ClusterSpec) -> Hosts:
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if hasattr(jax.config, "jax_enable_preemption_service"):  # JAX 0.7.2 has no such option
        jax.config.update("jax_enable_preemption_service", False)  # or SIGTERM would be ignored
    limits = {"initialization_timeout": 300}  # longer than we wait: at its end JAX ends the process
    taken = inspect.signature(jax.distributed.initialize).parameters
    for name in ("heartbeat_timeout_seconds", "shutdown_timeout_seconds"):
        if name in taken:  # JAX 0.7.2 has only the first
            limits[name] = HEARTBEAT
    try:
        jax.distributed.initialize(spec.address or None, spec.count, spec.index, **limits)
    except (RuntimeError, ValueError) as error:
        raise HostsError(f"could not join the other hosts: {str(error).splitlines()[0]}") from error
    return Hosts(jax.process_index(), jax.process_count())


def gather(rows: np.ndarray) -> np.ndarray:
    """Arrays of all hosts joined along the first axis, in the hosts' order, the same on each.

    The arrays may differ in length. Every host must call the function; raises `HostsError` when
    a host is gone.
    """
    if _here.count == 1:
        return rows
    parts = [np.frombuffer(part, rows.dtype) for part in _exchange(rows.tobytes())]
    return np.concatenate(parts).reshape(-1, *rows.shape[1:])


def broadcast(data: bytes) -> bytes:
    """Host 0's bytes, on every host; the arguments of the other hosts are ignored."""
    if _here.count == 1:
        return data
    own = data if _here.first else b""
    return _exchange(own, hosts=1)[0]


def broadcast_scalar(value: float) -> float:
    """Host 0's number, on every host, so that all hosts decide alike."""
    if _here.count == 1:  # callbacks ask at every step
        return value
    return float(of_first(np.asarray(value, np.float64)))


def of_first(array: np.ndarray) -> np.ndarray:
    """Host 0's array, on every host; `array` has the same shape on all hosts."""
    return np.frombuffer(broadcast(array.tobytes()), array.dtype).reshape(array.shape)


def _exchange(data: bytes, hosts: int | None = None) -> list[bytes]:
    """The bytes of each host, or of the first `hosts`, on every host."""
    own = np.array([len(data)], np.int64).view(np.int32)
    lengths = np.ascontiguousarray(_of_all(own)).view(np.int64)[:, 0]
    size = max(1, -(-int(lengths.max()) // 4))
    words = np.frombuffer(data.ljust(4 * size, b"\0"), np.int32)
    chunks = [_of_all(words[at : at + CHUNK])[:hosts] for at in range(0, size, CHUNK)]
    rows = np.concatenate(chunks, axis=1)
    return [row.tobytes()[:length] for row, length in zip(rows, lengths, strict=False)]


def _of_all(words: np.ndarray) -> np.ndarray:
    """The int32 (n,) arrays of all hosts as one (hosts, n) array; n is the same on all hosts."""
    from jax.experimental import multihost_utils

    with naming_lost_hosts():
        return np.asarray(multihost_utils.process_allgather(words))


_copies: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def local_devices_only(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: the function uses only this host's devices, independently of the other hosts."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        if _here.count == 1:
            return function(*args, **kwargs)
        import jax
        from tensorflow import keras

        own = [f"{device.platform}:{device.id}" for device in jax.local_devices()]
        with keras.distribution.DataParallel(devices=own, auto_shard_dataset=False).scope():
            return function(*args, **kwargs)

    return wrapper


def local_copy(model: keras.Model) -> keras.Model:
    """A copy of the model with its present weights, for use within `local_devices_only`.

    Every host must call the function. On a single host it returns the model itself.
    """
    if _here.count == 1:
        return model
    from tensorflow import keras

    if model not in _copies:
        rng = random.getstate()  # clone_model draws initial weights, which are overwritten below
        _copies[model] = keras.models.clone_model(model)
        random.setstate(rng)
    _copies[model].set_weights(model.get_weights())
    for layer in _copies[model]._flatten_layers():
        if hasattr(layer, "finalize_state"):  # Normalization computes by values made of its weights
            layer.finalize_state()
    return _copies[model]

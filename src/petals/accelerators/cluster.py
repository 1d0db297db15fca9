"""The hosts of a run: how they join, and the error when a host is lost.

`ClusterSpec` says which hosts there are, as the environment tells. Host 0 writes the files.
"""

from __future__ import annotations

import inspect
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from petals.accelerators.timeouts import call_with_timeout
from petals.errors import HostsError, SettingError

PATIENCE = 50.0  # seconds within which all hosts must join
HEARTBEAT = 60  # seconds without a sign of life after which JAX ends all hosts

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
    """This host among those that `join` found; a single host before `join` was called."""
    return _here


def join(invited: ClusterSpec, seconds: float = PATIENCE) -> Hosts:
    """Join the other hosts; call it before any other use of JAX or TensorFlow.

    Raises `HostsError` when not all hosts join within `seconds`.
    """
    global _here
    who = "host ?" if invited.index is None else f"host {invited.index} of {invited.count}"
    deadline = time.monotonic() + seconds
    if invited.index and not _answers(invited.address, deadline):
        raise HostsError(
            f"{who}: nothing answers at {invited.address} within {seconds:.0f} s: start host 0 "
            "there, and see that its port is reachable from here"
        )
    meet = _through_jax if invited.through == JAX else _through_tensorflow
    try:
        # At its own timeout JAX would end the process, so the limit here must be shorter.
        left = max(deadline - time.monotonic(), 0.1)
        _here = call_with_timeout(left, lambda: meet(invited))
    except TimeoutError:
        raise HostsError(
            f"{who} waited {seconds:.0f} s at {invited.address or 'the address JAX found'} and not "
            "all other hosts joined: start every host once, with the same number of hosts and an "
            "index of its own"
        ) from None
    return _here


def _through_jax(invited: ClusterSpec) -> Hosts:
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if hasattr(jax.config, "jax_enable_preemption_service"):
        jax.config.update("jax_enable_preemption_service", False)  # or SIGTERM would be ignored
    options: dict[str, Any] = {
        "initialization_timeout": 300,  # longer than we wait: JAX ends the process when it is over
        "heartbeat_timeout_seconds": HEARTBEAT,
        "shutdown_timeout_seconds": HEARTBEAT,
    }
    known = inspect.signature(jax.distributed.initialize).parameters
    try:
        jax.distributed.initialize(
            invited.address or None,
            invited.count,
            invited.index,
            **{name: value for name, value in options.items() if name in known},
        )
    except (RuntimeError, ValueError) as error:
        raise HostsError(f"could not join the other hosts: {str(error).splitlines()[0]}") from error
    return Hosts(jax.process_index(), jax.process_count())


def _through_tensorflow(invited: ClusterSpec) -> Hosts:
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    return Hosts(invited.index or 0, invited.count or 1, strategy)


def _answers(address: str, deadline: float) -> bool:
    host, _, port = address.rpartition(":")
    while (left := deadline - time.monotonic()) > 0:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=left):
                return True
        except OSError:
            time.sleep(min(0.2, left))
    return False


@contextmanager
def naming_lost_hosts() -> Iterator[None]:
    """Turn the error of a collective operation that lost a host into a `HostsError`."""
    try:
        yield
    except Exception as error:
        if _here.count > 1 and any(sign in str(error) for sign in _SIGNS_OF_LOSS):
            raise HostsError(LOST) from error
        raise


CHOICE = "PETALS_HOSTS"
ADDRESS, COUNT, INDEX = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
TF_CONFIG = "TF_CONFIG"
JAX, TENSORFLOW = "jax", "tensorflow"


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

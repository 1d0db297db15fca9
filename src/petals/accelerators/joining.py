"""Join the other hosts of a run: through JAX, or through TensorFlow."""

from __future__ import annotations

import inspect
import socket
import time
from typing import Any

from petals.accelerators import cluster
from petals.accelerators.cluster import ClusterSpec, Hosts
from petals.accelerators.timeouts import call_with_timeout
from petals.errors import HostsError

PATIENCE = 50.0  # seconds within which all hosts must join
HEARTBEAT = 60  # seconds without a sign of life after which JAX ends all hosts


def join(invited: ClusterSpec, seconds: float = PATIENCE) -> Hosts:
    """Join the other hosts; call it before any other use of JAX or TensorFlow.

    Raises `HostsError` when not all hosts join within `seconds`.
    """
    who = "host ?" if invited.index is None else f"host {invited.index} of {invited.count}"
    deadline = time.monotonic() + seconds
    if invited.index and not _answers(invited.address, deadline):
        raise HostsError(
            f"{who}: nothing answers at {invited.address} within {seconds:.0f} s: start host 0 "
            "there, and see that its port is reachable from here"
        )
    meet = _through_jax if invited.through == cluster.JAX else _through_tensorflow
    try:
        # At its own timeout JAX would end the process, so the limit here must be shorter.
        remaining = max(deadline - time.monotonic(), 0.1)
        cluster.set_here(call_with_timeout(remaining, lambda: meet(invited)))
    except TimeoutError:
        raise HostsError(
            f"{who} waited {seconds:.0f} s at {invited.address or 'the address JAX found'} and not "
            "all other hosts joined: start every host once, with the same number of hosts and an "
            "index of its own"
        ) from None
    return cluster.here()


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
    supported = inspect.signature(jax.distributed.initialize).parameters
    try:
        jax.distributed.initialize(
            invited.address or None,
            invited.count,
            invited.index,
            **{name: value for name, value in options.items() if name in supported},
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
    while (remaining := deadline - time.monotonic()) > 0:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=remaining):
                return True
        except OSError:
            time.sleep(min(0.2, remaining))
    return False

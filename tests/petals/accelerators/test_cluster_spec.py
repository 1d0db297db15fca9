"""What the environment says of other hosts."""

import sys
from types import SimpleNamespace

import pytest

from petals.accelerators import cluster
from petals.accelerators.cluster import ClusterSpec
from petals.errors import SettingError

JAX = {
    "JAX_COORDINATOR_ADDRESS": "10.0.0.1:9876",
    "JAX_NUM_PROCESSES": "2",
    "JAX_PROCESS_ID": "1",
}


@pytest.mark.parametrize(
    "environ, expected",
    [
        ({}, None),
        (JAX, ClusterSpec("10.0.0.1:9876", 2, 1)),
        (JAX | {"JAX_NUM_PROCESSES": "1", "JAX_PROCESS_ID": "0"}, None),
        (JAX | {"PETALS_HOSTS": "1"}, None),
        ({"PETALS_HOSTS": "auto"}, ClusterSpec()),
        ({"TPU_WORKER_HOSTNAMES": "localhost"}, None),
        ({"TPU_WORKER_HOSTNAMES": "t0,t1,t2,t3"}, ClusterSpec()),
    ],
)
def test_who_takes_part(environ, expected):
    assert cluster.read(environ) == expected


NEEDED = "several hosts need JAX_COORDINATOR_ADDRESS, HOST:PORT"


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({**JAX, "JAX_PROCESS_ID": "2"}, NEEDED),
        ({**JAX, "JAX_COORDINATOR_ADDRESS": "10.0.0.1"}, NEEDED),
        ({"JAX_NUM_PROCESSES": "2"}, NEEDED),
        ({"PETALS_HOSTS": "4"}, "auto, or 1"),
    ],
)
def test_what_names_no_hosts_is_refused(environ, problem):
    with pytest.raises(SettingError, match=problem):
        cluster.read(environ)


def test_hosts_join_on_a_jax_that_lacks_todays_options(monkeypatch):
    """Kaggle's image holds JAX 0.7.2, which has no limit on the end, and no preemption service."""
    joined = {}

    def initialize(
        address=None,
        count=None,
        index=None,
        initialization_timeout=300,
        heartbeat_timeout_seconds=100,
    ):
        joined.update(address=address, heartbeat=heartbeat_timeout_seconds)

    class Config:
        def update(self, name, value):
            assert name == "jax_cpu_collectives_implementation"

    jax = SimpleNamespace(
        config=Config(),
        distributed=SimpleNamespace(initialize=initialize),
        process_index=lambda: 1,
        process_count=lambda: 2,
    )
    monkeypatch.setitem(sys.modules, "jax", jax)
    here = cluster._initialize(ClusterSpec("10.0.0.1:9876", 2, 1))
    assert here == cluster.Hosts(1, 2)
    assert joined == {"address": "10.0.0.1:9876", "heartbeat": cluster.HEARTBEAT}

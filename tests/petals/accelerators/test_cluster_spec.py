"""What the environment says of other hosts."""

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
        ({"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "n[1-2]"}, ClusterSpec()),
    ],
)
def test_who_takes_part(environ, expected):
    assert cluster.read(environ) == expected


@pytest.mark.parametrize(
    "environ",
    [
        {**JAX, "JAX_PROCESS_ID": "2"},
        {**JAX, "JAX_COORDINATOR_ADDRESS": "10.0.0.1"},
        {"JAX_NUM_PROCESSES": "2"},
    ],
)
def test_jax_needs_an_address_a_number_of_hosts_and_an_index_below_it(environ):
    with pytest.raises(SettingError, match="several hosts need JAX_COORDINATOR_ADDRESS, HOST:PORT"):
        cluster.read(environ)


def test_only_auto_and_1_choose_whether_to_look_for_other_hosts():
    with pytest.raises(SettingError, match="auto, or 1"):
        cluster.read({"PETALS_HOSTS": "4"})

"""What the environment says of other hosts."""

import json

import pytest

from petals.accelerators import cluster
from petals.accelerators.cluster import ClusterSpec
from petals.errors import SettingError

JAX = {
    "JAX_COORDINATOR_ADDRESS": "10.0.0.1:9876",
    "JAX_NUM_PROCESSES": "2",
    "JAX_PROCESS_ID": "1",
}


def tf_config(index=1, workers=("10.0.0.1:2222", "10.0.0.2:2222")):
    return {
        "TF_CONFIG": json.dumps(
            {"cluster": {"worker": list(workers)}, "task": {"type": "worker", "index": index}}
        )
    }


@pytest.mark.parametrize(
    "environ, expected",
    [
        ({}, None),
        (JAX, ClusterSpec("jax", "10.0.0.1:9876", 2, 1)),
        (JAX | tf_config(), ClusterSpec("jax", "10.0.0.1:9876", 2, 1)),
        (JAX | {"JAX_NUM_PROCESSES": "1", "JAX_PROCESS_ID": "0"}, None),
        (JAX | {"PETALS_HOSTS": "1"}, None),
        ({"PETALS_HOSTS": "auto"}, ClusterSpec("jax")),
        ({"TPU_WORKER_HOSTNAMES": "localhost"}, None),
        ({"TPU_WORKER_HOSTNAMES": "t0,t1,t2,t3"}, ClusterSpec("jax")),
        ({"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "n[1-2]"}, ClusterSpec("jax")),
        ({"SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_NODELIST": "n1"}, None),
        (tf_config(), ClusterSpec("tensorflow", "10.0.0.1:2222", 2, 1)),
        (tf_config(0, ["10.0.0.1:2222"]), None),
    ],
)
def test_who_takes_part(environ, expected):
    assert cluster.read(environ) == expected


@pytest.mark.parametrize(
    "environ",
    [
        {**JAX, "JAX_PROCESS_ID": "2"},
        {**JAX, "JAX_PROCESS_ID": "one"},
        {**JAX, "JAX_NUM_PROCESSES": "0", "JAX_PROCESS_ID": "0"},
        {**JAX, "JAX_COORDINATOR_ADDRESS": "10.0.0.1"},
        {"JAX_NUM_PROCESSES": "2"},
    ],
)
def test_jax_needs_an_address_a_number_of_hosts_and_an_index_below_it(environ):
    with pytest.raises(SettingError, match="several hosts need JAX_COORDINATOR_ADDRESS, HOST:PORT"):
        cluster.read(environ)


@pytest.mark.parametrize(
    "environ",
    [
        {"TF_CONFIG": "{nonsense"},
        {"TF_CONFIG": '{"cluster": {"chief": ["a:1"]}}'},
        tf_config(2),
        tf_config("1"),
    ],
)
def test_tensorflow_needs_workers_and_an_index_of_one_of_them(environ):
    with pytest.raises(SettingError, match="TF_CONFIG is not"):
        cluster.read(environ)


def test_only_auto_and_1_choose_whether_to_look_for_other_hosts():
    with pytest.raises(SettingError, match="auto, or 1"):
        cluster.read({"PETALS_HOSTS": "4"})

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
    "environ, message",
    [
        ({**JAX, "JAX_PROCESS_ID": "2"}, "JAX_PROCESS_ID=2 of JAX_NUM_PROCESSES=2 hosts: 0 to 1"),
        ({**JAX, "JAX_PROCESS_ID": "one"}, "JAX_PROCESS_ID=one: a whole number"),
        ({**JAX, "JAX_NUM_PROCESSES": "0", "JAX_PROCESS_ID": "0"}, "JAX_NUM_PROCESSES=0"),
        ({**JAX, "JAX_COORDINATOR_ADDRESS": "10.0.0.1"}, "HOST:PORT"),
        ({"JAX_NUM_PROCESSES": "2"}, "JAX_COORDINATOR_ADDRESS, JAX_PROCESS_ID not set"),
        ({"PETALS_HOSTS": "4"}, "auto, or 1"),
        ({"TF_CONFIG": "{nonsense"}, "TF_CONFIG is not"),
        ({"TF_CONFIG": '{"cluster": {"chief": ["a:1"]}}'}, "TF_CONFIG is not"),
        (tf_config(2), "worker 2 of 2: 0 to 1"),
    ],
)
def test_what_cannot_be_is_said(environ, message):
    with pytest.raises(SettingError, match=message):
        cluster.read(environ)

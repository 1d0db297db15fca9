"""What the environment says of other hosts that take part in a run.

Every host runs the same notebook. They find one another through

* `JAX_COORDINATOR_ADDRESS` (host 0's address and a free port), `JAX_NUM_PROCESSES` and
  `JAX_PROCESS_ID`; or nothing where JAX finds out by itself: a TPU slice that sets
  `TPU_WORKER_HOSTNAMES`, a Slurm step, and with `PETALS_HOSTS=auto` also TPU VMs, Open MPI and
  Kubernetes. Keras on JAX then trains over the devices of all hosts;
* `TF_CONFIG`, where the others are not set: tf_keras under MultiWorkerMirroredStrategy.

`PETALS_HOSTS=1` runs alone, whatever else is set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from petals.errors import SettingError

CHOICE = "PETALS_HOSTS"
ADDRESS, COUNT, INDEX = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
TF_CONFIG = "TF_CONFIG"
JAX, TENSORFLOW = "jax", "tensorflow"


@dataclass(frozen=True)
class Invitation:
    """What the environment says of other hosts. `address` "" and `index` None: JAX finds out."""

    through: str
    address: str = ""
    count: int | None = None
    index: int | None = None


def read(environ: Mapping[str, str] = os.environ) -> Invitation | None:
    """What the environment says of other hosts, None when this one is alone.

    Raises `SettingError` for variables that are missing, no numbers or contradict one another.
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
        return Invitation(JAX)
    return _told_for_tensorflow(environ)


def _told_for_jax(environ: Mapping[str, str]) -> Invitation | None:
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
    return Invitation(JAX, environ[ADDRESS], count, index) if count > 1 else None


def _told_for_tensorflow(environ: Mapping[str, str]) -> Invitation | None:
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
    return Invitation(TENSORFLOW, workers[0], len(workers), index)


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingError(f"{name}={text}: a whole number") from None

"""Two processes on loopback against one: the same training; and what is said of a lost host."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from petals.accelerators import cluster
from petals.accelerators.cluster import ClusterSpec, Hosts
from petals.errors import HostsError

PROGRAM = Path(__file__).with_name("hosts_program.py")


def free_address():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def devices(count):
    return {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}",
    }


def two_hosts():
    """The variables of two hosts."""
    common = {"JAX_COORDINATOR_ADDRESS": free_address(), "JAX_NUM_PROCESSES": "2"}
    return [{**common, **devices(2), "JAX_PROCESS_ID": str(index)} for index in range(2)]


@contextlib.contextmanager
def starting(folder):
    """Starts the program, its log in the folder; whatever still runs at the end is killed."""
    started = []

    def start(variables, *arguments):
        log = (folder / f"log-{len(started)}").open("w+")
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *map(str, arguments)],
            env={**os.environ, "PYTHONWARNINGS": "ignore", **variables},
            stdout=log,
            stderr=log,
        )
        started.append((process, log))
        return process

    try:
        yield start
    finally:
        for process, log in started:
            process.kill()
            process.wait()
            log.close()


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def undisturbed(dataset, tmp_path_factory):
    """What one host left (one-0.json), and two in its place (two-0.json, ...)."""
    folder = tmp_path_factory.mktemp("hosts")
    one_host = {"KAGGLE_REHEARSAL": "tpu", **devices(4)}  # as many devices
    with starting(folder) as start:
        processes = [start(one_host, dataset, folder / "one", 2)]
        processes += [start(variables, dataset, folder / "two", 2) for variables in two_hosts()]
        for number, process in enumerate(processes):
            assert process.wait(timeout=600) == 0, message(folder, number)
    return folder


def message(tmp_path, number):
    return (tmp_path / f"log-{number}").read_text()


def result(path):
    return json.loads(path.read_text())


@pytest.mark.long
def test_two_hosts_train_as_one_does(undisturbed):
    folder = undisturbed
    one = result(folder / "one-0.json")
    for index in range(2):
        two = result(folder / f"two-{index}.json")
        assert two["device"]["hosts"] == 2
        assert two["device"]["replicas"] == one["device"]["replicas"]
        for ours, theirs in zip(two["tuned"], one["tuned"], strict=True):
            for name in ("loss", "val_loss"):
                assert ours[name] == pytest.approx(theirs[name], abs=1e-3)
        assert two["shapes"] == one["shapes"]
        assert two["features"] == pytest.approx(one["features"], rel=1e-3)
        assert np.allclose(two["predicted"], one["predicted"], atol=1e-3)
        assert two["head"][-1]["val_loss"] == pytest.approx(one["head"][-1]["val_loss"], abs=1e-2)
    assert (folder / "two-run" / "history.csv").is_file()
    runs = {result(folder / f"two-{index}.json")["run"] for index in range(2)}
    assert len(runs) == 2, "the other host writes elsewhere"


def assert_the_other_ends_with_a_word(dying, pair, folder):
    """Host `dying` of the pair kills itself; the log files are numbered from 0."""
    assert pair[dying].wait(timeout=600) == -signal.SIGKILL, message(folder, dying)
    begun = time.monotonic()
    code = pair[1 - dying].wait(timeout=cluster.HEARTBEAT + 30)
    assert time.monotonic() - begun < cluster.HEARTBEAT + 30
    words = message(folder, 1 - dying)
    if dying == 0 and code in (-signal.SIGABRT, 1):  # the latter with JAX 0.7.2
        assert "another task died" in words, "JAX ends the process itself without host 0"
    else:
        assert code == HostsError.exit_code
        assert "HostsError: another host of this run has ended or cannot be reached" in words
        assert "Start all hosts again with the same command" in words


@pytest.mark.long
def test_a_host_that_dies_ends_host_0_with_a_word(dataset, tmp_path, start):
    pair = [start(variables, dataset, tmp_path / "two", 2, 1) for variables in two_hosts()]
    assert_the_other_ends_with_a_word(1, pair, tmp_path)


@pytest.mark.long
def test_when_host_0_dies_the_other_ends_and_started_again_they_end_as_two_left_alone(
    dataset, undisturbed, tmp_path, start
):
    def both(*dying):
        return [start(given, dataset, tmp_path / "cut", 2, *dying) for given in two_hosts()]

    assert_the_other_ends_with_a_word(0, both(0), tmp_path)
    for number, process in enumerate(both()):
        assert process.wait(timeout=600) == 0, message(tmp_path, 2 + number)
    for index in range(2):
        whole = result(undisturbed / f"two-{index}.json")
        cut = result(tmp_path / f"cut-{index}.json")
        assert (whole["resumed"], cut["resumed"]) == (0, 1)
        for ours, theirs in zip(cut["tuned"], whole["tuned"], strict=True):
            assert ours["val_loss"] == pytest.approx(theirs["val_loss"], abs=1e-6)
        assert np.allclose(cut["predicted"], whole["predicted"], atol=1e-6)


def test_a_host_0_that_does_not_answer_is_named_in_time():
    address = free_address()
    begun = time.monotonic()
    with pytest.raises(HostsError, match=f"host 1 of 2: nothing answered at {address} within 1 s"):
        cluster.join(ClusterSpec(address, 2, 1), seconds=1)
    assert time.monotonic() - begun < 100  # and not the minutes of a whole join
    assert cluster.here() == Hosts()


@pytest.mark.long
def test_hosts_that_do_not_come_are_waited_for_in_vain_for_a_while(python):
    program = (
        "from petals import errors\nfrom petals.accelerators import cluster\n"
        f"spec = cluster.ClusterSpec('{free_address()}', 2, 0)\n"
        "try: cluster.join(spec, seconds=10)\n"
        "except errors.HostsError as error: print(error)"
    )
    output = python(program, **devices(1))
    assert "host 0 of 2 waited 10 s at 127.0.0.1" in output
    assert "start every host once" in output


def test_errors_of_collectives_name_a_lost_host(monkeypatch):
    gloo = RuntimeError("UNKNOWN: Gloo AllGather failed: Connection closed by peer")
    with pytest.raises(RuntimeError, match="Gloo"), cluster.naming_lost_hosts():
        raise gloo
    monkeypatch.setattr(cluster, "_here", Hosts(0, 2))
    with pytest.raises(HostsError, match="continues from its"), cluster.naming_lost_hosts():
        raise gloo
    with pytest.raises(ValueError, match="of its own"), cluster.naming_lost_hosts():
        raise ValueError("of its own")


def test_a_hosts_copy_normalizes_like_the_model(monkeypatch):
    from tensorflow import keras

    inputs = keras.Input((4, 4, 3))
    norm = keras.layers.Normalization()
    model = keras.Model(inputs, norm(inputs))
    norm.adapt(np.random.default_rng(0).normal(5, 3, (8, 4, 4, 3)))
    monkeypatch.setattr(cluster, "_here", Hosts(1, 2))
    images = np.ones((1, 4, 4, 3), np.float32)
    assert np.allclose(cluster.local_copy(model)(images), model(images), atol=1e-6)

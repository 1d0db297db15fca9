import os
import subprocess
import sys

import pytest

from local_kaggle.execution import processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def sleeping():
    """The number of a process that only waits."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process.pid
        process.kill()


def test_a_disk_that_a_path_led_to_a_moment_ago_is_no_memory(sleeping, monkeypatch):
    # As a process has it that enters another root between two looks at it.
    mounts = {os.getpid(): [], sleeping: [("0:999999", "/")]}
    monkeypatch.setattr(processes, "_tmpfs", mounts.get)
    monkeypatch.setattr(processes, "_mount_namespace", str)
    assert processes.memory(sleeping) < 100e6

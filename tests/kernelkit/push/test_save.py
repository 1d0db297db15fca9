"""One push is one version, whatever becomes of the answer."""

import pytest

from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.connection import open_connection
from kernelkit.kaggle_api.failures import Failure, FailureKind
from kernelkit.kaggle_api.types import Kernel
from kernelkit.local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule
from kernelkit.local_kaggle.limits import ServerLimits
from kernelkit.local_kaggle.server import LocalKaggle
from kernelkit.push import plan
from kernelkit.push.save import save_once

pytestmark = pytest.mark.slow

KERNEL = Kernel("tester", "blossom-train")


@pytest.fixture
def server(tmp_path, quick_sessions):
    with LocalKaggle(tmp_path / "kaggle", limits=ServerLimits(queue_seconds=60)) as server:
        yield server


@pytest.fixture
def save(server, repository, timing):
    with server.attach():
        kaggle = Kaggle(open_connection(timing.timeouts), timing.retries)
        planned = plan.make(None, (), repository.metadata, "cpu", None).owned_by("tester")

        def save(*faults):
            server.faults = FaultSchedule(faults)
            return save_once(kaggle, KERNEL, planned.save_fields, timing.saving)

        save.latest = lambda: kaggle.stored(KERNEL)
        yield save


@pytest.mark.parametrize("kind", [FaultKind.LOST_ANSWER, FaultKind.RESET, FaultKind.HANG,
                                  FaultKind.HTML, FaultKind.ERROR_500, FaultKind.ERROR_502,
                                  FaultKind.ERROR_503, FaultKind.THROTTLED,
                                  FaultKind.THROTTLED_RETRY_AFTER])  # fmt: skip
def test_one_failure_makes_one_version(server, save, kind):
    save()
    saved = save(Fault("SaveKernel", 1, kind))

    assert server.faults.fired
    assert saved.version == 2
    assert save.latest().version == 2


def test_a_lost_answer_to_the_first_push_is_found(server, save):
    saved = save(Fault("SaveKernel", 1, FaultKind.LOST_ANSWER))
    assert saved.recovered
    assert saved.version == save.latest().version == 1
    assert server.faults.calls["SaveKernel"] == 1


def test_it_gives_up_after_a_few_sends(server, save):
    with pytest.raises(Failure) as caught:
        save(Fault("SaveKernel", 0, FaultKind.ERROR_500))
    assert caught.value.kind is FailureKind.SERVER
    assert server.faults.calls["SaveKernel"] == 3


def test_it_is_not_sent_again_while_kaggle_cannot_be_asked(server, save):
    with pytest.raises(Failure):
        save(
            Fault("SaveKernel", 1, FaultKind.LOST_ANSWER),
            *(Fault("GetKernel", n, FaultKind.ERROR_503) for n in range(2, 40)),
        )
    assert server.faults.calls["SaveKernel"] == 1
    server.faults = FaultSchedule()
    assert save.latest().version == 1


def test_a_refusal_is_final(server, save):
    for _ in range(5):
        save()
    with pytest.raises(Failure) as caught:
        save()
    assert caught.value.kind is FailureKind.CAPACITY
    assert server.faults.calls["SaveKernel"] == 1

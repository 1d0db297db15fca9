"""One push is one version, whatever becomes of the answer."""

import secrets

import pytest

from kernelkit.kaggle_api.client import SOURCES, Kernel, Saved, Stored
from kernelkit.kaggle_api.retries import Clock, Failure, FailureKind, Retries
from kernelkit.plans import build, plan
from kernelkit.pushes.send import Sending
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

KERNEL = Kernel("tester", "blossom-train")
NUMBER = "0123456789abcdef"


@pytest.fixture
def save(busy_kaggle, quick_sessions, repository, connect, timing):
    kaggle = connect().kaggle
    planned = plan.make(None, (), repository.metadata, "cpu", None).owned_by("tester")

    def save(*faults):
        busy_kaggle.faults = FaultSchedule(faults)
        text = build.stamped(planned.bundle.text, secrets.token_hex(8))
        fields = planned.save_fields | {"text": text}
        return Sending(kaggle, KERNEL, fields, timing.settle).once()

    save.latest = lambda: kaggle.stored(KERNEL)
    return save


@pytest.mark.parametrize(
    "kind",
    [
        FaultKind.LOST_ANSWER,
        FaultKind.RESET,
        FaultKind.HANG,
        FaultKind.HTML,
        FaultKind.ERROR_500,
        FaultKind.ERROR_502,
        FaultKind.ERROR_503,
        FaultKind.THROTTLED,
        FaultKind.THROTTLED_RETRY_AFTER,
    ],
)
def test_one_failure_makes_one_version(busy_kaggle, save, kind):
    save()
    saved = save(Fault("SaveKernel", 1, kind))

    assert busy_kaggle.faults.fired
    assert saved.version == 2
    assert save.latest().version == 2


def test_a_lost_answer_to_the_first_push_is_found(busy_kaggle, save):
    saved = save(Fault("SaveKernel", 1, FaultKind.LOST_ANSWER))
    assert saved.recovered
    assert saved.version == save.latest().version == 1
    assert busy_kaggle.faults.calls["SaveKernel"] == 1


def test_it_does_not_wait_for_a_day_because_it_is_told_to(busy_kaggle, save):
    with pytest.raises(Failure) as caught:
        save(Fault("SaveKernel", 0, FaultKind.THROTTLED_RETRY_AFTER, 86400))
    assert caught.value.retry_after == 86400
    assert busy_kaggle.faults.calls["SaveKernel"] == 1


def test_it_gives_up_after_a_few_sends(busy_kaggle, save):
    with pytest.raises(Failure) as caught:
        save(Fault("SaveKernel", 0, FaultKind.ERROR_500))
    assert caught.value.kind is FailureKind.SERVER
    assert busy_kaggle.faults.calls["SaveKernel"] == 3


def test_it_is_not_sent_again_while_kaggle_cannot_be_asked(busy_kaggle, save):
    with pytest.raises(Failure):
        save(
            Fault("SaveKernel", 1, FaultKind.LOST_ANSWER),
            *(Fault("GetKernel", n, FaultKind.ERROR_503) for n in range(2, 40)),
        )
    assert busy_kaggle.faults.calls["SaveKernel"] == 1
    busy_kaggle.faults = FaultSchedule()
    assert save.latest().version == 1


def test_a_refusal_is_final(busy_kaggle, save):
    for _ in range(5):
        save()
    with pytest.raises(Failure) as caught:
        save()
    assert caught.value.kind is FailureKind.CAPACITY
    assert busy_kaggle.faults.calls["SaveKernel"] == 1


class Late:
    """A Kaggle at which the first send arrives after the looks, before or after the second."""

    def __init__(self, arrives, refuses=False):
        self.arrives, self.refuses = arrives, refuses
        self.texts, self.sent = [], 0
        self.retries = Retries(clock=Clock(speed=1e6))

    def save(self, fields):
        self.sent += 1
        if self.sent == 1:
            raise Failure(FailureKind.NETWORK, "SaveKernel", "no answer in time")
        if self.arrives == "before":
            self.texts.append(fields["text"])
        if self.refuses:
            raise Failure(
                FailureKind.CAPACITY, "SaveKernel", "Maximum batch TPU session count of 1"
            )
        self.texts.append(fields["text"])
        return Saved(len(self.texts), "url")

    def stored(self, kernel, version=None):
        if version is None:
            return Stored(len(self.texts), self.texts[-1]) if self.texts else None
        return Stored(len(self.texts), self.texts[version - 1])


def save_late(*arguments, **options):
    fields = {"text": f'PUSH = "{NUMBER}"\n'} | {f"{kind}_data_sources": [] for kind in SOURCES}
    return Sending(Late(*arguments, **options), KERNEL, fields, (5.0, 10.0)).once()


def test_one_that_arrives_after_the_looks_is_not_waited_for():
    assert save_late("after").version == 1


def test_a_second_send_that_is_refused_for_the_first_ones_sake_is_the_first():
    saved = save_late("before", refuses=True)
    assert (saved.version, saved.recovered) == (1, True)

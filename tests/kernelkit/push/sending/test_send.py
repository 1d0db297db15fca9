"""One push is one version, whatever becomes of the answer."""

import secrets
from unittest.mock import Mock

import pytest

from kernelkit.kaggle.answers import Saved, Stored
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.retries import Clock, Retries
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.bundle.number import stamped
from kernelkit.push.sending.save_once import Sending
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

KERNEL = Kernel("tester", "blossom-train")


@pytest.fixture
def save(busy_kaggle, quick_sessions, repository, connect, timing):
    kaggle = connect().kaggle
    planned = repository.plan(accelerator="cpu").owned_by("tester")

    def save(*faults):
        latest = save.latest()
        busy_kaggle.faults = FaultSchedule(faults)
        text = stamped(planned.bundle.text, secrets.token_hex(8))
        fields = planned.save_fields | {"text": text}
        return Sending(kaggle, KERNEL, fields, timing.settle, latest.newest if latest else 0).once()

    save.latest = lambda: kaggle.stored(KERNEL)
    return save


@pytest.mark.parametrize(
    "kind",
    [
        FaultKind.LOST_ANSWER,
        FaultKind.RESET,
        FaultKind.HANG,
        FaultKind.HTML,
        FaultKind.ERROR_503,
        FaultKind.THROTTLED_RETRY_AFTER,
    ],
)
def test_one_failure_makes_one_version(busy_kaggle, save, kind):
    for version in (1, 2):  # the kernel's first, and another
        saved = save(Fault("SaveKernel", 1, kind))
        assert busy_kaggle.faults.fired
        assert saved.version == save.latest().newest == version
        lost = kind is FaultKind.LOST_ANSWER
        assert not lost or (saved.recovered, busy_kaggle.faults.calls["SaveKernel"]) == (True, 1)


@pytest.mark.parametrize(
    ("fault", "sends", "kind"),
    [
        (Fault("SaveKernel", 0, FaultKind.ERROR_500), 3, FailureKind.SERVER),
        # It does not wait for a day because it is told to.
        (
            Fault("SaveKernel", 0, FaultKind.THROTTLED_RETRY_AFTER, 86400),
            1,
            FailureKind.THROTTLED,
        ),
    ],
)
def test_it_gives_up_after_a_few_sends(busy_kaggle, save, fault, sends, kind):
    with pytest.raises(Failure) as caught:
        save(fault)
    assert caught.value.kind is kind
    assert busy_kaggle.faults.calls["SaveKernel"] == sends


def test_a_refusal_is_final(busy_kaggle, save):
    for _ in range(5):
        save()
    with pytest.raises(Failure) as caught:
        save()
    assert caught.value.kind is FailureKind.CAPACITY
    assert busy_kaggle.faults.calls["SaveKernel"] == 1


class Late:
    """A Kaggle at which the first send arrives after the looks, and a second is refused for it."""

    retries = Retries(clock=Clock(speed=1e6))
    text = ""

    def save(self, fields):
        if self.text is None:
            self.text = fields["text"]
            raise Failure(
                FailureKind.CAPACITY, "SaveKernel", "Maximum batch TPU session count of 1"
            )
        self.text = None
        raise Failure(FailureKind.NETWORK, "SaveKernel", "no answer in time")

    def recent(self):
        return []

    def stored(self, kernel, version=None):
        return Stored(1, self.text) if self.text else None


FIELDS = {"text": 'PUSH = "0123456789abcdef"\n'}


def test_a_second_send_that_is_refused_for_the_first_ones_sake_is_the_first():
    saved = Sending(Late(), KERNEL, FIELDS, (5.0, 10.0), 0).once()
    assert (saved.version, saved.recovered) == (1, True)


def test_a_lost_push_that_got_another_name_is_shown_with_its_page():
    class Renamed(Late):
        def recent(self):
            return [Kernel("tester", "another-title")]

        def stored(self, kernel, version=None):
            return Stored(1, self.text) if self.text and kernel.slug == "another-title" else None

    saved = Sending(Renamed(), KERNEL, FIELDS, (5.0, 10.0), 0).once()
    assert (saved.ref, saved.version) == ("tester/another-title", 1)
    assert saved.url == "https://www.kaggle.com/code/tester/another-title"


def test_a_push_that_kaggle_took_counts_though_it_cannot_be_read_back():
    kaggle = Mock(retries=Late.retries, recent=list)
    kaggle.save.return_value = Saved(3, "", str(KERNEL))
    kaggle.stored.side_effect = [Failure(FailureKind.CREDENTIALS, "GetKernel", "no")]
    assert Sending(kaggle, KERNEL, FIELDS, (5.0,), 0).once().version == 3

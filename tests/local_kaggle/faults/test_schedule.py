import pytest

from local_kaggle.faults.schedule import FaultSchedule


def test_the_same_seed_gives_the_same_faults():
    assert FaultSchedule.seeded(7).faults == FaultSchedule.seeded(7).faults
    assert FaultSchedule.seeded(7).faults != FaultSchedule.seeded(8).faults


@pytest.mark.parametrize("seconds", [0.2, 5.0])
def test_no_pause_is_longer_than_asked_for(seconds):
    schedules = [FaultSchedule.seeded(seed, seconds=seconds) for seed in range(50)]
    assert max(fault.seconds for s in schedules for fault in s.faults) <= seconds

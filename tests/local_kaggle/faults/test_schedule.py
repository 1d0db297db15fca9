from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule


def test_the_same_seed_gives_the_same_faults():
    assert FaultSchedule.seeded(7).faults == FaultSchedule.seeded(7).faults
    assert FaultSchedule.seeded(7).faults != FaultSchedule.seeded(8).faults


def test_a_fault_comes_at_its_call():
    fault = Fault("SaveKernel", 2, FaultKind.RESET)
    schedule = FaultSchedule([fault])
    assert [schedule.next("SaveKernel") for _ in range(3)] == [None, fault, None]
    assert schedule.next("GetKernel") is None
    schedule = FaultSchedule([Fault("Download", 0, FaultKind.HTML)])
    assert all(schedule.next("Download") for _ in range(3)), "0 is every call"

from datetime import UTC, datetime

from local_kaggle.kernels.kernels import week_begins
from local_kaggle.limits import ServerLimits

LIMITS = ServerLimits(lag_seconds=0, weekly_seconds={"gpu": 30 * 3600, "tpu": 1.0})


def test_a_kind_of_machine_that_no_limit_names_keeps_kaggles_figure():
    assert ServerLimits(sessions={"cpu": 9}).sessions == {"tpu": 1, "gpu": 2, "cpu": 9}


def test_a_week_begins_on_saturday():
    tuesday = datetime(2026, 11, 24, 13, tzinfo=UTC)
    saturday = datetime(2026, 11, 21, tzinfo=UTC)
    assert week_begins(tuesday.timestamp()) == saturday.timestamp()
    assert week_begins(saturday.timestamp()) == saturday.timestamp()


def test_time_is_counted_reserved_and_in_the_end_refused(context):
    context.save(
        "uses-tpu", "import time; time.sleep(1.2)", enableTpu=True, sessionTimeoutSeconds=900
    )
    context.wait_for(lambda: context.status("uses-tpu", 1) == "RUNNING")
    tpu = context.call("GetAcceleratorQuotaStatistics")["tpuQuota"]
    assert 890 <= int(tpu["timeReserved"][:-1]) <= 900
    assert context.finish("uses-tpu") == "COMPLETE"
    quota = context.call("GetAcceleratorQuotaStatistics")
    assert 1 <= int(quota["tpuQuota"]["timeUsed"][:-1]) <= 5  # a busy machine starts late
    assert quota["gpuQuota"]["totalTimeAllowed"] == "108000s"
    assert "timeUsed" not in quota["gpuQuota"] or quota["gpuQuota"]["timeUsed"] == "0s"
    assert "weekly TPU quota" in context.save("uses-tpu", "1", enableTpu=True)["error"]
    assert "error" not in context.save("uses-cpu", "1")
    context.finish("uses-cpu")

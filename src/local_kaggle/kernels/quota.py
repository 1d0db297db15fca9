"""Accelerator time: used this week, reserved by what runs, allowed in all."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from kagglesdk.kernels.types import kernels_api_service as types

from local_kaggle.api.wire import Message, answers, fill, moment
from local_kaggle.limits import Kind
from local_kaggle.state import ServerState

SATURDAY = 5
WEEK = 7 * 24 * 3600.0


def week_begins(now: float) -> float:
    """The last Saturday, 00:00 UTC, as seconds since the epoch: when quotas were refilled."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (today - timedelta(days=(today.weekday() - SATURDAY) % 7)).timestamp()


def seconds_of_week(state: ServerState, user: str, kind: Kind) -> tuple[float, float]:
    """What `user` has used of this week on `kind`, and what running sessions may still take."""
    now = time.time()
    (ended,) = state.store.rows(
        "SELECT coalesce(sum(seconds), 0) AS seconds FROM usage "
        "WHERE user = ? AND kind = ? AND ended >= ?",
        user,
        kind,
        week_begins(now),
    )
    running = state.store.rows(
        "SELECT started, limit_seconds FROM sessions JOIN versions ON versions.id = version "
        "JOIN kernels ON kernels.id = kernel "
        "WHERE owner = ? AND kind = ? AND status = 'RUNNING'",
        user,
        kind,
    )
    ages = [now - row["started"] for row in running]
    reserved = [
        max(0.0, row["limit_seconds"] - age) for row, age in zip(running, ages, strict=True)
    ]
    return ended["seconds"] + sum(ages), sum(reserved)


def is_spent(state: ServerState, user: str, kind: Kind) -> bool:
    """Whether nothing of the week is left on `kind`; never where there is no quota."""
    allowed = state.limits.weekly_seconds.get(kind, float("inf"))
    return seconds_of_week(state, user, kind)[0] >= allowed


@answers(types.ApiGetAcceleratorQuotaStatisticsRequest)
def statistics(state: ServerState, _request: Message, user: str) -> Message:
    """The week of both accelerators."""
    refill = moment(week_begins(time.time()) + WEEK)
    answer = fill(types.ApiGetAcceleratorQuotaStatisticsResponse(), quota_refresh_time=refill)
    kinds: tuple[Kind, ...] = "gpu", "tpu"
    for kind in kinds:
        used, reserved = seconds_of_week(state, user, kind)
        quota = fill(
            types.ApiAcceleratorQuota(),
            time_used=timedelta(seconds=used),
            time_reserved=timedelta(seconds=reserved),
            total_time_allowed=timedelta(seconds=state.limits.weekly_seconds.get(kind, 0)),
            minimum_time_allowed=timedelta(0),
            has_ever_run=used > 0,
        )
        fill(answer, **{f"{kind}_quota": quota})
    return answer

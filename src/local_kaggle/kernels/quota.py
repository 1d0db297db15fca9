"""Accelerator time: used this week, reserved by what runs, allowed in all."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from kagglesdk.kernels.types import kernels_api_service as types

from local_kaggle.api.wire import Json, Message, answers, moment
from local_kaggle.limits import Kind
from local_kaggle.state import ServerState

SATURDAY = 5
WEEK = 7 * 24 * 3600.0


def week_begins(now: float) -> float:
    """The last Saturday, 00:00 UTC, as seconds since the epoch: when quotas were refilled."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (today - timedelta(days=(today.weekday() - SATURDAY) % 7)).timestamp()


def seconds_of_week(state: ServerState, kind: Kind) -> tuple[float, float]:
    """What the user has used of this week on `kind`, and what running sessions may still take."""
    now = time.time()
    (row,) = state.store.rows(
        "SELECT coalesce(sum(coalesce(ended, ?1) - started), 0) AS used, "
        "coalesce(sum(max(started + limit_seconds - ?1, 0)) FILTER (WHERE ended IS NULL), 0) "
        "AS reserved FROM sessions "
        "WHERE user = ?2 AND kind = ?3 AND started IS NOT NULL AND coalesce(ended, ?1) >= ?4",
        now,
        state.user,
        kind,
        week_begins(now),
    )
    return row["used"], row["reserved"]


def is_spent(state: ServerState, kind: Kind) -> bool:
    """Whether nothing of the week is left on `kind`; never where there is no quota."""
    allowed = state.limits.weekly_seconds.get(kind, float("inf"))
    return seconds_of_week(state, kind)[0] >= allowed


@answers(types.ApiGetAcceleratorQuotaStatisticsRequest)
def statistics(state: ServerState, _request: Message) -> Json:
    """The week of both accelerators; seconds as the API writes them, such as `72000s`."""
    answer: Json = {"quotaRefreshTime": moment(week_begins(time.time()) + WEEK)}
    kinds: tuple[Kind, ...] = "gpu", "tpu"
    for kind in kinds:
        used, reserved = seconds_of_week(state, kind)
        answer[f"{kind}Quota"] = {
            "timeUsed": f"{used:.0f}s",
            "timeReserved": f"{reserved:.0f}s",
            "totalTimeAllowed": f"{state.limits.weekly_seconds.get(kind, 0):.0f}s",
            "minimumTimeAllowed": "0s",
            "hasEverRun": used > 0,
        }
    return answer

"""Accelerator time: used this week, reserved by what runs, allowed in all."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from kagglesdk.kernels.types import kernels_api_service as types

from local_kaggle.limits import Kind
from local_kaggle.services.wire import Message, Method, fill, moment
from local_kaggle.state import ServerState

SATURDAY = 5


def week_begins(now: float) -> float:
    """The last Saturday, 00:00 UTC, as seconds since the epoch: when quotas were refilled."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (today - timedelta(days=(today.weekday() - SATURDAY) % 7)).timestamp()


class QuotaService:
    """Counts what the sessions of each user take from their week."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    def methods(self) -> dict[str, Method]:
        return {
            "kernels.KernelsApiService/GetAcceleratorQuotaStatistics": Method(
                types.ApiGetAcceleratorQuotaStatisticsRequest, self.statistics
            )
        }

    def used(self, user: str, kind: Kind) -> float:
        """Seconds of this week on `kind`, running sessions included."""
        store, now = self._state.store, time.time()
        ended = store.row(
            "SELECT coalesce(sum(seconds), 0) AS s FROM usage "
            "WHERE user = ? AND kind = ? AND ended >= ?",
            user,
            kind,
            week_begins(now),
        )
        running = sum(now - row["started"] for row in self._running(user, kind))
        return float(ended["s"] if ended else 0) + running

    def left(self, user: str, kind: Kind) -> float:
        """Seconds of the week that are left on `kind`; infinite where there is no quota."""
        allowed = self._state.limits.weekly_seconds.get(kind)
        return float("inf") if allowed is None else max(0.0, allowed - self.used(user, kind))

    def statistics(self, _request: Message, user: str) -> Message:
        """The answer to GetAcceleratorQuotaStatistics."""
        refill = moment(week_begins(time.time()) + timedelta(days=7).total_seconds())
        return fill(
            types.ApiGetAcceleratorQuotaStatisticsResponse(),
            quota_refresh_time=refill,
            gpu_quota=self._of(user, "gpu"),
            tpu_quota=self._of(user, "tpu"),
        )

    def _of(self, user: str, kind: Kind) -> Message:
        used = self.used(user, kind)
        reserved = sum(
            max(0.0, row["limit_seconds"] - (time.time() - row["started"]))
            for row in self._running(user, kind)
        )
        return fill(
            types.ApiAcceleratorQuota(),
            time_used=timedelta(seconds=used),
            time_reserved=timedelta(seconds=reserved),
            total_time_allowed=timedelta(seconds=self._state.limits.weekly_seconds.get(kind, 0)),
            minimum_time_allowed=timedelta(0),
            has_ever_run=used > 0,
        )

    def _running(self, user: str, kind: Kind) -> list[dict[str, float]]:
        rows = self._state.store.rows(
            "SELECT started, limit_seconds FROM sessions JOIN versions ON versions.id = version "
            "JOIN kernels ON kernels.id = kernel "
            "WHERE owner = ? AND kind = ? AND status = 'RUNNING'",
            user,
            kind,
        )
        return [dict(row) for row in rows]

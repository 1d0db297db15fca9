"""What an assistant may spend a day, given when its server starts."""

import datetime
import json
import math
from pathlib import Path

from kernelkit import files
from kernelkit.errors import CapacityError


class Budget:
    """Session hours, pushes and submissions of one day (UTC); nothing is allowed by default.

    What is spent is kept in the file `path`, so that a server that starts again goes on with what
    is left: {"day": "2026-11-23", "hours": 0.5, "pushes": 1, "submissions": 0}.
    """

    def __init__(
        self, path: Path, *, hours: float = 0.0, pushes: int = 0, submissions: int = 0
    ) -> None:
        self.path, self._lock = path, path.with_suffix(".lock")  # which other servers hold, too
        self.limits = {"hours": hours, "pushes": pushes, "submissions": submissions}

    def remaining(self) -> dict[str, float]:
        """What is left of each today; raises `CapacityError` if the file is damaged."""
        spent = self._spent()
        return {name: max(0, limit - spent[name]) for name, limit in self.limits.items()}

    def spend(self, **sums: float) -> None:
        """Take these sums off; raises `CapacityError` where too little is left."""
        with files.locked(self._lock):
            remaining = self.remaining()
            for name, value in sums.items():
                if not 0 <= value <= remaining[name]:  # NaN is neither
                    raise CapacityError(
                        f"today's budget has {remaining[name]:g} {name} left and this needs "
                        f"{value:g}: ask the person who started the server (kernelkit mcp --{name})"
                    )
            self._add(sums, 1)

    def give_back(self, **sums: float) -> None:
        """Undo a `spend` that turned out to cost nothing."""
        with files.locked(self._lock):
            self._add(sums, -1)

    def _add(self, sums: dict[str, float], sign: int) -> None:
        spent = self._spent()
        spent |= {name: max(0, spent[name] + sign * value) for name, value in sums.items()}
        files.write_text(self.path, json.dumps({"day": _today(), **spent}) + "\n")

    def _spent(self) -> dict[str, float]:
        nothing = dict.fromkeys(self.limits, 0.0)
        try:
            content = json.loads(self.path.read_text("utf-8"))
            day = datetime.date.fromisoformat(content["day"]).isoformat()
            spent = {name: content[name] + 0.0 for name in nothing}
            if not all(0 <= value < math.inf for value in spent.values()):
                raise ValueError
        except FileNotFoundError:
            return nothing
        except (OSError, ValueError, KeyError, TypeError):
            raise CapacityError(
                f"{self.path} records what was spent today, but cannot be read, so nothing may be "
                "spent: ask the person who started the server to correct or delete it"
            ) from None
        return spent if day >= _today() else nothing


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()

"""The line through two runs of one notebook, on the public test set and on a hidden one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Growth:
    """What two runs took, on so many rows each, which differ: time or memory, in one unit."""

    public_rows: int
    hidden_rows: int
    public: float
    hidden: float

    @property
    def each(self) -> float:
        """What one row more takes; 0 or less if more rows took no more."""
        return (self.hidden - self.public) / (self.hidden_rows - self.public_rows)

    @property
    def grows(self) -> bool:
        """Whether more rows took more."""
        return self.each > 0

    def at(self, rows: int) -> float:
        """What so many rows take, on the line through both runs."""
        return self.hidden + self.each * (rows - self.hidden_rows)

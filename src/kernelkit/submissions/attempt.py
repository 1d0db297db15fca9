"""An attempt to submit a result: recorded before anything is sent, and as it goes on.

A command that is killed and repeated goes on with its attempt, so that one submission comes of
both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelkit import typed

NOT_SCORED = "not scored"  # instead of a score: nothing was submitted, or it does not count


@dataclass(frozen=True)
class Attempt:
    """What is known of an attempt; a push has fields of these names for its own.

    `submission` is the number in the competition, once Kaggle has said it. `submissions_before` are
    those that existed when the attempt began, None if nothing was sent; `submitting_since` is when
    that was, by Kaggle's clock, in seconds since 1970. `submitted_sha256` is that of the file, ""
    for a kernel's version, whose file Kaggle makes. `compared`: whether Kaggle holds these bytes,
    "same", "different" or "not compared", once it was tried. `score` is as Kaggle formats it, or
    `NOT_SCORED`; None until the attempt has ended.
    """

    submission: int | None = None
    submissions_before: list[int] | None = None
    submitting_since: float | None = None
    message: str = ""
    submitted_sha256: str = ""
    compared: str = ""
    score: str | None = None

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> "Attempt":
        """The attempt with these fields; one that sent nothing if they are not an attempt's."""
        return typed.read_whole(cls, fields) or cls()

    def is_meant_by(self, message: str) -> bool:
        """Whether a submission of the same result with this message goes on with this attempt.

        Until the attempt has ended, any message does. After that the same message means the same
        submission, and another one means another. After an attempt that was not scored, every
        message means another submission.
        """
        if self.score == NOT_SCORED:
            return False
        return not self.score or message == self.message

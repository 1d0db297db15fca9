"""What was submitted of a run, and what it reached; the record stays in the run's folder."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernelkit import files, typed
from kernelkit.runs import kit_folder

# Whether Kaggle holds the bytes of the file that was submitted.
SAME = "same"
DIFFERENT = "different"
NOT_COMPARED = "not compared"  # where Kaggle does not give the file back


@dataclass(frozen=True)
class Submitted:
    """One submission: the file and where it came from, and the score and rank that it got.

    `when` is ISO 8601 in UTC; `run` is the run's folder and `push` its `owner/slug/N`, "" for a
    file of neither. `score` is as Kaggle formats it, "" if it shows none or gave none; `problem`
    says why it gave none. `rank` and `teams` are those when the score came. `compared`: whether
    Kaggle holds the file's bytes, "same", "different" or "not compared"; "" for a kernel's version.
    """

    competition: str
    reference: int = 0
    message: str = ""
    file: str = ""
    sha256: str = ""
    when: str = ""
    run: str = ""
    push: str = ""
    git: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    score: str = ""
    rank: int | None = None
    teams: int | None = None
    problem: str = ""
    rehearsal: bool = False
    compared: str = ""

    @property
    def key(self) -> str:
        """What no other submission has."""
        if self.rehearsal:  # a local Kaggle begins with number 1 again once it was removed
            return f"rehearsal {self.competition} {self.reference} {self.when}"
        return f"{self.competition} {self.reference}"

    @property
    def shown_competition(self) -> str:
        """The competition, and whether it was a rehearsal of it."""
        return f"{self.competition} (rehearsal)" if self.rehearsal else self.competition

    @property
    def outcome(self) -> str:
        """The score, or what there is in its place, and whether the file was not compared."""
        words = self.score or self.problem or "no score shown"
        return f"{words} ({NOT_COMPARED})" if self.compared == NOT_COMPARED else words

    @property
    def standing(self) -> str:
        """The rank among the teams; "" if it is not known."""
        return f"{self.rank:,}/{self.teams:,}" if self.rank and self.teams else ""


def of_fields(values: Mapping[str, Any]) -> Submitted | None:
    """The submission with these fields; None if they are not one's. Unknown ones are left out."""
    return typed.read_whole(Submitted, values)


def add(folder: Path, submitted: Submitted) -> None:
    """Keep a submission in a run's folder, in place of an earlier entry of the same one."""
    kept = [each for each in read(folder) if each.key != submitted.key]
    content = {"submissions": [asdict(each) for each in [*kept, submitted]]}
    path = kit_folder.path(folder, kit_folder.SUBMISSIONS)
    files.write_text(path, json.dumps(content, indent=1) + "\n")


def read(folder: Path) -> list[Submitted]:
    """The submissions of a run, oldest first."""
    listed = kit_folder.read_json(folder, kit_folder.SUBMISSIONS).get("submissions")
    found = [of_fields(each) for each in listed] if isinstance(listed, list) else []
    return [each for each in found if each]


def public_score(folder: Path) -> tuple[str, float] | None:
    """The competition and the score of a run's last scored submission; None without one.

    A rehearsal's counts only if nothing was submitted to Kaggle.
    """
    scored: list[tuple[bool, int, str, float]] = []
    for each in read(folder):
        value = number(each.score)
        if value is not None:
            scored.append((not each.rehearsal, len(scored), each.shown_competition, value))
    if not scored:
        return None
    _, _, place, value = max(scored)
    return place, value


def number(text: str | None) -> float | None:
    """A score as a number; None if it is none."""
    try:
        return float(text or "")
    except ValueError:
        return None

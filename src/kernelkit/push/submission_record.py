"""The record of submissions: what was submitted, from which run, and what it reached.

Each stands in the ledger, so that `status --all` lists them, and in its run's folder, whose report
shows them.
"""

import datetime
from dataclasses import asdict
from pathlib import Path

from kernelkit import files
from kernelkit.errors import OutputsError, RefusedError
from kernelkit.push.ledger import Push
from kernelkit.push.submission import Submission, in_utc
from kernelkit.runs import run_folder
from kernelkit.runs.submissions import Submitted


def submit_and_keep(submission: Submission, folder: Path, push: Push | None) -> str:
    """Submit a result, and keep what came of it in the ledger and in the folder of its run.

    Returns the score, "" if Kaggle shows none. What Kaggle has but cannot score, or has with other
    bytes, is kept too. Raises what `Submission.submit` raises.
    """
    try:
        score = submission.submit()
    except (RefusedError, OutputsError) as error:
        if submission.reference is not None:
            _keep(submission, folder, push, problem=str(error))
        raise
    _keep(submission, folder, push, score=score)
    return score


def _keep(
    submission: Submission,
    folder: Path,
    push: Push | None,
    *,
    score: str = "",
    problem: str = "",
) -> None:
    from kernelkit.pages import push_report  # not needed by most commands

    context = submission.context
    values = run_folder.metrics(folder) or {}
    parameters = run_folder.part(values, "parameters")
    git = str(run_folder.part(values, "git").get("sha", ""))[:12]
    standing = submission.standing
    # By Kaggle's clock: two commands that tell of one submission make one submission.
    made = submission.made or datetime.datetime.now(datetime.UTC)
    submitted = Submitted(
        competition=submission.competition,
        reference=submission.reference or 0,
        message=submission.sent or submission.message,
        file=submission.file.name,
        sha256=files.sha256_of(submission.file),
        when=in_utc(made).isoformat(timespec="seconds"),
        run=str(folder),
        push=push.reference if push else "",
        git=push.git if push else git,
        parameters=push.parameters if push else dict(parameters),
        score=score,
        rank=standing.rank if standing else None,
        teams=standing.teams if standing else None,
        problem=problem,
        rehearsal=context.events.rehearsal,
        compared=submission.compared,
    )
    context.ledger.add_submission(submitted.key, asdict(submitted))
    with context.alone_in(folder):  # another command may keep one of the same run
        push_report.keep_submission(folder, submitted, context.events)

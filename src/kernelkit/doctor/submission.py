"""The doctor's last probe: submit a sample to the project's code competition, and wait."""

from __future__ import annotations

from kernelkit.errors import NetworkError, PreflightError
from kernelkit.kaggle_api.client import Kaggle, Kernel
from kernelkit.shown import duration
from kernelkit.workspace.context import PushContext


def enter(
    kernel: Kernel,
    competition: str,
    message: str,
    context: PushContext,
    kaggle: Kaggle,
    facts: dict[str, str],
) -> None:
    """Submit the output of the kernel's last version, and record each state until the result.

    Raises `PreflightError` if it has no submission, and `NetworkError` if there is no result within
    the 15 hours that a rerun may take.
    """
    stored = kaggle.stored(kernel)
    version = stored.version if stored else 0
    names = list(kaggle.outputs(kernel, version).files)
    file = next((name for name in names if name.startswith("submission.")), None)
    if file is None:
        raise PreflightError(f"{competition} has no sample submission to submit")
    answer = kaggle.once(
        "CreateCodeSubmission",
        "competitions",
        competition_name=competition,
        file_name=file,
        kernel_owner=kernel.owner,
        kernel_slug=kernel.slug,
        kernel_version=version,
        submission_description=message,
    )
    facts["submission.answer"] = "a number" if answer.ref else answer.message or "nothing"
    timing, states = context.timing, ["no submission"][: not answer.ref]
    start = timing.clock.now()
    while answer.ref and states[-1:] not in (["complete"], ["error"]):
        passed = timing.clock.now() - start
        if passed > timing.rerun_seconds:
            raise NetworkError(f"submission {answer.ref} has no score yet: see {competition}")
        submission = kaggle.repeated("GetSubmission", "competitions", ref=answer.ref)
        state = submission.status.name.lower()
        states += [state] if state not in states[-1:] else []
        facts["submission.states"] = ", then ".join(states)
        facts["submission.hours"] = str(1 + int(passed / 3600))
        facts["submission.result"] = submission.error_description or (
            "a score" if submission.public_score else "no score"
        )
        words = f"submission {answer.ref}: {state}, {duration(passed)}"
        context.events("progress", words, seconds=round(passed))
        timing.clock.sleep(timing.patience.poll if passed < 600 else timing.patience.slow_poll)

"""Resume an earlier push: find it in the ledger or on Kaggle, and download its results."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Unpack

from kernelkit.errors import KernelkitError, ParameterError, PreflightError, StillRunningError
from kernelkit.kaggle.context import LAST, CommandOptions, Push, PushContext, in_project
from kernelkit.pages import markdown
from kernelkit.pages import push_report as pushed
from kernelkit.project import find_project
from kernelkit.push import submit as submission
from kernelkit.push.bundle import metadata
from kernelkit.push.follow import Run, check_verified
from kernelkit.push.send import look_after_cut_off
from kernelkit.push.wait import ENDED
from kernelkit.runs import claims
from kernelkit.terminal.events import from_here

REFERENCE = re.compile(r"[^/\s]+/[^/\s]+/v?\d+")


def resume_push(
    reference: str = LAST,
    *,
    output: Path | None = None,
    submit: str | None = None,
    unverified: bool = False,
    **options: Unpack[CommandOptions],
) -> Path:
    """Wait for an earlier push and download its outputs; returns their folder.

    reference    `owner/slug/N`, or "last" for the ledger's last push
    unverified   accept, and submit, files that are not proved to be this push's
    output, submit, options  as in `push_kernel`

    Raises `ParameterError` for a reference that names no push, and the errors of `Run.follow`.
    """
    context = in_project(options)
    with context.ending(), earlier_push(context, reference) as push:
        return _run(context, push, unverified=unverified).follow(output, submit)


def fetch_push(
    reference: str = LAST,
    *,
    only: Sequence[str] = (),
    output: Path | None = None,
    summary: Path | None = None,
    unverified: bool = False,
    **options: Unpack[CommandOptions],
) -> Path:
    """Download the outputs of a push, without waiting for it; returns the folder.

    reference  `owner/slug/N`, or "last" for the ledger's last push
    only       glob patterns of the files to download; without any, all are downloaded, and the
               run is checked and reported on as after a push
    output     the folder; default runs/<slug>-v<N>
    summary    a Markdown file to which the run's measures, or the error, are appended
    unverified accept files that are not proved to be this push's

    Raises `StillRunningError` while the run is active, `OutputsError` if no file matches or some
    cannot be downloaded, and without `only` everything that `resume_push` raises.
    """
    context = in_project(options)
    title = reference
    try:
        with context.ending(), earlier_push(context, reference) as push:
            title = push.reference
            status = context.kaggle.status(push.name, push.version)
            if status and status.state not in ENDED:  # "new_script": it was saved without a run
                raise StillRunningError(
                    f"{title} is still {status.state}. {context.how_to_resume(push)}"
                )
            run = _run(context, push, unverified=unverified)
            folder = run.fetch_only(only, output) if only else run.follow(output)
    except KernelkitError as error:
        if summary:
            markdown.append(summary, markdown.failure(title, str(error)))
        raise
    if summary:
        markdown.append(summary, context.events.clear(markdown.table(folder, title)))
    return folder


def submit_result(
    result: str,
    message: str,
    *,
    competition: str | None = None,
    unverified: bool = False,
    **options: Unpack[CommandOptions],
) -> None:
    """Submit the result of a run to a competition and wait for its score.

    result       a push (`owner/slug/N` or "last"), or the folder or the file of any run
    competition  for a folder or file; by default its push's, or the one in the
                 kernel-metadata.json of its project
    unverified   submit files that are not proved to be outputs of the push

    Raises `ParameterError` if the competition is unknown, and what `Submission.submit` raises.
    """
    path = Path(result)
    if not path.exists():
        if competition:
            raise ParameterError(
                "--competition is for a folder or file: a push is submitted to its own competition"
            )
        resume_push(result, submit=message, unverified=unverified, **options)
        return
    if path.is_file() and not path.name.endswith(submission.ENDINGS):
        endings = ", ".join(submission.ENDINGS)
        raise ParameterError(f"{path}: a competition accepts a file that ends in {endings}")
    in_own = (find_project(path).root / "pyproject.toml").is_file()
    context = in_project(options, path if in_own else None)
    file = submission.output_of(path, context.root) if path.is_dir() else path
    place = file.parent.resolve() / file.name
    run = next(filter(claims.was_pushed, place.parents), None)
    if run and not unverified:
        check_verified(run, place.relative_to(run).as_posix())
    competition = competition or _competition(context, run, path)
    with context.ending(), context.connect():
        score = submission.Submission(context, competition, message, file).submit()
    if score:
        pushed.keep_score(file.parent, competition, score, context.events)


def _competition(context: PushContext, run: Path | None, path: Path) -> str:
    """The competition of a run's push, or else of the metadata nearest to `path` or here."""
    for push in reversed(context.ledger.pushes()) if run else ():
        if push.competition and Path(push.folder or "").resolve() == run:
            return push.competition
    try:
        file = metadata.locate(path)
    except PreflightError:
        file = metadata.locate(Path.cwd())
    for competition in metadata.load(file).sources("competition"):
        return competition
    raise ParameterError(f"{from_here(file)} names no competition: give --competition SLUG")


@contextlib.contextmanager
def earlier_push(context: PushContext, reference: str) -> Iterator[Push]:
    """The push that `owner/slug/N` or "last" names, with Kaggle connected during a block.

    Raises `ParameterError`, where it can before Kaggle is asked.
    """
    if reference == LAST:
        real = context.events.rehearsal or context.ledger.of()
        if not real and context.ledger.pushes():
            raise ParameterError(
                "nothing was pushed to Kaggle yet, only rehearsed: kernelkit status --local. For a "
                "push from another machine, write OWNER/SLUG/N"
            )
    elif not REFERENCE.fullmatch(reference):
        raise ParameterError(
            f"{reference!r} is neither a push nor a folder: write OWNER/SLUG/N, for example "
            "me/my-notebook/3"
        )
    with context.connect():
        yield _last(context) if reference == LAST else _named(context, reference)


def _named(context: PushContext, reference: str) -> Push:
    """The push from the ledger, or what is known of one that was pushed elsewhere."""
    kernel, _, number = reference.rpartition("/")
    version, rehearsal = int(number.removeprefix("v")), context.events.rehearsal
    push = Push(kernel, "", "", "", version=version, rehearsal=rehearsal)
    return [push, *(p for p in context.ledger.pushes() if p.reference == push.reference)][-1]


def _last(context: PushContext) -> Push:
    ledger = context.ledger
    if not (pushes := ledger.of()):
        raise ParameterError(f"no push in {ledger.path}: name one as OWNER/SLUG/N")
    push = pushes[-1]
    if not push.version:
        with context.alone_with(push.name):
            look_after_cut_off(context, push.name)
        push = ledger.of(push.kernel)[-1]
    if not push.version:
        raise ParameterError(
            f"the last push, of {push.kernel}, created no version: push again, or name an earlier "
            "push as OWNER/SLUG/N"
        )
    return push


def _run(context: PushContext, push: Push, *, unverified: bool) -> Run:
    """The run of an earlier push; one that was pushed elsewhere gets the stored competition."""
    context.events("resumed", f"{push.kernel} version {push.version}")
    stored = context.kaggle.existing(push.name, push.version)
    run = Run(context, push, stored.text, unverified=unverified)
    named = [s.partition(" ")[2] for s in stored.sources if s.startswith("competition ")]
    if named and not push.competition:
        run.note(competition=min(named))
    return run

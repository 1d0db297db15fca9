"""Ask Kaggle about the account, push a small notebook, and write the table of the assumptions.

Kaggle cannot be tested without an account, so the kit's own tests leave its assumptions about
Kaggle untested. Each step here looks at one thing; a step that fails gets its own line and does not
stop the others. A session is inspected by an ordinary push of the notebook `probe.py`. Whatever a
push itself finds out, or raises (what was stored, refused inputs, the internet switch, the log, the
files), is no row of the table.
"""

import contextlib
import datetime
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Unpack

from kernelkit import files, machines
from kernelkit.doctor.assumptions import OTHER, UNTRIED, Judgement, judged, markdown
from kernelkit.errors import (
    CapacityError,
    KernelkitError,
    NetworkError,
    OutputsError,
    ParameterError,
    PreflightError,
    RefusedError,
)
from kernelkit.files import from_here
from kernelkit.kaggle.client import Kaggle, accept_rules
from kernelkit.kaggle.context.kaggle_context import CommandOptions, KaggleContext
from kernelkit.kaggle.metadata_words import PLACEHOLDERS
from kernelkit.project import DOCTOR, VERSIONS, Project, find_project
from kernelkit.push.described import metadata
from kernelkit.push.known.ledger import Ledger, Push
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import ON_KAGGLE, PushRequest
from kernelkit.push.push_kernel import push
from kernelkit.push.submit import submit_result
from kernelkit.rehearsal.inputs import MOUNTED
from kernelkit.rehearsal.stand_in import Rehearsal
from kernelkit.session_records import session_manifest
from kernelkit.submissions.submission import HIDDEN
from kernelkit.submissions.submitted_file import output_of
from kernelkit.terminal.events import NEXT, WARNING, Event
from kernelkit.watching.status import QUOTA

ACCOUNT = Event("account")
SPENDS = Event("spends")
OTHER_SEEN = Event("different")
TABLE = Event("table")
PROBE = Path(__file__).with_name("probe.py")
FACTS = "facts.json"  # which the probe leaves
KERNEL = "kernelkit-doctor"
MINUTES = {"cpu": 5, "tpu": 10}


def examine(
    *,
    run: bool = False,
    tpu: bool = False,
    submit: str | None = None,
    **options: Unpack[CommandOptions],
) -> list[Judgement]:
    """Compare Kaggle with what the kit assumes about it; returns the table.

    run     push a private notebook that inspects a CPU session, which costs no quota
    tpu     push it to a TPU, for at most ten minutes of the week's hours
    submit  a message: do what `run` does, and submit the sample submission that its notebook leaves
            to the project's code competition

    The table is written to runs/doctor/doctor.md, and the observed facts to
    runs/doctor/doctor.json. Both keep what an earlier examination observed and this one did not
    try. The pushes are in the ledger, and later checks read their manifests as those of any other.
    Raises `CredentialsError` without a valid token, `NetworkError` if Kaggle does not answer,
    `ParameterError` for a submission without a competition, and, when all steps were tried, the
    error of the first that did not finish.
    """
    context = KaggleContext.in_project(**options)
    run = run or submit is not None
    examination = Examination(context, options)
    if submit is not None and not examination.sources.get("competition"):
        raise ParameterError(
            "--submit: name the competition in competition_sources of kernel-metadata.json"
        )
    steps: list[Callable[[], None]] = []
    if run:
        steps.append(partial(examination.session, "cpu"))
    if tpu:
        steps.append(partial(examination.session, "tpu"))
    if submit is not None:
        steps.append(partial(examination.submit, submit))
    entry = "" if submit is None else "one submission of today, "
    hours = f"at most {MINUTES['tpu']} minutes of TPU quota" if tpu else "no quota"
    left = f"the private kernel {KERNEL}" if steps else "nothing"
    rehearsal = Rehearsal(examination.catalogue)
    with context.announcing_errors():
        try:
            with context.connect(rehearsal) as kaggle:
                context.events(ACCOUNT, f"the credentials are {kaggle.username}'s")
                context.events(SPENDS, f"{entry}{hours}; leaves {left} behind")
                examination.attempt(partial(examination.account, kaggle))
            for step in steps:
                examination.attempt(step)
        finally:  # also after Ctrl-C
            rows = _write(context, examination.facts)
        if examination.failed:
            examination.failed.args = ("not all was examined: the warnings above say why",)
            raise examination.failed
    return rows


class Examination:
    """The steps of an examination, and the `facts` that they found, by the keys of `ASSUMPTIONS`.

    `failed` is the error of the first step that did not finish. The steps are `account`, `session`
    and `submit`.
    """

    def __init__(self, context: KaggleContext, options: CommandOptions) -> None:
        self.context = context
        self.options = options
        self.facts: dict[str, str] = {}
        self.failed: KernelkitError | None = None
        self.project = find_project(context.root or Path.cwd())
        self.sources: dict[str, list[str]] = {}  # the project's inputs by kind, without models
        self.catalogue = ""  # the command that makes them for a rehearsal
        self.pushed: Push | None = None  # the last push of the probe to a CPU
        with contextlib.suppress(KernelkitError):  # there is no notebook to push, or a damaged one
            file = metadata.locate(self.project.root)
            own = metadata.load(file)
            self.sources = {k: names for k, names in own.sources.items() if k != "model"}
            if context.serves and self.project.catalogue:
                self.catalogue = plan_push(PushRequest.of(metadata=file)).catalogue_command

    def attempt(self, step: Callable[[], None]) -> None:
        """Do a step; a failure gets its own line, unless Kaggle answers nothing at all."""
        try:
            step()
        except KernelkitError as error:
            if isinstance(error, NetworkError) and not self.facts:
                raise
            self.failed = self.failed or error
            self.context.events(WARNING, f"a step of the examination did not finish: {error}")

    def account(self, kaggle: Kaggle) -> None:
        """Quota, and entry in the project's competition."""
        for kind in ("tpu", "gpu"):
            quota = kaggle.quota(kind)
            if quota:
                self.facts[f"quota.{kind}"] = f"{quota.allowed:g}"
                self.context.events(QUOTA, quota.remaining(kind))
        for slug in self.sources.get("competition", ()):
            about = kaggle.repeated(partial(kaggle.competitions.get_competition, slug))
            self.facts["competition.entered"] = "yes" if about.user_has_entered else "no"
            if not about.user_has_entered:
                self.context.events(NEXT, accept_rules(slug))

    def session(self, kind: machines.Kind) -> None:
        """Push the probe to one kind of machine, and note what it saw there."""
        asked = datetime.datetime.now(datetime.UTC).isoformat()
        request = PushRequest.of(
            parameters={"asked": asked, "submission": self.project.submission},
            metadata=self._probe(),
            project=self._project(),
            accelerator=kind,
            timeout=MINUTES[kind],
        )
        folder = push(request, on_kaggle=f"kernelkit doctor --run  {ON_KAGGLE}", **self.options)
        if folder is None:
            return
        seen = files.read_object(folder / FACTS)
        packages = seen.pop("packages", {})
        self.facts[VERSIONS.format(kind)] = json.dumps(packages)  # rehearsals install the same
        inputs = seen.pop("inputs", [])
        seen |= {name: packages[name] for name in ("jax", "libtpu") if name in packages}
        manifest = session_manifest.read(folder)
        if manifest and manifest.image.python:
            seen["python"] = ".".join(manifest.image.python.split(".")[:2])
        self.facts |= {f"{kind}.{key}": str(value) for key, value in seen.items()}
        if kind == "cpu":
            self._note_mounts(set(inputs))
            self.pushed = self._ledger.last()

    def submit(self, message: str) -> None:
        """Submit the sample submission that the CPU session left, and wait for its result."""
        if self.pushed is None:
            raise PreflightError("there is no CPU session whose result could be submitted")
        try:
            output_of(Path(self.pushed.folder or ""), self.project.root)
        except OutputsError:
            raise PreflightError(
                "competition_sources has no competition with a sample submission"
            ) from None
        try:
            submit_result(self.pushed.reference, message, **self.options)
            pushes = self._ledger.of(self.pushed.kernel)
            scores = [push.score for push in pushes if push.version == self.pushed.version]
            result = "no score" if HIDDEN in scores else "a score"
        except CapacityError:  # which says nothing about a submission
            raise
        except RefusedError as error:
            result = str(error)
        self.facts["submission.result"] = result

    @property
    def _ledger(self) -> Ledger:
        return Ledger(self.context.runs, rehearsal=self.context.rehearsal)

    def _project(self) -> Project:
        """The project, without what its own notebooks need: packages, wheels, rules."""
        project = self.project
        return Project(project.root, reserve=project.reserve, catalogue=self.catalogue)

    def _probe(self) -> Path:
        """The metadata of the probe, written beside it into the doctor's folder."""
        folder = files.make_folder(self.context.runs / DOCTOR.parent)
        shutil.copyfile(PROBE, folder / PROBE.name)
        values = {
            "id": f"{PLACEHOLDERS[0]}/{KERNEL}",
            "title": KERNEL.replace("-", " "),
            "code_file": PROBE.name,
            "language": "python",
            "kernel_type": "notebook",
            "is_private": True,
            "enable_internet": False,
        }
        values |= {f"{kind}_sources": names for kind, names in self.sources.items()}
        return files.write_text(folder / metadata.FILE_NAME, json.dumps(values, indent=2))

    def _note_mounts(self, inputs: set[str]) -> None:
        """Where the inputs, if the project has any, were found below /kaggle/input."""
        pairs = [(MOUNTED[kind], name) for kind, names in self.sources.items() for name in names]
        if pairs:
            today = all(f"{place}/{name}" in inputs for place, name in pairs)
            older = all(name.rpartition("/")[2] in inputs for _, name in pairs)
            places = ", ".join(sorted(inputs)[:8]) or "nowhere"
            self.facts["inputs.now"] = "competitions/, datasets/ …" if today else places
            self.facts["inputs.older"] = "there too" if older else "not there"


def _write(context: KaggleContext, facts: dict[str, str]) -> list[Judgement]:
    """Write what was observed beside what earlier examinations observed; returns the table."""
    path = context.runs / DOCTOR
    rehearsal = context.rehearsal
    if rehearsal:  # the checks of a push do not read a rehearsal's facts
        path = path.with_name("rehearsal.json")
    all_facts = files.read_object(path).get("facts", {}) | facts
    rows = judged(all_facts, rehearsal=rehearsal)
    if not facts:
        return rows
    made = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    content = json.dumps({"made": made, "facts": all_facts}, indent=2)
    files.write_text(path, context.events.clear(content))
    table = f"{made}, with what was seen earlier and not tried again\n\n{markdown(rows)}"
    path = files.write_text(path.with_suffix(".md"), context.events.clear(table))
    others = [row for row in rows if row.verdict == OTHER]
    for row in others:
        context.events(OTHER_SEEN, f"{row.about}: {row.seen}, assumed {row.assumed}")
    tried = sum(row.verdict != UNTRIED for row in rows)
    counts = (
        f"{tried - len(others)} as assumed, {len(others)} different, {len(rows) - tried} not tried"
    )
    context.events(TABLE, f"{counts}: {from_here(path)}", other=len(others), tried=tried)
    return rows

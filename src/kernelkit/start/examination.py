"""The doctor: check the account, send a few requests, run a small notebook, write the table.

Kaggle cannot be tested without an account, so the kit's assumptions about it are untested. Each
probe tests one thing; a probe that fails gets its own line and does not stop the others.
"""

import contextlib
import datetime
import inspect
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import nbformat.v4

from kernelkit import files, machines
from kernelkit.errors import KernelkitError, NetworkError, PreflightError, RefusedError
from kernelkit.kaggle.client import Kaggle, accept_rules
from kernelkit.kaggle.context import CommandOptions, KaggleContext
from kernelkit.kaggle.kernel import Kernel
from kernelkit.notebook.document import KERNELSPEC
from kernelkit.project import DOCTOR, find_project
from kernelkit.push.bundle import metadata
from kernelkit.push.ledger import Ledger
from kernelkit.push.status import QUOTA
from kernelkit.push.submission import Submission
from kernelkit.runs.claims import source_of
from kernelkit.start import probe
from kernelkit.start.assumptions import OTHER, UNTRIED, Judgement, judged, markdown
from kernelkit.start.expected import results
from kernelkit.terminal.events import NEXT, PROGRESS, WARNING, Event, from_here

ACCOUNT = Event("account")
SPENDS = Event("spends")
RUNS = Event("runs")
OTHER_SEEN = Event("other")
TABLE = Event("table")
KERNELS = {"cpu": "kernelkit-doctor", "tpu": "kernelkit-doctor-tpu"}
SAVED = "kernelkit-doctor-names"  # saved and not run
MINUTES = {"cpu": 5, "tpu": 10}
PLACES = {"dataset": "datasets", "competition": "competitions", "kernel": "notebooks"}


def examine(
    *,
    run: bool = False,
    tpu: bool = False,
    submit: str | None = None,
    **options: Unpack[CommandOptions],
) -> list[Judgement]:
    """Compare Kaggle with what the kit assumes about it; returns the table.

    run     save two private kernels and run a CPU notebook of two minutes, which costs no quota
    tpu     run it on a TPU, for at most ten minutes of the week's hours
    submit  a message: do what `run` does, and submit the sample submission that its notebook leaves
            to the project's code competition

    The table is written to runs/doctor/doctor.md, and the observed facts to
    runs/doctor/doctor.json, which later checks read. Both keep what an earlier examination observed
    and this one did not try. Raises `CredentialsError` without a valid token, `NetworkError` if
    Kaggle does not answer.
    """
    context = KaggleContext.in_project(**options)
    run = run or submit is not None
    with context.ending(), context.connect() as kaggle:
        context.events(ACCOUNT, f"the credentials are {kaggle.username}'s")
        hours = f"at most {MINUTES['tpu']} minutes of TPU quota" if tpu else "no quota"
        kernels = " and ".join([SAVED, KERNELS["cpu"]] * run + [KERNELS["tpu"]] * tpu)
        entry = "" if submit is None else "one submission of today, "
        context.events(SPENDS, f"{entry}{hours}; leaves {kernels or 'nothing'} behind, private")
        examination = Examination(context, kaggle)
        probes: list[Callable[[], None]] = [examination.account]
        if run:
            probes += [examination.save, partial(examination.session, "cpu")]
        if tpu:
            probes.append(partial(examination.session, "tpu"))
        if submit is not None:
            probes.append(partial(examination.submit, submit))
        try:
            for probe in probes:
                examination.attempt(probe)
        finally:  # also after Ctrl-C
            rows = _write(context, examination.facts)
    return rows


class Examination:
    """What the probes, which are its methods, found out: `facts`, by the keys of `ASSUMPTIONS`."""

    def __init__(self, context: KaggleContext, kaggle: Kaggle) -> None:
        self.context, self.kaggle = context, kaggle
        self.facts: dict[str, str] = {}
        self.samples: list[tuple[Path, Kernel, int]] = []  # sample submissions among the outputs
        self.sources: dict[str, list[str]] = {}  # the project's inputs by kind, without models
        with contextlib.suppress(KernelkitError):  # there is no project
            project = metadata.load(metadata.locate(context.root or Path.cwd()))
            self.sources = {kind: project.sources(kind) for kind in PLACES}

    def attempt(self, probe: Callable[[], None]) -> None:
        """Run a probe; a failure gets its own line, unless Kaggle answers nothing at all."""
        try:
            probe()
        except KernelkitError as error:
            if isinstance(error, NetworkError) and not self.facts:
                raise
            self.context.events(WARNING, f"a probe did not finish: {error}")

    def account(self) -> None:
        """Quota, entry in the project's competition, the answer about a missing kernel."""
        kaggle, facts = self.kaggle, self.facts
        for kind in ("tpu", "gpu"):
            if quota := kaggle.quota(kind):
                facts[f"quota.{kind}"] = f"{quota.allowed:g}"
                self.context.events(QUOTA, quota.remaining(kind))
        missing = kaggle.stored(Kernel(kaggle.username, "kernelkit-doctor-is-not-there"))
        facts["missing"] = "refused or not found" if missing is None else "shown"
        for slug in self.sources.get("competition", ()):
            about = kaggle.repeated(partial(kaggle.calls.get_competition, slug))
            facts["competition.entered"] = "yes" if about.user_has_entered else "no"
            if not about.user_has_entered:
                self.context.events(NEXT, accept_rules(slug))

    def save(self) -> None:
        """Save a kernel twice without running it, first under another slug than its title's, and
        read back what Kaggle stored."""
        from kagglesdk.kernels.types.kernels_enums import KernelExecutionType

        kernel = Kernel(self.kaggle.username, SAVED)
        fields = self._fields(SAVED, "pass") | {"enable_internet": True}
        fields["kernel_execution_type"] = KernelExecutionType.QUICK_SAVE
        other = {} if self.kaggle.stored(kernel) else {"slug": f"{kernel.owner}/kernelkit-slug"}
        first = self.kaggle.save(fields | other)
        refused = ", ".join(first.refused_sources)
        self.facts["save.sources"] = f"refused: {refused}" if refused else "all taken"
        kernel = Kernel(*first.ref.split("/")[-2:])
        self.facts["save.slug"] = "the title's" if kernel.slug == SAVED else str(kernel)
        version = self.kaggle.save(fields | {"slug": str(kernel)}).version
        more = version - first.version
        self.facts["save.version"] = "one more" if more == 1 else f"{more} more"
        if stored := self.kaggle.stored(kernel, version):
            same = source_of(stored.text) == source_of(fields["text"])
            self.facts["save.text"] = "as saved" if same else "changed"
            self.facts["save.internet"] = "kept" if stored.internet else "switched off"
            if not stored.internet:
                self.context.events(NEXT, "verify your phone: https://www.kaggle.com/settings")

    def session(self, kind: machines.Kind) -> None:
        """Run a notebook that inspects one kind of machine, and check the lists before and after
        its end."""
        name, timing = KERNELS[kind], self.context.timing
        kernel = Kernel(self.kaggle.username, name)
        if (now := self.kaggle.status(kernel, None)) and now.alive:
            raise PreflightError(f"{kernel} is still {now.state}: wait for it")
        stays = max(1.0, timing.clock.wall(2.5 * timing.patience.poll))  # to be observed running
        code = f"{inspect.getsource(probe.look)}\n\nlook({probe.MARK!r}, {stays})"
        fields = self._fields(name, code) | {
            "enable_internet": False,
            "session_timeout_seconds": 60 * MINUTES[kind],
        }
        if kind == "tpu":
            fields |= {"enable_tpu": True, "machine_shape": machines.TODAY[kind]}
        version = self.kaggle.save(fields).version
        self.context.events(RUNS, f"{kernel} version {version}, private")
        self._wait(kernel, version)
        seen = self._printed(kernel, version)
        packages, inputs = seen.pop("packages"), seen.pop("inputs")
        seen |= {name: packages[name] for name in ("jax", "libtpu") if name in packages}
        self.facts |= {f"{kind}.{key}": str(value) for key, value in seen.items()}
        self.facts[f"packages.{kind}"] = json.dumps(packages)
        if kind == "cpu":
            self._note_mounts(set(inputs))

    def _fields(self, name: str, code: str) -> dict[str, Any]:
        """What to save as a private notebook with this code and the project's inputs."""
        cells = [nbformat.v4.new_code_cell(code, id="look")]
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": dict(KERNELSPEC)})
        return {
            "slug": f"{self.kaggle.username}/{name}",
            "new_title": name.replace("-", " "),
            "text": json.dumps(notebook),
            "language": "python",
            "kernel_type": "notebook",
            "is_private": True,
            **{f"{source}_data_sources": names for source, names in self.sources.items()},
        }

    def _wait(self, kernel: Kernel, version: int) -> None:
        """Wait for the end; unlike for a push, lists and log are also read while it runs."""
        timing, facts = self.context.timing, self.facts
        end = timing.clock.now() + timing.patience.queue
        while (status := self.kaggle.status(kernel, version)) is None or status.alive:
            if timing.clock.now() > end:
                raise NetworkError(f"{kernel} is still in the queue: run the doctor again later")
            state = status.state if status else "unknown"
            self.context.events(PROGRESS, f"{kernel}: {state}")
            if state == "running" and "running.log" not in facts:  # it may end in a moment
                outputs = self.kaggle.outputs(kernel, version)
                facts["running.log"] = "not empty" if outputs.log.strip("[] \n") else "empty"
                facts["running.files"] = "some" if outputs.files else "none"
            timing.clock.sleep(timing.patience.poll)
        facts["ended.state"] = status.state

    def _printed(self, kernel: Kernel, version: int) -> dict[str, Any]:
        """The facts that the session printed, from the log that Kaggle lists."""
        outputs, sizes = self.kaggle.outputs(kernel, version), self.kaggle.sizes(kernel, version)
        names = [name for name in outputs.files if name.startswith("submission.")]
        self.samples += [(Path(name), kernel, version) for name in names]
        listed = set(outputs.files) <= set(sizes)
        self.facts["ended.files"] = "listed" if listed else "without sizes"
        text = outputs.log
        self.facts["ended.log"] = "something else" if text else "empty"
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            text = "".join(str(entry["data"]) for entry in json.loads(text))
            self.facts["ended.log"] = "a JSON array"
        for line in text.splitlines():
            if line.startswith(probe.MARK):
                with contextlib.suppress(ValueError, RecursionError):
                    return dict(json.loads(line.removeprefix(probe.MARK)))
        raise NetworkError(f"the log of {kernel} version {version} does not have what it printed")

    def submit(self, message: str) -> None:
        """Submit the sample submission that the CPU session left, and wait for its result."""
        competitions = self.sources.get("competition")
        if not (competitions and self.samples):
            raise PreflightError("competition_sources has no competition with a sample submission")
        clock = self.context.timing.clock
        begun = clock.now()
        entry = Submission(
            self.context, competitions[0], message, *self.samples[0], notebook_only=True
        )
        try:
            result = "a score" if entry.submit() else "no score"
        except RefusedError as error:
            result = str(error)
        hours = str(1 + int((clock.now() - begun) / 3600))
        self.facts |= {"submission.result": result, "submission.hours": hours}

    def _note_mounts(self, inputs: set[str]) -> None:
        """Where the inputs, if the project has any, were found below /kaggle/input."""
        pairs = [(PLACES[kind], name) for kind, names in self.sources.items() for name in names]
        if pairs:
            today = all(f"{place}/{name}" in inputs for place, name in pairs)
            older = all(name.rpartition("/")[2] in inputs for _, name in pairs)
            places = ", ".join(sorted(inputs)[:8]) or "nowhere"
            self.facts["inputs.now"] = "competitions/, datasets/ …" if today else places
            self.facts["inputs.older"] = "there too" if older else "not there"


def _write(context: KaggleContext, facts: dict[str, str]) -> list[Judgement]:
    """Write what was observed beside what earlier examinations observed; returns the table."""
    path, rehearsal = context.runs / DOCTOR, context.events.rehearsal
    if rehearsal:  # the checks of a push do not read a rehearsal's facts
        path = path.with_name("rehearsal.json")
    all_facts = files.read_object(path).get("facts", {}) | facts
    rows = judged(all_facts, rehearsal=rehearsal)
    expected = find_project(context.root or Path.cwd()).expected
    rows += results(expected, Ledger(context.runs, rehearsal=rehearsal).of())
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
    counts = f"{tried - len(others)} as assumed, {len(others)} other, {len(rows) - tried} not tried"
    context.events(TABLE, f"{counts}: {from_here(path)}", other=len(others), tried=tried)
    return rows

"""The doctor: check the account, send a few requests, run a small notebook, write the table.

Kaggle cannot be tested without an account, so the kit's assumptions about it are untested. Each
probe tests one thing; a probe that fails gets its own line and does not stop the others.
"""

from __future__ import annotations

import datetime
import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

import nbformat.v4
from slugify import slugify

from kernelkit import files, machines
from kernelkit.doctor import session, submission
from kernelkit.doctor.assumptions import OTHER, UNTRIED, Judgement, judged, markdown
from kernelkit.errors import KernelkitError, NetworkError, PreflightError
from kernelkit.kaggle_api.client import SOURCES, Kaggle, Kernel, accept_rules
from kernelkit.plans import metadata, plan
from kernelkit.run_folders.claims import source_of
from kernelkit.terminal.events import from_here
from kernelkit.workspace.context import DOCTOR, CommandOptions, PushContext, in_project

KERNELS = {"cpu": "kernelkit-doctor", "tpu": "kernelkit-doctor-tpu"}
TITLED = "kernelkit doctor names"  # the title of the kernel that is saved under another slug
MINUTES = {"cpu": 5, "tpu": 10}
Probe = Callable[[PushContext, Kaggle, dict[str, str]], None]
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
    tpu     also run it on a TPU, for at most ten minutes of the week's hours
    submit  a message: do what `run` does, and submit the sample submission to the project's code
            competition

    The table is written to runs/doctor/doctor.md, and the observed facts to
    runs/doctor/doctor.json, which later checks read. Raises `CredentialsError` without a valid
    token, `NetworkError` if Kaggle does not answer.
    """
    context = in_project(options)
    run = run or submit is not None
    facts: dict[str, str] = {}
    with context.ending(), context.asking() as kaggle:
        context.events("account", f"the credentials are {kaggle.username}'s")
        probes: list[Probe] = [_account]
        probes += [_save, functools.partial(_session, "cpu")] if run else []
        probes += [functools.partial(_session, "tpu")] if tpu else []
        if submit is not None:
            if not (competitions := _sources(context).get("competition")):
                raise PreflightError("--submit needs a competition among competition_sources")
            kernel = Kernel(kaggle.username, KERNELS["cpu"])
            probes += [functools.partial(submission.enter, kernel, competitions[0], submit)]
        entry = "" if submit is None else "one submission of today, "
        context.events("spends", entry + _costs(kaggle, run=run, tpu=tpu))
        try:
            for probe in probes:
                _try(probe, context, kaggle, facts)
        finally:  # also after Ctrl-C
            rows = judged(facts, rehearsal=context.events.rehearsal)
            if facts:
                _write(context, facts, rows)
    return rows


def _try(probe: Probe, context: PushContext, kaggle: Kaggle, facts: dict[str, str]) -> None:
    """Run a probe; a failure gets its own line, unless not even the account check works."""
    try:
        probe(context, kaggle, facts)
    except KernelkitError as error:
        if isinstance(error, NetworkError) and probe is _account:
            raise
        context.events("warning", f"a probe did not finish: {error}")


def _costs(kaggle: Kaggle, *, run: bool, tpu: bool) -> str:
    names = [KERNELS["cpu"], slugify(TITLED)] * run + [KERNELS["tpu"]] * tpu
    kernels = " and ".join(f"{kaggle.username}/{name}" for name in names)
    hours = f"at most {MINUTES['tpu']} minutes of TPU quota" if tpu else "no quota"
    leaves = f"; leaves the private kernels {kernels}" if names else "; leaves nothing behind"
    return f"{'about 40' if names else 'five'} requests, {hours}{leaves}"


def _account(context: PushContext, kaggle: Kaggle, facts: dict[str, str]) -> None:
    """Quota, entry in the project's competition, the answer about a kernel that is not there."""
    for kind in ("tpu", "gpu"):
        if quota := kaggle.quota(kind):
            facts[f"quota.{kind}"] = f"{quota.allowed:g}"
            context.events("quota", quota.remaining(kind))
    missing = kaggle.stored(Kernel(kaggle.username, "kernelkit-doctor-is-not-there"))
    facts["missing"] = "refused or not found" if missing is None else "shown"
    for slug in _sources(context).get("competition", ()):
        about = kaggle.repeated("GetCompetition", "competitions", competition_name=slug)
        facts["competition.entered"] = "yes" if about.user_has_entered else "no"
        if not about.user_has_entered:
            context.events("next", accept_rules(slug))


def _save(context: PushContext, kaggle: Kaggle, facts: dict[str, str]) -> None:
    """Save a kernel twice without running it, and read back what Kaggle stored."""
    from kagglesdk.kernels.types.kernels_enums import KernelExecutionType

    kernel = Kernel(kaggle.username, slugify(TITLED))
    before = kaggle.stored(kernel)
    text = _notebook("pass")
    fields = _fields(context, kaggle, text, "kernelkit-doctor-slug", TITLED)
    fields |= {"enable_internet": True, "kernel_execution_type": KernelExecutionType.QUICK_SAVE}
    if before:
        fields["slug"] = str(kernel)
    first = kaggle.save(fields)
    facts["save.slug"] = "the title's" if first.ref.endswith(f"/{kernel.slug}") else first.ref
    refused = first.refused_sources
    facts["save.sources"] = f"refused: {', '.join(refused)}" if refused else "all taken"
    second = kaggle.save(fields | {"slug": str(kernel)})
    more = second.version - first.version
    facts["save.version"] = "one more" if more == 1 else f"{more} more"
    stored = kaggle.stored(kernel, second.version)
    if stored:
        facts["save.text"] = "as saved" if source_of(stored.text) == source_of(text) else "changed"
        facts["save.internet"] = "kept" if stored.internet else "switched off"
        if not stored.internet:
            context.events("next", "verify your phone: https://www.kaggle.com/settings")
    status = kaggle.status(kernel, second.version)
    alive = status is not None and status.alive
    facts["save.session"] = "starts a session" if alive else "starts no session"


def _session(
    kind: machines.Kind, context: PushContext, kaggle: Kaggle, facts: dict[str, str]
) -> None:
    """Run a notebook that inspects one kind of machine, and check the lists before and after."""
    name = KERNELS[kind]
    kernel = Kernel(kaggle.username, name)
    if (now := kaggle.status(kernel, None)) and now.alive:
        raise PreflightError(f"{kernel} is still {now.state}: wait for it")
    timing = context.timing
    stays = max(1.0, timing.clock.wall(2.5 * timing.patience.poll))  # to be observed running
    text = _notebook(f"{inspect.getsource(session.look)}\n\nlook({session.MARK!r}, {stays})")
    fields = _fields(context, kaggle, text, name, name.replace("-", " "))
    fields |= {"enable_internet": False, "session_timeout_seconds": 60 * MINUTES[kind]}
    fields |= {"enable_tpu": kind == "tpu"}
    fields |= {"machine_shape": machines.TODAY[kind]} if kind == "tpu" else {}
    version = kaggle.save(fields).version
    context.events("runs", f"{kernel} version {version}, private")
    _wait(context, kaggle, kernel, version, facts)
    seen = _facts_of(kaggle, kernel, version, facts)
    packages = seen.get("packages", {})
    shown = {key: value for key, value in seen.items() if key not in ("packages", "inputs")}
    shown |= {name: packages[name] for name in ("jax", "libtpu") if name in packages}
    facts |= {f"{kind}.{key}": str(value) for key, value in shown.items()}
    facts[f"packages.{kind}"] = json.dumps(packages)
    if kind == "cpu":
        facts |= _mounts(_sources(context), set(seen.get("inputs", ())))


def _wait(
    context: PushContext, kaggle: Kaggle, kernel: Kernel, version: int, facts: dict[str, str]
) -> None:
    """Wait for the end; unlike for a push, lists and log are also read once while it runs."""
    timing = context.timing
    end = timing.clock.now() + timing.patience.queue
    looked = False
    while (status := kaggle.status(kernel, version)) is None or status.alive:
        if timing.clock.now() > end:
            raise NetworkError(f"{kernel} is still in the queue: run the doctor again later")
        state = status.state if status else "unknown"
        context.events("progress", f"{kernel}: {state}")
        if state == "running" and not looked:
            outputs, looked = kaggle.outputs(kernel, version), True
            facts["running.log"] = "not empty" if outputs.log.strip("[] \n") else "empty"
            facts["running.files"] = "some" if outputs.files else "none"
        timing.clock.sleep(timing.patience.poll)
    facts["ended.state"] = status.state
    facts["ended.label"] = "of that version" if status.state == "complete" else "unclear"


def _facts_of(
    kaggle: Kaggle, kernel: Kernel, version: int, facts: dict[str, str]
) -> dict[str, Any]:
    """The facts that the session printed, from the log that Kaggle lists."""
    outputs = kaggle.outputs(kernel, version)
    try:
        entries = json.loads(outputs.log)
        facts["ended.log"] = "a JSON array" if isinstance(entries, list) else "JSON of another kind"
        text = "".join(str(entry["data"]) for entry in entries)
    except (ValueError, TypeError, KeyError):
        facts["ended.log"], text = "something else" if outputs.log else "empty", outputs.log
    sizes = kaggle.sizes(kernel, version)
    facts["ended.files"] = (
        "listed" if all(name in sizes for name in outputs.files) else "without sizes"
    )
    lines = [line for line in text.splitlines() if line.startswith(session.MARK)]
    if not lines:
        raise NetworkError(
            f"the log of {kernel} version {version} does not contain what it printed"
        )
    seen = json.loads(lines[-1].removeprefix(session.MARK))
    return seen if isinstance(seen, dict) else {}


def _mounts(sources: dict[str, tuple[str, ...]], inputs: set[str]) -> dict[str, str]:
    """Where the inputs were found, below /kaggle/input; empty if the project has none."""
    pairs = [(PLACES[kind], name) for kind, names in sources.items() for name in names]
    if not pairs:
        return {}
    now = all(f"{place}/{name}" in inputs for place, name in pairs)
    older = all(name.rpartition("/")[2] in inputs for _, name in pairs)
    places = ", ".join(sorted(inputs)[:8]) or "nowhere"
    return {
        "inputs.now": "competitions/, datasets/ …" if now else places,
        "inputs.older": "there too" if older else "not there",
    }


def _sources(context: PushContext) -> dict[str, tuple[str, ...]]:
    """The inputs in the project's kernel-metadata.json by kind, without models."""
    try:
        project = metadata.load(plan.locate(context.root or Path.cwd()))
    except KernelkitError:
        return {}
    return {kind: tuple(project.sources(kind)) for kind in SOURCES if kind in PLACES}


def _fields(
    context: PushContext, kaggle: Kaggle, text: str, slug: str, title: str
) -> dict[str, Any]:
    sources = {f"{kind}_data_sources": list(of) for kind, of in _sources(context).items()}
    return {
        "slug": f"{kaggle.username}/{slug}",
        "new_title": title,
        "text": text,
        "language": "python",
        "kernel_type": "notebook",
        "is_private": True,
        **sources,
    }


def _notebook(code: str) -> str:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code, id="look")])
    names = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata["kernelspec"] = names
    return json.dumps(notebook)


def _write(context: PushContext, facts: dict[str, str], rows: list[Judgement]) -> None:
    path = context.runs / DOCTOR
    if context.events.rehearsal:  # the checks of a push do not read a rehearsal's facts
        path = path.with_name("rehearsal.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    made = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    content = {"made": made, "facts": facts, "rows": [asdict(row) for row in rows]}
    files.write_text(path, context.events.clear(json.dumps(content, indent=2)))
    table = context.events.clear(f"{made}\n\n{markdown(rows)}")
    path = files.write_text(path.with_suffix(".md"), table)
    for row in rows:
        if row.verdict == OTHER:
            assumed = " or ".join(row.assumption.assumed)
            context.events("other", f"{row.assumption.about}: {row.seen}, assumed {assumed}")
    tried = [row for row in rows if row.verdict != UNTRIED]
    other = sum(row.verdict == OTHER for row in tried)
    counts = f"{len(tried) - other} as assumed, {other} other, {len(rows) - len(tried)} not tried"
    context.events("table", f"{counts}: {from_here(path)}", other=other, tried=len(tried))

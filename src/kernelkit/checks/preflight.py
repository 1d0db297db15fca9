"""The checks before a push that need no network.

Kaggle accepts a great deal in silence: a misspelt key, a source with a prefix, a machine
that no longer exists, an image that pins a TPU run to the CPU. Each is found here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelkit import machines
from kernelkit.bundle import secret_scan
from kernelkit.bundle.build import Bundle, check_size
from kernelkit.checks.checks import Finding, error, in_metadata, warning
from kernelkit.checks.metadata import Metadata
from kernelkit.errors import PreflightError
from kernelkit.project import Project
from kernelkit.terminal import invocation

OUTPUT = "output"  # where a run writes
READS_SECRETS = re.compile(r"(?m)^\s*(?:from|import)\s+kaggle_secrets\b")


@dataclass(frozen=True)
class PushRequest:
    """One push: its metadata, bundle, project and parameters.

    `parameters` are all of the notebook's, the defaults among them, and `starts` those of each
    run that it starts in turn, `defaults` the notebook's own values; `timeout_minutes` is None
    where none was asked for.
    """

    metadata: Metadata
    bundle: Bundle
    project: Project
    parameters: Mapping[str, Any]
    timeout_minutes: float | None
    starts: tuple[Mapping[str, Any], ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> Iterator[tuple[str, Any]]:
        """Each parameter's name and value, of the notebook and of every run that it starts."""
        for parameters in (self.parameters, *self.starts):
            yield from parameters.items()


def offline(request: PushRequest) -> list[Finding]:
    """Every finding that needs no network, errors first."""
    findings = [
        *in_metadata(request.metadata),
        *_session(request),
        *_needs(request),
        *_paths(request),
        *_bundle(request.bundle),
        # What wheels bring is known once they are found; `lacking` is asked then.
        *([] if request.project.wheels else lacking(request)),
        *_kaggle_secrets(request.bundle),
        *leaking(request),
    ]
    return sorted(findings, key=lambda finding: finding.level)


def stop_on_errors(problems: Sequence[Finding]) -> None:
    """Raise one `PreflightError` that lists every error among the findings."""
    errors = [finding.text for finding in problems if finding.level == "error"]
    if errors:
        listed = "\n".join(f"  - {text}" for text in errors)
        raise PreflightError(f"the preflight found {len(errors)} to correct:\n{listed}")


def check_submission(metadata: Metadata, submit: str | None) -> None:
    """Raise `PreflightError` where a result is to be submitted and no competition is attached."""
    if submit is not None and not metadata.sources("competition"):
        raise PreflightError("--submit needs the competition in competition_sources")


def _session(request: PushRequest) -> Iterator[Finding]:
    minutes = request.timeout_minutes
    try:
        machine = request.metadata.machine
    except PreflightError:
        return
    limit = machines.LIMITS[machine.kind].hours_per_session * 60
    if minutes is not None and not minutes > 0:
        yield error(f"--timeout {minutes:g}: give minutes above zero")
    elif minutes is not None and minutes > limit:
        yield error(
            f"--timeout {minutes:g} is past the {limit / 60:g} hours that Kaggle gives a "
            f"{machine.kind.upper()} session ({limit:g} minutes)"
        )


def _needs(request: PushRequest) -> Iterator[Finding]:
    """Check that the metadata switches on the internet, files and data that the parameters need."""
    online = request.metadata.values.get("enable_internet", True)
    wants, download = _asked(request, "internet"), _asked(request, "download")
    attached = any(request.metadata.sources(kind) for kind in ("dataset", "model", "kernel"))
    if wants and not online:
        yield error(f"{wants} needs the internet, which is off: set enable_internet to true")
    if download and not online and not attached:
        yield error(
            f"{download} downloads what is not attached, and the internet is off: set "
            "enable_internet to true, or add the dataset or model that holds it"
        )
    # Metadata that suits the notebook as it stands is not changed for one push.
    usual = replace(request, parameters=request.defaults, starts=())
    needed = wants or download or _asked(usual, "internet") or _asked(usual, "download")
    if online and not needed:
        yield warning("enable_internet is on though no parameter needs it: set it to false")
    if online and (wants or (download and not attached)):
        yield warning("Kaggle ignores enable_internet for accounts without a verified phone")
    wants = _asked(request, "competition")
    if wants and not request.metadata.sources("competition"):
        yield error(f"{wants} reads the competition's files: add it to competition_sources")
    if wants := _asked(request, "desk"):
        yield error(f"{wants} works at the desk only: what it needs does not travel")


def _asked(request: PushRequest, need: str) -> str:
    """The first `name=value` of the project's needs that a parameter matches."""
    has = {f"{name}={value}" for name, value in request.values}
    return next((pair for pair in request.project.needs.get(need, ()) if pair in has), "")


def _paths(request: PushRequest) -> Iterator[Finding]:
    """Files and folders of this machine, which a session does not have."""
    given = {
        (name, value)
        for name, value in request.values
        if isinstance(value, str) and "/" in value and name != OUTPUT
    }
    for name, value in sorted(given):
        if _is_here(value):
            yield error(
                f"{name}={value} is on this machine only: attach what it holds "
                f"({invocation.command('dataset')} FOLDER) and name it as the notebook finds it "
                "there"
            )


def _is_here(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # too long, of no user, or no path at all
        return False


def _bundle(bundle: Bundle) -> Iterator[Finding]:
    yield from map(error, bundle.broken)
    try:
        message = check_size(bundle)
    except PreflightError as raised:
        yield error(str(raised))
        return
    if "over" in message:
        yield warning(f"the bundle has {message}")
    if "kaggle" in bundle.traces:
        yield warning(
            "the notebook's metadata.kaggle (left by `kernels pull -m`) would have pinned the "
            "image and is not sent"
        )
    if bundle.unnamed:
        yield warning(
            f"{', '.join(bundle.unnamed)} stays here: no module that rides names the file or its "
            "folder"
        )


def lacking(request: PushRequest, brought: Collection[str] = ()) -> Iterator[Finding]:
    """Modules that the code needs and that neither the machine's image holds nor wheels bring."""
    try:
        kind = request.metadata.machine.kind
    except PreflightError:
        return
    asked = request.bundle.imports
    there = {*request.bundle.packages, *brought, *(name.partition(".")[0] for name in brought)}
    needs = [module for module in asked if module not in there]
    for module in machines.lacking(needs, kind):
        yield warning(
            f"the image of {kind.upper()} sessions does not hold {module} ({asked[module]}): "
            f"{_instead(module, request, kind)}"
        )


def _instead(module: str, request: PushRequest, kind: machines.Kind) -> str:
    """What to do about a module that the image lacks."""
    near = difflib.get_close_matches(module, machines.modules(kind), n=1, cutoff=0.85)
    if near:
        return f"did you mean {near[0]}?"
    root = request.project.root
    for folder in (root / "src", root, request.metadata.code_file.parent):
        if (folder / module / "__init__.py").is_file():
            return f'it stays here: add "{module}" to packages in [tool.kernelkit]'
        if (folder / f"{module}.py").is_file():
            return (
                f"{module}.py stays here: make it part of a package under src/ that is named in "
                "packages of [tool.kernelkit]"
            )
    online = request.metadata.values.get("enable_internet", True)
    install = f", or install it in the first cell with %pip install {module}" if online else ""
    return (
        'add "PACKAGE==VERSION" to wheels in [tool.kernelkit], which is attached and installed, or '
        f"put its source under src/ and name it in packages there{install}"
    )


def _kaggle_secrets(bundle: Bundle) -> Iterator[Finding]:
    """What reads the account's Secrets, which no pushed run is given."""
    places = [place for place, text in bundle.texts if READS_SECRETS.search(text)]
    if places:
        yield warning(
            f"{', '.join(places)} reads kaggle_secrets, and a push drops the Secrets that the "
            "kernel is bound to: the run will not find them. Have it go on without, attach a "
            "private dataset that holds what it needs, or bind them again on the kernel's page "
            "(Add-ons, Secrets) and run it from there"
        )


def leaking(request: PushRequest, secrets: Sequence[str] = ()) -> list[Finding]:
    """A finding for each line that holds a credential, or one of the client's own `secrets`."""
    path: Path = request.metadata.path
    own = [(path.name, path.read_text("utf-8", "replace"))] if path.is_file() else []
    leaks = secret_scan.find_secrets([*request.bundle.texts, *own], secrets)
    return [error(f"{leak}: take it out before it leaves this machine") for leak in leaks]

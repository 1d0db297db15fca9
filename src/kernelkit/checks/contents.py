"""The checks of a push's contents: parameters, code, size, modules and credentials."""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelkit import machines
from kernelkit.bundle import imports, secret_scan
from kernelkit.bundle.build import check_size
from kernelkit.checks.findings import Finding, error, warning
from kernelkit.errors import NotebookError, PreflightError
from kernelkit.kaggle_api.client import SOURCES
from kernelkit.machines import Kind
from kernelkit.notebooks import rules
from kernelkit.plans.plan import Plan
from kernelkit.run_folders import kit_folder
from kernelkit.workspace.context import DOCTOR, LEDGER
from kernelkit.workspace.ledger import Ledger

OUTPUT = "output"  # the parameter with the folder that a run writes to
OLD_MOUNT = re.compile(r"(?m)^\s*#.*|(?:/kaggle|\.\.)/input/([\w.-]+)")  # or a comment
READS_SECRETS = re.compile(r"(?m)^\s*(?:from|import)\s+kaggle_secrets\b")


def parameters(plan: Plan) -> Iterator[Finding]:
    """Violations of the project's own rules by the parameters of each run."""
    if not plan.project.check:
        return
    runs = plan.starts or (plan.parameters,)
    attached = {kind: plan.metadata.sources(kind) for kind in SOURCES}
    notebook = plan.project.beside or plan.metadata.code_file
    try:
        answers = rules.problems(plan.project, notebook, runs, attached)
    except NotebookError as raised:
        yield error(str(raised))
        return
    yield from (error(text) for text in dict.fromkeys(text for lines in answers for text in lines))


def needs(plan: Plan) -> Iterator[Finding]:
    """Check that the metadata enables the internet, files and data that the parameters need."""
    online = plan.metadata.values.get("enable_internet", True)
    wants, download = _wanted(plan, "internet"), _wanted(plan, "download")
    attached = any(plan.metadata.sources(kind) for kind in ("dataset", "model", "kernel"))
    if wants and not online:
        yield error(f"{wants} needs the internet, which is off: set enable_internet to true")
    if download and not online and not attached:
        yield error(
            f"{download} downloads data that is not attached, and the internet is off: set "
            "enable_internet to true, or attach a dataset or model with the data"
        )
    # Metadata that fits the notebook's defaults need not change for one push.
    usual = replace(plan, parameters=plan.defaults, starts=())
    needed = wants or download or _wanted(usual, "internet") or _wanted(usual, "download")
    modules = [] if plan.project.needs else _modules(plan)  # needs, if named, decide
    if online and not needed and not imports.reaching([*plan.bundle.code, *modules]):
        yield warning(
            "enable_internet is true, but no parameter needs it and no code downloads anything: "
            "set it to false"
        )
    if not online:
        yield from _downloads(plan)
    if online and (wants or (download and not attached)):
        yield warning("Kaggle ignores enable_internet for accounts without a verified phone")
    wants = _wanted(plan, "competition")
    if wants and not plan.metadata.sources("competition"):
        yield error(f"{wants} reads the competition's files: add it to competition_sources")
    if wants := _wanted(plan, "desk"):
        yield error(f"{wants} works only locally: what it needs is not part of a push")


def _modules(plan: Plan) -> list[tuple[str, str]]:
    return [(place, text) for place, text in plan.bundle.texts if place.endswith(".py")]


def _downloads(plan: Plan) -> Iterator[Finding]:
    """Lines that use the network, in a session without internet."""
    installed = machines.modules(plan.kind) if plan.kind else frozenset()
    for command in imports.commands(plan.bundle.code):
        there = command.packages and all(
            package.replace("-", "_") in installed for package in command.packages
        )
        if command.certain and command.downloads and not there:
            instead = "attach what it downloads as a dataset"
            if command.packages is not None:
                instead = 'add "PACKAGE==VERSION" to wheels in [tool.kernelkit]'
            yield warning(
                f"{command.place} runs `{command.text[:80]}` and the internet is off: {instead}, "
                "or set enable_internet to true"
            )


def _wanted(plan: Plan, need: str) -> str:
    """The first `name=value` of the project's needs that a parameter matches."""
    has = {f"{name}={value}" for name, value in plan.values}
    return next((pair for pair in plan.project.needs.get(need, ()) if pair in has), "")


def paths(plan: Plan) -> Iterator[Finding]:
    """Paths of files and folders that exist only on this machine."""
    values = {
        (name, value)
        for name, value in plan.values
        if isinstance(value, str) and "/" in value and name != OUTPUT
    }
    for name, value in sorted(values):
        if _is_here(value):
            yield error(
                f"{name}={value} is on this machine only: attach its contents "
                "(kernelkit dataset FOLDER) and name it as the notebook finds it "
                "there"
            )


def mounts(plan: Plan) -> Iterator[Finding]:
    """Inputs that the code looks for only at Kaggle's former mount points."""
    code = [*plan.bundle.code, *_modules(plan)]
    for kind in ("competition", "dataset", "model"):
        for source in plan.metadata.sources(kind):
            parts = source.split("/")[:2]
            place = next((p for p, text in code if parts[-1] in OLD_MOUNT.findall(text)), None)
            knows = re.compile(rf"\b{kind}s[/'\"]").search
            if place and not any(knows(text) for _, text in code):  # else it may try both
                today = "/".join(["/kaggle/input", f"{kind}s", *parts])
                yield warning(
                    f"{place} reads /kaggle/input/{parts[-1]}, an older mount that some machines "
                    f"no longer have: Kaggle mounts it at {today}"
                )


def _is_here(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # too long, of an unknown user, or not a path
        return False


def size(plan: Plan) -> Iterator[Finding]:
    """A bundle that exceeds Kaggle's size limit, or comes near it."""
    try:
        message = check_size(plan.bundle)
    except PreflightError as raised:
        yield error(str(raised))
        return
    if "over" in message:
        yield warning(f"the bundle has {message}")


def bundle(plan: Plan) -> Iterator[Finding]:
    """Code that is not Python, and neighbouring files and metadata that are not sent."""
    bundle = plan.bundle
    yield from unreadable(bundle.broken)
    for module, reason in bundle.stays.items():
        attached = any(map(plan.metadata.sources, SOURCES))
        yield (warning if attached and module in bundle.brought else error)(
            f"{module} stays here: {reason}"
        )
    if "kaggle" in bundle.traces:
        yield warning(
            "the notebook's metadata.kaggle (left by `kernels pull -m`) would have pinned the "
            "image and is not sent"
        )
    if bundle.unnamed:
        yield warning(
            f"{', '.join(bundle.unnamed)} stays here: no bundled module names the file or its "
            "folder"
        )


def unreadable(messages: Iterable[str]) -> Iterator[Finding]:
    """An error for each message about code that is not Python, or a warning if that is
    uncertain."""
    for text in filter(None, messages):
        yield warning(text) if text.endswith(imports.NEWER) else error(text)


def lacking(plan: Plan, brought: Collection[str] = ()) -> Iterator[Finding]:
    """Modules that the code needs, but neither the machine's image nor the wheels provide."""
    if not (kind := plan.kind):
        return
    places = plan.bundle.imports
    online = plan.metadata.values.get("enable_internet", True)
    there = {*plan.bundle.packages, *brought, *(name.partition(".")[0] for name in brought)}
    if plan.metadata.sources("competition"):  # its files may provide this module
        there.add("kaggle_evaluation")
    needs = [module for module in places if module not in there]
    for module in not_held(plan.project.runs, needs, kind):
        stays = _stays_here(module, plan)
        attached = online or any(map(plan.metadata.sources, SOURCES))
        if module in plan.bundle.brought and (attached or not stays):
            continue
        yield warning(
            f"the image of {kind.upper()} sessions does not have {module} ({places[module]}): "
            f"{stays or _instead(module, plan, kind)}"
        )


def _stays_here(module: str, plan: Plan) -> str:
    """What to do about a module of the project; empty for any other module."""
    root = plan.project.root
    for folder in (root / "src", root, plan.metadata.code_file.parent):
        if (folder / module / "__init__.py").is_file():
            return f'it stays here: add "{module}" to packages in [tool.kernelkit]'
        if (folder / f"{module}.py").is_file():
            return (
                f"{module}.py stays here: make it part of a package under src/ that is named in "
                "packages of [tool.kernelkit]"
            )
    return ""


def _instead(module: str, plan: Plan, kind: machines.Kind) -> str:
    """What to do about a module that neither the image nor the project has."""
    near = difflib.get_close_matches(module, machines.modules(kind), n=1, cutoff=0.85)
    if near:
        return f"did you mean {near[0]}?"
    online = plan.metadata.values.get("enable_internet", True)
    install = f", or install it in the first cell with %pip install {module}" if online else ""
    return (
        'add "PACKAGE==VERSION" to wheels in [tool.kernelkit], which is attached and installed, or '
        f"put its source under src/ and name it in packages there{install}"
    )


def modules(plan: Plan) -> Iterator[Finding]:
    """Missing modules; those from wheels are known only once the wheels are chosen."""
    if not plan.project.wheels:
        yield from lacking(plan)


def account_secrets(plan: Plan) -> Iterator[Finding]:
    """Code that reads the account's Secrets, which a pushed run does not get."""
    places = [place for place, text in plan.bundle.texts if READS_SECRETS.search(text)]
    if places:
        yield warning(
            f"{', '.join(places)} reads kaggle_secrets, but a push detaches the kernel's Secrets: "
            "the run will not find them. Let the code work without them, attach a private "
            "dataset with what it needs, or attach them again on the kernel's page (Add-ons, "
            "Secrets) and run it from there"
        )


def leaking(plan: Plan, secrets: Sequence[str] = ()) -> list[Finding]:
    """A finding for each line that contains a credential, or one of the client's own `secrets`."""
    path = plan.metadata.path
    own = [(path.name, path.read_text("utf-8", "replace"))] if path.is_file() else []
    leaks = secret_scan.find_secrets([*plan.bundle.texts, *own], secrets)
    return [Finding("error", f"{leak}: remove it before you push", "secrets") for leak in leaks]


def python_seen(runs: Path, kind: Kind | None) -> tuple[int, int] | None:
    """The Python version of the last session on this kind of machine that reported it."""
    for python, _ in _reported(runs, kind):
        if parts := re.match(r"(\d+)\.(\d+)", str(python or "")):
            return int(parts[1]), int(parts[2])
    return None


def not_held(runs: Path, names: Iterable[str], kind: Kind) -> list[str]:
    """The modules among `names` that sessions on this kind of machine cannot import, in order."""
    for _, modules in _reported(runs, kind):
        if isinstance(modules, list) and modules:
            return [n for n in names if n not in modules and n not in sys.stdlib_module_names]
    return machines.lacking(names, kind)


def _reported(runs: Path, kind: Kind | None) -> Iterator[tuple[Any, Any]]:
    """The Python version and modules of each session on such a machine, latest first."""
    for push in reversed(Ledger(runs / LEDGER).of("", rehearsal=False)):
        if push.accelerator == kind:
            folder = Path(push.folder or runs / f"{push.kernel.rpartition('/')[2]}-v{push.version}")
            manifest = read_object(kit_folder.path(folder, kit_folder.MANIFEST))
            yield manifest.get("python"), manifest.get("modules")
            yield (read_object(folder / "metrics.json").get("versions") or {}).get("python"), None
    facts = read_object(runs / DOCTOR).get("facts") or {}
    yield facts.get(f"{kind}.python"), str(facts.get(f"{kind}.modules") or "").split()


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object; empty if the file is missing or is not one."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}

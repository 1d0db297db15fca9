"""The checks of what a notebook and its project declare: parameters, rules and needs."""

from collections.abc import Iterator

from kernelkit.errors import NotebookError
from kernelkit.kaggle.metadata_words import SOURCES
from kernelkit.notebook.interface import rules
from kernelkit.notebook.interface.idle import idle_parameters
from kernelkit.push.checks.findings import MINOR, POSSIBLE, Finding, error, guess
from kernelkit.push.described.metadata import unversioned
from kernelkit.push.planned.plan import ACCELERATOR, Plan


def parameters(plan: Plan) -> Iterator[Finding]:
    """Values without effect, and violations of the project's own rules."""
    for each in idle_parameters(plan.source, is_script=plan.metadata.is_script):
        given = each.name in plan.bundle.parameters and each.name != ACCELERATOR
        if each.certain and given:
            yield error(each.text)
        else:
            yield guess(each.text, POSSIBLE if each.certain else MINOR)
    if not plan.project.check:
        return
    attached = {kind: plan.metadata.sources[kind] for kind in SOURCES}
    notebook = plan.project.beside or plan.metadata.code_file
    try:
        answers = rules.problems(plan.project, notebook, plan.runs, attached)
    except NotebookError as raised:
        answers = [[str(raised)]]
    yield from map(error, dict.fromkeys(text for lines in answers for text in lines))


def needs(plan: Plan) -> Iterator[Finding]:
    """Check that the metadata enables the internet, files and data that the parameters need."""
    metadata = plan.metadata
    has = {f"{name}={value}" for name, value in plan.values}
    needed = {}
    for need, settings in plan.project.needs.items():
        given = [setting for setting in settings if setting in has]
        if given:
            needed[need] = given[-1]
    internet = needed.get("internet")
    download = _downloaded(plan)
    if internet and not metadata.online:
        yield error(f"{internet} needs the internet, which is off: set enable_internet to true")
    elif download and not metadata.online:
        yield error(
            f"{download} downloads data that is not attached, and the internet is off: set "
            "enable_internet to true, or attach a dataset or model with the data"
        )
    if "competition" in needed and not metadata.sources["competition"]:
        yield error(
            f"{needed['competition']} reads the competition's files: add it to competition_sources"
        )
    if "desk" in needed:
        yield error(f"{needed['desk']} works only locally: what it needs is not part of a push")


def _downloaded(plan: Plan) -> str:
    """The setting of a run that downloads its data, as `name=value`; "" if none does.

    A source that is attached may have the data, unless it is one that the project names for other
    runs of the same push.
    """
    needing = plan.project.needs.get("download", ())
    if not needing or _has_more_sources(plan):
        return ""
    for run, wanted in zip(plan.runs, plan.wanted, strict=True):
        has = {f"{name}={value}" for name, value in run.items()}
        settings = [text for text in needing if text in has]
        if settings and not any(wanted.values()):
            return settings[-1]
    return ""


def _has_more_sources(plan: Plan) -> bool:
    """Whether data is attached besides what its runs want: a dataset, a model or a kernel."""
    for kind, source in plan.sources:
        if kind == "competition":
            continue
        wanted = {unversioned(kind, name) for run in plan.wanted for name in run.get(kind, ())}
        if unversioned(kind, source) not in wanted:
            return True
    return False

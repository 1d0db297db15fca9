"""The checks of what a notebook and its project declare: parameters, rules and needs."""

from collections.abc import Iterator

from kernelkit.errors import NotebookError
from kernelkit.kaggle.metadata_words import SOURCES
from kernelkit.notebook.interface.idle import idle_parameters
from kernelkit.notebook.project_rules import rules
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
    notebook = plan.project.swept_notebook or plan.metadata.code_file
    try:
        answers = rules.problems(plan.project, notebook, plan.runs, attached)
    except NotebookError as raised:
        answers = [[str(raised)]]
    yield from map(error, dict.fromkeys(text for lines in answers for text in lines))


def needs(plan: Plan) -> Iterator[Finding]:
    """Check that the metadata enables the internet, files and data that the parameters need."""
    needing = _needing(plan)
    if not plan.metadata.online:
        yield from _offline(plan, needing.get("internet", ""))
    if "competition" in needing and not plan.metadata.sources["competition"]:
        yield error(
            f"{needing['competition']} reads the competition's files: add it to competition_sources"
        )
    if "desk" in needing:
        yield error(f"{needing['desk']} works only locally: what it needs is not part of a push")


def _needing(plan: Plan) -> dict[str, str]:
    """{a need that the project names: the setting of the push that has it, as `name=value`}."""
    given = {f"{name}={value}" for name, value in plan.values}
    needing = {}
    for need, settings in plan.project.needs.items():
        for setting in settings:
            if setting in given:
                needing[need] = setting
    return needing


def _offline(plan: Plan, needing: str) -> Iterator[Finding]:
    """What a session without internet lacks; `needing`: the setting that needs it, or ""."""
    if needing:
        yield error(f"{needing} needs the internet, which is off: set enable_internet to true")
        return
    download = _downloading(plan)
    if download:
        yield error(
            f"{download} downloads data that is not attached, and the internet is off: set "
            "enable_internet to true, or attach a dataset or model with the data"
        )


def _downloading(plan: Plan) -> str:
    """The setting of a run that downloads its data, as `name=value`; "" if none does.

    A source that is attached may have the data, unless it is one that the project names for other
    runs of the same push.
    """
    downloading = plan.project.needs.get("download", ())
    if not downloading or _has_more_sources(plan):
        return ""
    for run, wanted in zip(plan.runs, plan.named_sources, strict=True):
        given = {f"{name}={value}" for name, value in run.items()}
        settings = [setting for setting in downloading if setting in given]
        if settings and not any(wanted.values()):
            return settings[-1]
    return ""


def _has_more_sources(plan: Plan) -> bool:
    """Whether a dataset, a model or a kernel is attached besides those that the runs want."""
    for kind, source in plan.sources:
        if kind == "competition":
            continue
        wanted = {
            unversioned(kind, name) for run in plan.named_sources for name in run.get(kind, ())
        }
        if unversioned(kind, source) not in wanted:
            return True
    return False

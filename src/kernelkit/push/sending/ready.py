"""What a push needs on Kaggle and Kaggle lacks, brought there: the last stage before it is sent.

A dry run stops before this stage. No session starts here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelkit.kaggle.exchange.targets import Dataset
from kernelkit.kaggle.metadata_words import SOURCES
from kernelkit.kaggle.uploading import versions
from kernelkit.notebook.interface.values import for_json
from kernelkit.push.asked.account import Account
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.tpu.tpu_run import TpuRun


@dataclass(frozen=True)
class Ready:
    """A push that only needs to be sent: its plan, its line in the ledger as it will begin, and the
    kernel's latest version before it."""

    plan: Plan
    push: Push
    newest: int


def make_ready(context: PushContext, account: Account) -> Ready:
    """Bring to Kaggle what the account's plan needs there, and make its line for the ledger.

    These are the datasets of its wheels and of its attached folders; bytes that are there already
    are not uploaded again. A rehearsal's Kaggle mounts these files as they are. The kernels of its
    chain were pushed by the same stages before. The ledger is not written: a command that is killed
    here has left a dataset's version, which the next one finds, or none, and then its upload begins
    again.

    Raises what an upload raises: `RefusedError`, `CredentialsError` or `NetworkError`.
    """
    plan = account.plan
    datasets = () if context.serves else plan.datasets
    for own in datasets:
        reference = f"{context.kaggle.username}/{own.slug}"
        with context.alone(f"uploading {reference}"):
            versions.ensure_version(context, Dataset(reference), own.contents, own.notes)
    return Ready(plan, _ledger_line(plan, account.inputs), account.newest)


def _ledger_line(plan: Plan, inputs: Mapping[str, int]) -> Push:
    """The line of a plan in the ledger before it is sent; `inputs` as in an `Account`."""
    bundle = plan.bundle
    push = Push(
        kernel=plan.kernel_name,
        content=plan.content,
        git=str(bundle.commit),
        accelerator=plan.kind,
        parameters=for_json(bundle.parameters),
        timeout_minutes=plan.request.timeout,
        competition=plan.metadata.competition,
        bundle=bundle.content,
        inputs=dict(inputs),
        sources=_sources(plan),
        runs=not plan.request.no_run,
        stays=list(plan.request.stays),
    )
    if plan.kind == "tpu":
        run = TpuRun.on_kaggle(plan.project, plan.parameters, plan.metadata.machine.shape)
        if run:
            return replace(push, estimate=run.estimate())
    return push


def _sources(plan: Plan) -> list[str]:
    """The kind and the name of each source that a plan asks Kaggle for."""
    sources = plan.metadata.sources
    return [f"{kind} {source}" for kind in SOURCES for source in sources[kind]]

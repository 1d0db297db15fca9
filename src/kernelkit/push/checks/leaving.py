"""The checks of what leaves this machine: its pair, its size and credentials in it."""

from collections.abc import Iterator, Sequence

from kernelkit.leaks import find_secrets
from kernelkit.notebook import pairs
from kernelkit.push.added.added_cells import is_kits_own
from kernelkit.push.bundle.build import MAX_BYTES
from kernelkit.push.checks.findings import Finding, error
from kernelkit.push.planned.plan import Plan

LARGEST = 3  # files and cells to name where the bundle is too large
SMALLEST = 50_000  # bytes of one that is named


def pair(plan: Plan) -> Iterator[Finding]:
    """A notebook that differs from its paired text."""
    if difference := pairs.difference(plan.metadata.code_file):
        yield error(difference)


def size(plan: Plan) -> Iterator[Finding]:
    """A bundle that is not below Kaggle's size limit."""
    if plan.bundle.size < MAX_BYTES:
        return
    advice = "move data out of the cells, and delete pictures that were pasted into them"
    if plan.bundle.files.places:
        advice = (
            "move data out of the packages or cells, or name files that a run does not need in "
            "leave_out of [tool.kernelkit]"
        )
    yield error(
        f"the bundle has {plan.bundle.size / 1000:.0f} kB, and Kaggle accepts "
        f"{MAX_BYTES / 1000:.0f} kB: {advice}{_largest(plan)}"
    )


def _largest(plan: Plan) -> str:
    """The largest bundled files and cells, as the end of a sentence."""
    sizes = []
    for name, text in plan.bundle.texts:
        size = len(text.encode())
        # An attachment is decoded here, and travels encoded; nobody can leave the kit out.
        is_left_out = name.endswith(" attachment") or is_kits_own(name)
        if size >= SMALLEST and not is_left_out:
            sizes.append((size, name))
    sizes.sort(reverse=True)
    largest = [f"{name} ({size / 1000:.0f} kB)" for size, name in sizes[:LARGEST]]
    return f". The largest: {', '.join(largest)}" if largest else ""


def secrets(plan: Plan, own: Sequence[str] = ()) -> list[Finding]:
    """A finding for each line that contains a credential, or one of the client's `own`."""
    path = plan.metadata.path
    metadata = [(path.name, path.read_text("utf-8", "replace"))] if path.is_file() else []
    leaks = find_secrets([*plan.bundle.texts, *metadata], own)
    findings = []
    for leak in leaks:
        advice = "remove it before you push"
        if any(leak.startswith(name) for name in plan.bundle.files.places):
            advice += (
                ", or name the file in leave_out of [tool.kernelkit] if a run does not need it"
            )
        findings.append(error(f"{leak}: {advice}"))
    return findings

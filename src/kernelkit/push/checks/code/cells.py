"""The checks of code as such: its syntax, its magics, and own modules that do not travel."""

from collections.abc import Iterable, Iterator

from kernelkit.notebook.code.reading import Program
from kernelkit.notebook.language import python
from kernelkit.push.checks.code.installs import Brought
from kernelkit.push.checks.code.locations import several
from kernelkit.push.checks.findings import MINOR, PROBABLE, Finding, error, guess
from kernelkit.push.planned.plan import Plan

LOADS = ("load_ext", "reload_ext")  # magics that may bring others


def bundle(plan: Plan) -> Iterator[Finding]:
    """Code that is not Python, own modules that are not sent, and magics that nothing has."""
    newer = []
    for program in plan.bundle.programs:
        for finding in _problems(program):
            if finding.level == "error":
                yield finding
            else:
                newer.append(finding)
    yield from newer[:1]  # a newer Python here would read them all
    own = Brought(plan)
    brings = own.may_be_any or own.copies or own.computed
    brought = brings and any(plan.metadata.sources.values())
    for module, reason in plan.bundle.stays.items():
        # An import that may fail (below a `try`) is not needed.
        needed = module in plan.bundle.imports or "." in module
        text = f"{module} is not pushed: {reason}"
        yield error(text) if needed and not brought else guess(text)
    for note in plan.bundle.notes:
        yield guess(note, MINOR)
    yield from _unknown_magics(plan)
    for text in () if plan.metadata.is_script else plan.bundle.program.exits:
        yield guess(text, PROBABLE)


def not_python(sources: Iterable[tuple[str, str]], *, cells: bool = False) -> Iterator[Finding]:
    """A finding for each of these (name, source) pairs that is not Python, with its line.

    A notebook's `cells` may also call magics and run shell lines. It is a guess where a session's
    newer Python may know the syntax.
    """
    yield from _problems(Program.of(sources, cells=cells))


def _problems(program: Program) -> Iterator[Finding]:
    for place, reading in program.sources:
        problem = reading.problem
        if problem:
            text = problem.at(place)
            yield error(text) if problem.certain else guess(text, MINOR)


def _unknown_magics(plan: Plan) -> Iterator[Finding]:
    """Magics that IPython does not have, unless something may define them."""
    places: dict[str, list[str]] = {}
    for place, reading in plan.bundle.readings:
        if any("magic" in each.name.lower() for each in reading.imports):
            return
        for magic in reading.magics:
            if magic.name in LOADS:
                return
            if magic.name not in python.BUILT_IN:
                called = f"%%{magic.name}" if magic.of_cell else f"%{magic.name}"
                places.setdefault(called, []).append(place)
    for name, where in places.items():
        remedy = "leave it out, or load the extension that has it (%load_ext)"
        if name == "%":
            remedy = "leave out the space after the %"
        yield guess(
            f"{several(where)} calls {name}, which IPython does not have and where the run stops: "
            f"{remedy}",
            PROBABLE,
        )

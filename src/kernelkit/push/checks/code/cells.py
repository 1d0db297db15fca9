"""The checks of code as such: its syntax, its magics, and own modules that do not travel."""

from collections.abc import Iterable, Iterator

from kernelkit.notebook.code.reading import Program
from kernelkit.notebook.language import python
from kernelkit.push.checks.findings import MINOR, PROBABLE, Finding, error, guess
from kernelkit.push.checks.locations import several
from kernelkit.push.checks.modules.installs import BroughtByCode
from kernelkit.push.planned.plan import Plan

LOADS = ("load_ext", "reload_ext")  # magics by which an extension brings others


def bundle(plan: Plan) -> Iterator[Finding]:
    """Code that is not Python, own modules that are not sent, magics that nothing has, `exit()`."""
    yield from _not_python(plan.bundle.programs)
    yield from _not_sent(plan)
    for note in plan.bundle.files.notes:
        yield guess(note, MINOR)
    yield from _unknown_magics(plan)
    if not plan.metadata.is_script:
        for place, name in plan.bundle.program.exits:
            yield guess(
                f"{place} calls {name}(), after which cells still run until the process stops in "
                "one of them, which fails the run: use sys.exit()",
                PROBABLE,
            )


def syntax_problems(cells: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """A finding for each of these (name, source) cells that is not Python, with its line.

    It is a guess where a session's newer Python may know the syntax.
    """
    yield from _problems(Program.of(cells, cells=True))


def _not_python(programs: Iterable[Program]) -> Iterator[Finding]:
    """What is certainly no Python, and the first of what a newer Python here would read."""
    newer = []
    for program in programs:
        for finding in _problems(program):
            if finding.level == "error":
                yield finding
            else:
                newer.append(finding)
    yield from newer[:1]


def _problems(program: Program) -> Iterator[Finding]:
    for place, reading in program.sources:
        problem = reading.problem
        if problem:
            text = problem.at(place)
            yield error(text) if problem.certain else guess(text, MINOR)


def _not_sent(plan: Plan) -> Iterator[Finding]:
    """Own modules and files that code needs and a push does not send.

    It is a guess where an attached source may bring them.
    """
    if not plan.bundle.files.stays:
        return
    by_code = BroughtByCode(plan)
    brings = by_code.may_be_any or by_code.copies or by_code.computed
    may_be_brought = brings and any(plan.metadata.sources.values())
    for name, reason in plan.bundle.files.stays.items():
        # A module has the first part of its name here, and a file that code starts its suffix. An
        # import that may fail (below a `try`) is not needed.
        is_needed = "." in name or name in plan.bundle.imports
        text = f"{name} is not pushed: {reason}"
        yield error(text) if is_needed and not may_be_brought else guess(text)


def _unknown_magics(plan: Plan) -> Iterator[Finding]:
    """Magics that IPython does not have.

    Nothing is said of code that loads an extension, or imports what defines magics: either may
    bring any.
    """
    places: dict[str, list[str]] = {}
    for place, reading in plan.bundle.readings:
        if any("magic" in each.name.lower() for each in reading.imports):
            return
        for magic in reading.magics:
            name = magic.lstrip("%")
            if name in LOADS:
                return
            if name not in python.BUILT_IN:
                places.setdefault(magic, []).append(place)
    for magic, where in places.items():
        remedy = "leave it out, or load the extension that has it (%load_ext)"
        if magic == "%":  # of `% ls`, the name is empty
            remedy = "leave out the space after the %"
        yield guess(
            f"{several(where)} calls {magic}, which IPython does not have and where the run stops: "
            f"{remedy}",
            PROBABLE,
        )

"""Parameters that change nothing, by what the code after their cell reads."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from kernelkit.errors import ParameterError
from kernelkit.notebook import document
from kernelkit.notebook.code.reading import read
from kernelkit.notebook.code.records import ANYTHING, Statement
from kernelkit.notebook.interface import parameters


@dataclass(frozen=True)
class Idle:
    """A parameter whose value changes nothing, and why, in words.

    That is `certain` where a later cell sets the name again before anything reads it; where nothing
    seems to read it, a library may do so.
    """

    name: str
    why: str
    certain: bool

    @property
    def text(self) -> str:
        """A sentence for whoever sets it."""
        return f"-p {self.name}=VALUE changes nothing: {self.why}"


def idle_parameters(notebook: document.Node, *, is_script: bool = False) -> list[Idle]:
    """The parameters of a notebook, or of a script's blocks, that have no effect.

    Values are set after the first cell tagged `parameters`, as papermill does, so what that cell
    computes of a name counts as no use of it.
    """
    cells = document.parameters_cells(notebook)
    if not cells:
        return []
    first = next(iter(cells))
    later: list[tuple[str, Statement]] = []  # each with its place
    read_later = set[str]()
    for number, cell in document.code_cells(notebook["cells"]).items():
        if number < first:
            continue
        reading = read(document.cell_source(cell), cell=not is_script)
        if reading.problem:
            return []
        if number == first:
            for statement in reading.statements:
                read_later |= statement.reads_later
            continue
        for statement in reading.statements:
            place = f"line {statement.line} of cell {number}"
            if is_script:
                place = f"line {cell['line'] + statement.line - 1}"
            later.append((place, statement))
    found: list[Idle] = []
    for name in parameters.of_notebook(notebook):
        if read_later.isdisjoint((name, ANYTHING)):
            found += _idle(name, later)
    return found


def _idle(name: str, later: Iterable[tuple[str, Statement]]) -> Iterator[Idle]:
    for place, statement in later:
        if not statement.reads.isdisjoint((name, ANYTHING)):
            return
        if name in statement.sets:
            why = f"{place} sets {name} again before anything reads it. Delete it there"
            yield Idle(name, why, True)
            return
    yield Idle(name, f"nothing in the notebook reads {name}", False)


def refuse_idle(found: Iterable[Idle], names: Collection[str]) -> None:
    """Raise `ParameterError` if one of these names certainly has no effect."""
    wrong = [each.text for each in found if each.certain and each.name in names]
    if wrong:
        raise ParameterError("; ".join(wrong))

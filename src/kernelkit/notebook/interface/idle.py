"""Parameters that change nothing, by what the code after their cell reads."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kernelkit.errors import ParameterError
from kernelkit.notebook import document
from kernelkit.notebook.code.reading import read
from kernelkit.notebook.code.records import ANYTHING, Statement
from kernelkit.notebook.interface import parameters


@dataclass(frozen=True)
class Idle:
    """A parameter whose value changes nothing, and why, in words.

    It is `certain` if a later cell sets the name again before anything reads it; if nothing seems
    to read it, a library may do so.
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
    computes of a name counts as no use of it. What functions of that cell or of one before it read
    does, since they may run later.
    """
    cells = document.parameters_cells(notebook)
    if not cells:
        return []
    first = cells[0].number
    read_in_functions = set[str]()  # of the parameters cell and those before it
    following: list[tuple[str, Statement]] = []  # the statements after it, each with its place
    for cell in document.code_cells(notebook["cells"]):
        reading = read(cell.source, cell=not is_script)
        if reading.problem:
            return []
        for statement in reading.statements:
            if cell.number <= first:
                read_in_functions |= statement.reads_in_functions
                continue
            place = f"line {statement.line} of cell {cell.number}"
            if is_script:
                place = f"line {cell.node['line'] + statement.line - 1}"
            following.append((place, statement))
    found = []
    for name in parameters.of_notebook(notebook):
        if read_in_functions.isdisjoint((name, ANYTHING)):
            idle = _idle(name, following)
            if idle:
                found.append(idle)
    return found


def _idle(name: str, following: Iterable[tuple[str, Statement]]) -> Idle | None:
    """The parameter of this name, if it changes nothing in these statements."""
    for place, statement in following:
        if not statement.reads.isdisjoint((name, ANYTHING)):
            return None
        if name in statement.sets:
            why = f"{place} sets {name} again before anything reads it. Delete it there"
            return Idle(name, why, certain=True)
    return Idle(name, f"nothing in the notebook reads {name}", certain=False)


def refuse_idle(found: Iterable[Idle], names: Collection[str]) -> None:
    """Raise `ParameterError` if one of these names certainly has no effect."""
    wrong = [each.text for each in found if each.certain and each.name in names]
    if wrong:
        raise ParameterError("; ".join(wrong))

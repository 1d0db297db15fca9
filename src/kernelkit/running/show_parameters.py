"""The parameters of a notebook, for whoever wants to set them."""

from pathlib import Path

from kernelkit import project
from kernelkit.notebook import document
from kernelkit.notebook.interface import parameters
from kernelkit.terminal.events import Event, Events

PARAMETERS = Event("parameters", quiet=True)


def show_parameters(notebook: Path, events: Events) -> None:
    """Tell the parameters of a notebook: defaults, and the comments, which say what each takes.

    Raises `NotebookError`.
    """
    content = document.read(notebook)
    declared = parameters.of_notebook(content, project.find_project(notebook))
    rows = []
    lines = []
    for parameter in declared.values():
        about = parameter.comment
        if parameter.rule and parameter.rule not in about:
            about = f"{parameter.rule}: {about}" if about else parameter.rule
        rows.append({"name": parameter.name, "default": parameter.default, "comment": about})
        line = f"{parameter.name} = {parameter.default!r}"
        lines.append(f"{line:<32}  {about}".rstrip())
    none = "it has none: tag a cell of plain assignments with `parameters`"
    events(PARAMETERS, "\n".join(lines) or none, parameters=rows)
    events.end()

"""Write the `kernel-metadata.json` of a notebook that has none, from what the notebook says."""

import json
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from slugify import slugify  # as Kaggle's client derives a slug from a title

from kernelkit import files, project
from kernelkit.errors import CredentialsError, NetworkError, ParameterError, PreflightError
from kernelkit.files import from_here
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.metadata_words import PLACEHOLDERS
from kernelkit.push.assumed.assumed import Assumed, notebook_in, titled
from kernelkit.push.checked.online import with_internet
from kernelkit.push.described import metadata, own_kernels
from kernelkit.push.described.metadata import Metadata
from kernelkit.push.known.ledger import Ledger, LedgerError, State
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import ON_KAGGLE, PushRequest


def holds_a_notebook(folder: Path) -> bool:
    """Whether a path names a notebook, there or not, or a folder with one or several."""
    if not folder.is_dir():
        return folder.suffix in (".ipynb", ".py")
    return any(folder.glob("*.ipynb")) or any(folder.glob("*.py"))


def describe(start: Path, ask: Callable[[str], str]) -> Assumed:
    """Write the metadata of a notebook, or of the only one in a folder; nothing else changes.

    Of an input that the code names as /kaggle/input/SLUG only, Kaggle is asked whether it is a
    competition; where that is not possible, `ask` gets the slug and returns "" for a competition,
    or the dataset's "owner/slug".

    Raises `ParameterError` if there is metadata already, `PreflightError` for a folder with several
    notebooks or none, and `NotebookError` for one that cannot be read.
    """
    notebook = notebook_in(start.resolve())
    request = PushRequest.of(notebook, assume=True)
    assumed = request.assumed
    if assumed is None:
        raise ParameterError(f"{request.metadata.path} describes {notebook.name} already: edit it")
    online = with_internet(plan_push(request)).metadata.online
    kernel = assumed.metadata.with_values(enable_internet=online)
    if assumed.unknown:
        kernel = _settled(kernel, assumed.unknown, ask)
    kernel = _with_own_id(kernel, notebook)
    written = {key: said for key, said in asdict(kernel.settings).items() if said is not None}
    files.write_text(kernel.path, json.dumps(written, indent=2, ensure_ascii=False) + "\n")
    return replace(assumed, metadata=kernel)


def next_command(start: Path, kernel: Metadata) -> str:
    """What to type after the metadata of the notebook `start`, or of that in a folder, is written.

    What was rehearsed before is to be pushed: the same rehearsal would be refused as identical.
    """
    name = f" {shlex.quote(from_here(start))}" if start.is_file() else ""
    ledger = Ledger(project.find_project(kernel.path.parent).runs, rehearsal=True)
    with suppress(LedgerError):
        rehearsed = [push for push in ledger.of() if push.name.slug == kernel.slug]
        if rehearsed and rehearsed[-1].state == State.COMPLETE:
            return f"kernelkit push{name}  {ON_KAGGLE}"
    return f"kernelkit check{name} && kernelkit rehearse{name}"


def _with_own_id(kernel: Metadata, notebook: Path) -> Metadata:
    """The settings, with an id that no other kernel of the repository has: two with one id would
    be versions of one kernel on Kaggle.

    Its title is the one that it has, or else the notebook's file name, or that and its folder's.
    """
    taken = {other.slug.lower() for other in own_kernels.in_repository(kernel.path)}
    name = notebook.stem.replace("-", " ")
    folder = notebook.parent.name.replace("-", " ")
    for text in (kernel.settings.title, name, f"{folder} {name}"):
        title = titled(text)
        slug = slugify(title)
        if len(slug) >= metadata.SHORTEST_TITLE and slug not in taken:
            return kernel.with_values(title=title, id=f"{PLACEHOLDERS[0]}/{slug}")
    return kernel


def _settled(kernel: Metadata, unknown: tuple[str, ...], ask: Callable[[str], str]) -> Metadata:
    """The settings with each of these inputs among the competitions or the datasets."""
    answer = ask
    with suppress(CredentialsError, NetworkError):
        answer = partial(_kind_on_kaggle, Kaggle.sign_in())
    for slug in unknown:
        dataset = answer(slug)
        if dataset:
            competitions = [each for each in kernel.sources["competition"] if each != slug]
            datasets = [*kernel.sources["dataset"], dataset]
            kernel = kernel.with_values(competition_sources=competitions, dataset_sources=datasets)
    return kernel


def _kind_on_kaggle(kaggle: Kaggle, slug: str) -> str:
    """ "" if Kaggle has such a competition, or else the hottest dataset of that slug."""
    if kaggle.if_there(partial(kaggle.competitions.get_competition, slug)):
        return ""
    found = kaggle.repeated(partial(kaggle.datasets.list_datasets, slug)).datasets or []
    references = [dataset.ref for dataset in found if dataset.ref.rpartition("/")[2] == slug]
    if not references:
        raise PreflightError(
            f"Kaggle has neither a competition nor a dataset {slug}, which the notebook reads: "
            f"write where it comes from into {metadata.FILE_NAME} yourself"
        )
    return str(references[0])

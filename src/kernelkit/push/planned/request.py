"""The request of a push: what a command or a caller wants, as one value that never changes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.files import from_here
from kernelkit.notebook.interface.values import Overrides
from kernelkit.project import Project, find_project
from kernelkit.push.assumed.assumed import Assumed, notebook_in
from kernelkit.push.assumed.assumed import assume as assume_settings
from kernelkit.push.described import metadata as kernel_metadata
from kernelkit.push.described.metadata import Metadata
from kernelkit.push.described.own_kernels import needed_kernels

ON_KAGGLE = "# on Kaggle, with ~/.kaggle/access_token"  # after a command that is suggested
WITHOUT_PARAMETERS = ", and without these parameters"  # after the same, where some were given


@dataclass(frozen=True)
class PushRequest:
    """One push as it is requested; `of` makes it, and no stage changes it.

    metadata       the kernel's settings, as its kernel-metadata.json has them, or as assumed
    project        the packages and settings
    notebook       the notebook, if it is not the metadata's code_file
    parameters     `name=value` strings, or a mapping of typed values
    accelerator    tpu, gpu, cpu or a machine shape, instead of the metadata's
    timeout        minutes that the session may take
    model          models to attach besides the metadata's,
                   "owner/model/framework/variation/version"
    output         the folder for the outputs; default runs/SLUG-vN
    continues      attach the outputs of the kernel's last version, so that the notebook can resume
    force          push even if nothing changed or a run is active
    once           return the results of an identical push that are here already, in place of an
                   error; its result is submitted once. (If they are not all here, that push is
                   taken up with or without `once`.)
    ignore         the names of checks whose errors become warnings: see `preflight.CHECKS`
    submit         a message: submit the result to the competition and wait for its score
    dry_run        run the checks and show what would be sent, without sending it
    wait           False: return once the run is pushed
    no_run         save a version on Kaggle without a session, and return
    when_free      as `push_when_free` sets it: only if the week has hours for the whole run,
                   and never again what failed or was stopped
    chain          first push the kernels of this repository that it reads, with their default
                   parameters, and wait for each; skip those that are up to date. Each of them is
                   such a push itself, whose own needs came before it
    starts         the parameters of each run that the notebook starts, for the checks
    packages       "kaggle": in a rehearsal, the session can import the packages of Kaggle's image
                   that this machine lacks; they are installed once, in the local Kaggle's folder
    memory         GB of memory of a rehearsal's session, in place of Kaggle's
    download       in a rehearsal, download what is attached and not here, up to so many GB in all
    stays          glob patterns of outputs to leave on Kaggle, until `resume --only` requests them
    internet       False: without the internet, whatever the metadata says
    metadata_named whether the caller named the metadata, which may then be of another notebook
    assumed        what its `metadata` is, of a notebook that has none; its path is then where they
                   would be written

    Raises `ParameterError` for wishes that contradict each other.
    """

    metadata: Metadata
    project: Project
    notebook: Path | None = None
    parameters: Overrides = ()
    accelerator: str | None = None
    timeout: float | None = None
    model: Sequence[str] = ()
    output: Path | None = None
    continues: bool = False
    force: bool = False
    once: bool = False
    ignore: Sequence[str] = ()
    submit: str | None = None
    dry_run: bool = False
    wait: bool = True
    no_run: bool = False
    when_free: bool = False
    chain: bool = False
    starts: Sequence[Mapping[str, Any]] = ()
    packages: str | None = None
    memory: float | None = None
    download: float | None = None
    stays: Sequence[str] = ()
    internet: bool = True
    metadata_named: bool = False
    assumed: Assumed | None = None

    def __post_init__(self) -> None:
        later = self.output is not None or self.submit is not None
        if later and not self.wait:
            raise ParameterError(
                "--no-wait returns before there is a result: give --submit and --output to "
                "kernelkit resume instead"
            )
        if self.download is not None and self.dry_run:
            raise ParameterError("--download fetches what a session reads: drop --dry-run")
        if self.no_run and (later or self.when_free or self.chain or self.continues):
            raise ParameterError(
                "--no-run saves a version without a session: drop --submit, --output, --when-free, "
                "--chain and --continue, which are about its run"
            )

    @classmethod
    def of(
        cls,
        notebook: Path | None = None,
        parameters: Overrides = (),
        *,
        metadata: Path | None = None,
        project: Project | None = None,
        assume: bool = False,
        **wishes: Any,
    ) -> PushRequest:
        """The request for a notebook, with its metadata and project, looked for here alone.

        notebook    the notebook, or the folder of a kernel-metadata.json; by default the current
                    folder's
        metadata    the kernel-metadata.json, instead of the notebook's own or the nearest; it is
                    read here, once
        project     the packages and settings, instead of those in the pyproject.toml
        assume      do without metadata if there is none, with what the notebook says
        wishes      the other fields

        Raises `PreflightError` if there is no metadata, if it cannot be read, or if there is no
        single notebook to assume it of, and `ParameterError`.
        """
        if notebook is None and not isinstance(parameters, Mapping):
            folders = [text for text in parameters if "=" not in text and Path(text).is_dir()]
            if folders:  # as the official client's -p
                raise ParameterError(
                    f"-p sets a parameter: to push the notebook of a folder, leave out -p before "
                    f"{folders[0]}"
                )
        start = notebook or Path.cwd()
        settings = _written(metadata, start, assume=assume)
        assumed = None
        if settings is None:
            assumed = assume_settings(notebook_in(start))
            settings = assumed.metadata
        return cls(
            settings,
            project or find_project(settings.path),
            notebook,
            parameters,
            metadata_named=metadata is not None,
            assumed=assumed,
            **wishes,
        )

    @property
    def how_to_describe(self) -> str:
        """The command that writes the settings which are assumed."""
        named = self.notebook
        if named is None or named.is_dir():
            named = self.metadata.path.parent
        return f"kernelkit init {shlex.quote(from_here(named))}"

    def delivery(self, on_kaggle: str | None = None) -> Delivery:
        """What it wants of the results; `on_kaggle`: the command to suggest, or else its own."""
        return Delivery(
            output=self.output,
            submit=self.submit,
            submit_once=self.once,
            on_kaggle=self.on_kaggle if on_kaggle is None else on_kaggle,
            packages=self.packages,
        )

    @property
    def on_kaggle(self) -> str:
        """The command that makes this push on Kaggle, and what it needs and does otherwise.

        It has none of the parameters: most rehearsals are smaller than what they rehearse.
        """
        words = ["kernelkit", "push"]
        if self.assumed:
            return f"{self.how_to_describe} && kernelkit push  {self._comment}"
        if self.notebook:
            words.append(from_here(self.notebook))
        if self.metadata_named:
            words += ["--metadata", from_here(self.metadata.path)]
        if self.chain:
            words.append("--chain")
        return f"{shlex.join(words)}  {self._comment}"

    @property
    def _comment(self) -> str:
        return f"{ON_KAGGLE}{WITHOUT_PARAMETERS if self.parameters else ''}"

    def needed(self) -> list[PushRequest]:
        """The requests for the repository's kernels that a chained push needs, in their order.

        Raises `PreflightError` for kernels that need each other.
        """
        return [
            PushRequest(
                needed,
                find_project(needed.path),
                metadata_named=True,
                chain=True,
                dry_run=self.dry_run,
                force=self.force,
                ignore=self.ignore,
                packages=self.packages,
                memory=self.memory,
                download=self.download,
            )
            for needed in needed_kernels(self.metadata)
        ]


@dataclass(frozen=True)
class Delivery:
    """What is wanted of a push's results: it goes beside the stages, to the last of them.

    wait        False: raise `StillRunningError` if the session has not ended
    output      the folder for the files; default runs/SLUG-vN
    only        glob patterns of the files to download; without any, all are downloaded, and the
                run is checked and reported on
    submit      the message of a submission
    submit_once a push that was submitted before, with whatever message, is not submitted again
    unverified  accept, and submit, files that are not proved to be this push's
    on_kaggle   the command that makes a rehearsed push on Kaggle, to suggest as the next one; empty
                to suggest none, since another push follows
    packages    as in a `PushRequest`
    """

    output: Path | None = None
    only: Sequence[str] = ()
    submit: str | None = None
    submit_once: bool = False
    unverified: bool = False
    on_kaggle: str = f"kernelkit push  {ON_KAGGLE}"
    packages: str | None = None
    wait: bool = True


def _written(file: Path | None, start: Path, *, assume: bool) -> Metadata | None:
    """The settings in a file, or else those of a notebook or folder; None if they are assumed."""
    if file is None and assume:
        return kernel_metadata.described_by(start)
    return kernel_metadata.load(file or kernel_metadata.locate(start))

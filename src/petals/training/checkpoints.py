"""Checkpoints: the files from which an interrupted run resumes.

    <run>/checkpoints/<digest of the settings>/1-000000420.npz      phase, step

A file holds the variables by position and the other facts as JSON. The two newest files are kept,
so a new checkpoint never overwrites the only one. Runs with different settings have separate
folders, so a trial with other settings in the same run folder destroys no checkpoint.
"""

import dataclasses
import hashlib
import io
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from tensorflow import keras

from petals import storage
from petals.accelerators import cluster, keras_backend
from petals.errors import CheckpointError, StorageError
from petals.kaggle import attached, mounts

FOLDER = "checkpoints"
SETTINGS = "settings.json"
VERSION = 4  # of the files; raise it when their content changes
KEPT = 2
PHASES = ("head", "fine-tune")
# A run may resume with different values of these settings.
FREE = ("output", "resume", "time_limit", "accelerator")


@dataclass(frozen=True)
class Checkpoint:
    """The state at a step of a phase; without arguments, that of a run that starts over.

    `arrays`: the variables, in order; `history`: the completed epochs of all phases; `best_f1`: of
    the phase, in `best_epoch`, 0 for the model that it began with; `partial`: means over the steps
    of the epoch so far; `resumed`: how many times the run was interrupted and resumed; `seconds`:
    that its processes took.
    """

    phase: str = ""
    step: int = 0
    arrays: Sequence[np.ndarray] = ()
    history: list[dict[str, Any]] = field(default_factory=list)
    best_f1: float = -1.0
    best_epoch: int = 0
    partial: Mapping[str, float] = field(default_factory=dict)
    resumed: int = 0
    seconds: float = 0.0


class Checkpoints:
    """The checkpoints of one run, which resumes from `newest`."""

    def __init__(self, run: str | Path, settings: Mapping[str, Any], resume: str = "auto") -> None:
        """`settings`: JSON values; a run resumes only from a checkpoint with the same settings.

        `resume`: "auto" searches the run's folder and attached outputs; "never" does not search; a
        path must have a checkpoint with the same settings, or `CheckpointError` is raised.
        """
        self.settings = {name: value for name, value in settings.items() if name not in FREE}
        text = json.dumps(self.settings, sort_keys=True)
        self.digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
        self.folder = Path(run) / FOLDER / self.digest
        self._begun = time.monotonic()
        self.newest = Checkpoint()
        for part in self.folder.glob(".*.part.npz"):  # left by a process that was killed
            part.unlink(missing_ok=True)
        problem = b""
        if resume != "never" and cluster.here().first:
            try:
                self.newest = self._find(resume)
            except CheckpointError as error:
                problem = str(error).encode()
        if problem := cluster.broadcast(problem):  # or the other hosts would wait for host 0
            raise CheckpointError(problem.decode())
        if cluster.here().count > 1:  # the hosts need not share a disk
            file = io.BytesIO()
            _write(file, self.newest)
            self.newest = _parse(io.BytesIO(cluster.broadcast(file.getvalue())))

    def save(self, phase: str, step: int, arrays: Sequence[Any], **facts: Any) -> None:
        """Write a checkpoint. If that fails, training continues and a line says why.

        `facts`: further fields of `Checkpoint`.
        """
        if not cluster.here().first:
            return
        path = self.folder / f"{PHASES.index(phase)}-{step:09}.npz"
        seconds = self.newest.seconds + time.monotonic() - self._begun
        facts |= {"resumed": self.newest.resumed, "seconds": seconds}
        try:
            if not (self.folder / SETTINGS).is_file():
                storage.write_json(self.folder / SETTINGS, self.settings)
            with storage.replacing(path) as part:
                _write(part, Checkpoint(phase, step, arrays, **facts))
        except StorageError as error:
            print(f"  the checkpoint of step {step} was not saved; the earlier ones stay: {error}")
            return
        for old in sorted(self.folder.glob("[0-9]*.npz"))[:-KEPT]:
            old.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove this run's checkpoints after its end, so that the next run starts over."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.parent.is_dir() and not any(self.folder.parent.iterdir()):
            self.folder.parent.rmdir()

    def _find(self, resume: str) -> Checkpoint:
        """The newest checkpoint of the same settings that can be read."""
        automatic = resume == "auto"
        own = [self.folder.parent, *attached(FOLDER)]
        files: list[Path] = []
        for place in own if automatic else [Path(resume).expanduser()]:
            files += [place] if place.is_file() else place.rglob("[0-9]*.npz")
        problems = []
        for path in sorted(files, key=lambda path: path.name, reverse=True):
            if path.parent.name != self.digest:
                continue
            try:
                checkpoint = _read(path)
            except CheckpointError as error:
                problems.append(str(error))
            else:
                newest = f"resuming from {path}: {checkpoint.phase}, step {checkpoint.step}"
                print(*problems, newest, sep="\n")
                return checkpoint
        for folder in sorted({path.parent for path in files}):
            if folder.name != self.digest and (folder / SETTINGS).is_file():
                why = self._difference(folder)
                problems.append(f"{folder} belongs to a run with other settings ({why})")
        if not problems and (not automatic or (mounts() / "notebooks").is_dir()):
            searched = "the attached outputs" if automatic else resume
            problems.append(f"no checkpoint in {searched}")
        if not automatic:
            remedy = "give a checkpoint of the same settings, or resume='never'"
            raise CheckpointError(f"resume: {'; '.join(problems)}: {remedy}")
        for problem in problems:
            print(f"{problem}: training starts again")
        return Checkpoint()

    def _difference(self, folder: Path) -> str:
        try:
            theirs = json.loads((folder / SETTINGS).read_text("utf-8"))
            names = {**theirs, **self.settings}
        except (OSError, ValueError, TypeError):
            return "unreadable"
        return "; ".join(
            f"{name}: {theirs.get(name)!r} there, {self.settings.get(name)!r} here"
            for name in names
            if theirs.get(name) != self.settings.get(name)
        )


def _write(file: Path | IO[bytes], checkpoint: Checkpoint) -> None:
    entries = {f"{number:05}": np.asarray(a) for number, a in enumerate(checkpoint.arrays)}
    facts = {"version": VERSION, **vars(checkpoint), "arrays": ()}
    entries["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(file, **entries)  # type: ignore[arg-type]  # numpy's stub


def _read(path: Path) -> Checkpoint:
    """Read a checkpoint; raises `CheckpointError` if it is damaged or of another format."""
    try:
        with path.open("rb") as file:
            checkpoint = _parse(file)
    except CheckpointError as error:
        raise CheckpointError(f"{path} {error}") from None
    except Exception as error:  # numpy, zipfile and zlib raise a dozen kinds
        raise CheckpointError(f"{path} is damaged ({type(error).__name__})") from None
    return dataclasses.replace(checkpoint, resumed=checkpoint.resumed + 1)


def _parse(file: IO[bytes]) -> Checkpoint:
    with np.load(file) as entries:
        facts = json.loads(entries["facts"].tobytes())
        if (version := facts.pop("version")) != VERSION:
            raise CheckpointError(
                f"was written by another version of petals (format {version}, this one reads "
                f"{VERSION})"
            )
        arrays = [entries[name] for name in sorted(entries.files) if name != "facts"]
    return Checkpoint(**{**facts, "arrays": arrays})


def capture(model: keras.Model) -> list[np.ndarray]:
    """The state of a compiled model between two steps, also during `fit`.

    Its arrays are the weights, the seeds of random layers, and the optimizer's variables.
    """
    if hasattr(model, "jax_state_sync"):
        model.jax_state_sync()  # on JAX, `fit` keeps the state outside the model
    return [variable.numpy() for variable in _variables(model)]


def restore(model: keras.Model, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Assign captured state to a model compiled the same way; return the remaining arrays.

    Raises `CheckpointError`, before any variable is changed, when the shapes do not match.
    """
    variables = _variables(model)
    shapes = [tuple(variable.shape) for variable in variables]
    if [array.shape for array in arrays[: len(shapes)]] != shapes:
        raise CheckpointError(
            "the checkpoint is of another model: its variables have other shapes. Remove the "
            "checkpoint, or set resume='never'"
        )
    for variable, array in zip(variables, arrays, strict=False):
        variable.assign(array)
    return list(arrays[len(shapes) :])


def _variables(model: keras.Model) -> list:
    keras_backend.build_optimizer(model)
    others = {id(v) for v in model.weights}
    others |= {id(v) for metric in model.metrics for v in metric.variables}
    # The other variables of a Keras 3 model are the seeds of its dropout layers.
    seeds = [v for v in model.variables if id(v) not in others]
    return [*model.weights, *seeds, *model.optimizer.variables]

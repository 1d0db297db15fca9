"""Hidden data from images in folders: `train/CLASS/IMAGE`, `test/IMAGE`, a sample submission.

The class of an image is the name of its folder, and the answers say that name.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from kernelkit.errors import ParameterError
from kernelkit.hidden import hidden_files, new_ids, tables
from kernelkit.hidden.hidden_content import (
    MAKE_IT_YOURSELF,
    SEED,
    HiddenContent,
    RowsWanted,
    Unknown,
    ask,
    most_rows,
    too_few,
)
from kernelkit.hidden.tables import Table
from kernelkit.project import HiddenSettings


def make(
    public: Path,
    folder: Path,
    settings: HiddenSettings,
    wanted: RowsWanted,
    unknown: Sequence[Unknown] = (),
) -> HiddenContent | None:
    """Write the hidden folder of a competition with images in folders; None if it has none.

    Of each class the same share becomes hidden. Raises one `ParameterError` for everything that
    cannot be guessed; `unknown` is what is not known already.
    """
    train = _top(public, "train")
    test = _top(public, "test")
    if train is None or test is None:
        return None
    photos = {path: path.relative_to(train).parts[0] for path in _pictures(train, deep=True)}
    sample_path = tables.find_sample(public)
    if not photos or sample_path is None:
        return None
    sample = tables.read(sample_path)
    name = sample.columns[0]
    target = _target(sample, settings, unknown)
    public_photos = _pictures(test)
    by_file = _is_by_file(public_photos, {str(row[name]) for row in sample.rows})
    if by_file is None:
        raise ParameterError(
            f"the ids of {sample.name} are not names of files in {test.name}/: {MAKE_IT_YOURSELF}"
        )
    _check_classes(sample, target, set(photos.values()), train)
    chosen = _choose(photos, train, wanted.of(len(public_photos), len(photos)))
    names = [path.name if by_file else path.stem for path in chosen]
    known = {path.name if by_file else path.stem for path in [*photos, *public_photos]}
    renamed, _ = new_ids.renamed(names, [{"id": one} for one in names], "id", known)
    place = public_photos[0].parent.relative_to(public) if public_photos else Path(test.name)
    hidden_files.link_others(public, folder, {sample.name})
    for path in public_photos:
        (folder / path.relative_to(public)).unlink()
    (folder / place).mkdir(parents=True, exist_ok=True)
    answers = []
    taken: set[str] = set()
    for path, one in zip(chosen, names, strict=True):
        new = _unique(renamed[one], taken)  # two classes may each have a 1.jpg
        taken.add(new)
        (folder / path.relative_to(public)).unlink()
        file = new if by_file else f"{new}{path.suffix}"
        hidden_files.link(path, folder / place / file)
        answers.append({name: new, target: photos[path]})
    usual = sample.rows[0] if len(sample.rows) else dict.fromkeys(sample.columns, "")
    tables.write(folder, sample, [{**usual, name: answer[name]} for answer in answers])
    notes = [f"the answers are the names of the folders in {train.name}/"]
    return HiddenContent([name, target], answers, len(public_photos), notes, most_rows(len(photos)))


def _target(sample: Table, settings: HiddenSettings, unknown: Sequence[Unknown]) -> str:
    """The column to predict. Raises `ParameterError` if it or anything before is `unknown`."""
    targets = list(settings.target) or sample.columns[1:]
    missing = list(unknown)
    if len(targets) != 1:
        what = f"{sample.name} has {len(targets)} columns to predict, and a folder is one class"
        missing.append(Unknown(what, {"target": ["COLUMN"]}))
    if missing:
        raise ask(missing, settings)
    return targets[0]


def _check_classes(sample: Table, target: str, classes: set[str], train: Path) -> None:
    """Raise `ParameterError` if a submission has numbers, and the folders names."""
    labels = {str(row[target]) for row in sample.rows}
    if all(_is_number(label) for label in labels) and not all(map(_is_number, classes)):
        raise ParameterError(
            f"{sample.name} has numbers for classes, and the folders of {train.name}/ are names, "
            f"such as {min(classes)!r}: {MAKE_IT_YOURSELF}"
        )


def _top(public: Path, word: str) -> Path | None:
    """The folder of images at the top whose name has this word."""
    for path in sorted(public.iterdir()):
        if path.is_dir() and word in path.name.lower():
            return path
    return None


def _pictures(folder: Path, *, deep: bool = False) -> list[Path]:
    """The pictures below a folder, sorted; if `deep`, only those in folders of it."""
    paths = [path for path in folder.rglob("*") if path.suffix.lower() in hidden_files.PICTURES]
    return sorted(path for path in paths if not deep or path.parent != folder)


def _is_by_file(photos: list[Path], ids: set[str]) -> bool | None:
    """Whether ids are names of files, with the ending; None if they are not without it either."""
    if ids & {path.name for path in photos}:
        return True
    return False if ids & {path.stem for path in photos} else None


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _choose(photos: dict[Path, str], train: Path, wanted: int) -> list[Path]:
    """The photos that become hidden, the same share of each class, shuffled."""
    rng = random.Random(SEED)
    by_class: dict[str, list[Path]] = {}
    for path, label in photos.items():
        by_class.setdefault(label, []).append(path)
    if not 0 < wanted < len(photos):
        raise too_few(f"{train.name}/", len(photos), wanted)
    ranked: list[tuple[float, Path]] = []
    for own in by_class.values():
        rng.shuffle(own)
        ranked += [((place + rng.random()) / len(own), path) for place, path in enumerate(own)]
    chosen = [path for _, path in sorted(ranked)[:wanted]]
    rng.shuffle(chosen)
    return chosen


def _unique(name: str, taken: set[str]) -> str:
    """The name, with a number after its stem where another photo has it."""
    stem, dot, suffix = name.partition(".")
    number = 0
    found = name
    while found in taken:
        number += 1
        found = f"{stem}{number}{dot}{suffix}"
    return found

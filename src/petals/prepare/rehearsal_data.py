"""Inputs for a rehearsal: drawn flowers in place of the competition's files in a local Kaggle.

python -m petals.prepare.rehearsal_data FOLDER [--sizes SIZE ...] [--backbones NAME ...]

Of a backbone whose weights are a model on Kaggle, the catalogue gets the preset that is here, or
else one with random weights: a rehearsal shows that a session finds and builds it, and no score.
The session warns of random weights, and says how to rehearse with the real ones. The catalogue's
file `.depends` names the places of the presets, so that a rehearsal fills it again when one comes.
"""

import argparse
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from petals import storage
from petals.data import writing
from petals.data.source import COMPETITION
from petals.errors import PetalsError
from petals.kaggle import cache_folder
from petals.prepare import drawn_flowers
from petals.registry import AUTO, CONFIG, DEFAULT, RANDOM, Facts, Preset

SIZES = (192, 224, 331, 512)  # in pixels, those of the competition
# In a catalogue: files, one a line. When one of them comes, changes or goes, it is filled again.
DEPENDS = ".depends"
SCORING = """\
# The competition's metric and its submissions' columns, for a rehearsal's score.
metric = "f1_macro"
columns = ["id", "label"]
"""


def fill(folder: Path, sizes: Iterable[int] = ()) -> Path:
    """Copy the drawn flowers and their solution to a catalogue; return the competition's folder.

    `sizes`: of the images that runs need, in pixels, by default 192; the competition's next larger
    ones are made, or its largest. Existing files stay. Sizes are added only if the answers show
    that the existing files are drawn flowers: the real competition's files are never mixed with
    them. Scoring rules are written if there are none. Raises what `drawn_flowers.at_size` raises.
    """
    competition = folder / "competitions" / COMPETITION
    solution = folder / "solutions" / f"{COMPETITION}.csv"
    rules = solution.with_suffix(".toml")
    if not rules.exists():
        storage.write_text(rules, SCORING)
    if competition.exists() and not solution.exists():
        return competition
    for size in sorted({_of_competition(size) for size in sizes}) or SIZES[:1]:
        shown = Path(writing.folder(competition, size, "train")).parent
        if shown.exists():
            continue
        drawn = drawn_flowers.at_size(cache_folder() / "embedded", size)
        answers = (drawn / "solution.csv").read_text("utf-8")
        if not competition.exists():
            storage.write_text(solution, answers)
            _copy(drawn, competition)
        elif answers == solution.read_text("utf-8"):
            _copy(drawn / shown.name, shown)
    return competition


def _of_competition(size: int) -> int:
    return next((own for own in SIZES if own >= size), SIZES[-1])


def add_models(folder: Path, backbones: Iterable[str]) -> list[Path]:
    """Put the presets of these backbones into a catalogue that lacks them; return their folders.

    A preset that is on this machine is linked, also in place of one with random weights; of any
    other, one with random weights is made. Raises `SettingError` where that needs keras_hub and it
    is missing.
    """
    made = []
    for name in backbones:
        preset = Facts(name).preset
        if preset is None:
            continue
        _depend_on(folder, [place / CONFIG for place in preset.folders()])
        target = folder / "models" / preset.source
        here = preset.folder
        if target.exists() and not (here and (target / RANDOM).is_file()):
            continue
        part = target.with_name(f"{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(parents=True, exist_ok=True)
        if here:
            shutil.copytree(here, part, copy_function=_linked)
        else:
            _make_preset(preset, part)
        shutil.rmtree(target, ignore_errors=True)
        part.rename(target)
        made.append(target)
    return made


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # of another disk
        shutil.copy2(source, target)


def _depend_on(catalogue: Path, files: Iterable[Path]) -> None:
    """Add files to those on which the catalogue depends."""
    listed = catalogue / DEPENDS
    known = listed.read_text("utf-8").splitlines() if listed.is_file() else []
    new = [str(path.absolute()) for path in files]
    lines = dict.fromkeys([*known, *new])
    if len(lines) > len(known):
        storage.write_text(listed, "\n".join(lines) + "\n")


def _make_preset(preset: Preset, part: Path) -> None:
    """A preset with random weights; it scales pixels as networks do that ImageNet taught."""
    from petals.models import hub

    network = hub.find(preset.name).build(preset.native)
    network.save_to_preset(str(part))
    hub.save_scaling(part, preset.native)
    warning = (
        f"{preset.name} has random weights, made for a rehearsal, so its scores say nothing. To "
        f"rehearse with the real ones, run `{preset.download_command}` once and rehearse again."
    )
    storage.write_text(part / RANDOM, warning + "\n")


def _copy(source: Path, target: Path) -> None:
    part = target.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(source, part, ignore=shutil.ignore_patterns("solution.csv"))
    part.rename(target)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill a catalogue for the parameters of 02_train that a push names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=[])
    parser.add_argument("--backbones", nargs="*", default=[])
    options = parser.parse_args(arguments)
    texts = (name.strip() for each in options.backbones for name in each.split(","))
    names = [DEFAULT if name == AUTO else name for name in texts if name]
    natives = [Facts(name).native or SIZES[0] for name in names] or SIZES[:1]
    sizes = [size for size in options.sizes if size]
    if 0 in options.sizes:
        sizes += natives
    try:
        fill(options.folder, sizes)
        add_models(options.folder, names)
    except PetalsError as error:
        parser.exit(error.exit_code, f"{error}\n")


if __name__ == "__main__":
    main()

"""Large files, such as trained models, of which a sweep keeps those of its best runs alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernelkit.errors import ParameterError


def checked(asked: object) -> dict[str, int]:
    """{file name: runs} as a sweep or a project writes it; raises `ParameterError` for others."""
    if not isinstance(asked, dict):
        raise ParameterError("keep_best takes {FILE: RUNS}, like {model.h5: 3}")
    for name, most in asked.items():
        plain = isinstance(name, str) and name and Path(name).name == name
        if not plain or type(most) is not int or most < 1:
            raise ParameterError(
                f"keep_best: {name!r}: {most!r} is no file name with a number of runs, 1 or more"
            )
    return dict(asked)


def prune(scores: Mapping[Path, float], keep: Mapping[str, int], *, minimize: bool) -> list[Path]:
    """Remove the files of all but the best runs; returns those removed.

    `scores`: the folder of each finished run with its score; `keep` as `checked` returns it. A
    run without a score is none of them, and keeps its files.
    """
    ranked = sorted(scores, key=lambda folder: scores[folder] if minimize else -scores[folder])
    removed = []
    for name, most in keep.items():
        for folder in ranked[most:]:
            if (folder / name).is_file():
                (folder / name).unlink()
                removed.append(folder / name)
    return removed

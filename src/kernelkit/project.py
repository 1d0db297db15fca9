"""A repository's own settings for its pushes: `[tool.kernelkit]` in `pyproject.toml`.

[tool.kernelkit]
packages = ["petals"]                  # what rides inside a pushed notebook

[tool.kernelkit.needs]                 # parameter values that need something of Kaggle
internet = ["weights=imagenet"]
competition = ["data=competition"]
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from kernelkit.errors import (
    PreflightError,
)

RUNS = "runs"  # the folder of runs, at a project's root


@dataclass(frozen=True)
class Project:
    """A repository: its root, the packages it bundles, and what parameter values need."""

    root: Path
    packages: tuple[str, ...] = ()
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    catalogue: str = ""
    leave_out: tuple[str, ...] = ()

    def package_folder(self, package: str) -> Path:
        """Where a package lies, under `src/` or at the root; raises `PreflightError`."""
        for folder in (self.root / "src" / package, self.root / package):
            if (folder / "__init__.py").is_file():
                return folder
        raise PreflightError(
            f"no package {package} under {self.root / 'src'}: correct packages in "
            f"[tool.kernelkit] of {self.root / 'pyproject.toml'}"
        )

    def name(self, path: Path) -> str:
        """`path` as seen from the root, with forward slashes."""
        path = Path(path).resolve()
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name
        )


def find_project(start: Path) -> Project:
    """The project that `start` lies in: the nearest folder above with a `pyproject.toml`.

    A notebook outside any project bundles no package.
    """
    start = Path(start).resolve()
    for folder in [start, *start.parents]:
        file = folder / "pyproject.toml"
        if file.is_file():
            return _read(folder, file)
    return Project(start if start.is_dir() else start.parent)


def _read(root: Path, file: Path) -> Project:
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise PreflightError(f"{file} is not TOML: {error}") from None
    kit = settings.get("kernelkit", {})
    needs = {name: tuple(values) for name, values in kit.get("needs", {}).items()}
    return Project(
        root,
        packages=tuple(kit.get("packages", ())),
        needs=needs,
        catalogue=kit.get("catalogue", ""),
        leave_out=tuple(kit.get("leave_out", ())),
    )

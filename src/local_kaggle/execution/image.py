"""Kaggle's image, imitated by a bare virtual environment of links.

Everything installed beside this interpreter is linked in, except what would let a kernel see
the host: `.pth` files and finders of editable installs, this package and what depends on it.
So a bundle that lacks a module fails here as it would on Kaggle, in subprocesses too. All sessions
share it, and none writes to it: each has a Python of its own on top (`session_python`).
"""

import functools
import importlib.metadata
import re
import shutil
import venv
from pathlib import Path

from local_kaggle.execution import kaggle_paths, kaggles_modules
from local_kaggle.execution.walls import PACKAGES, site_folders

SERVES = "LOCAL_KAGGLE_SERVES"  # set where a notebook serves predictions
# gRPC logs the traceback of an exception in `predict` to nobody; rehearsals show it.
SERVER_ERRORS = (
    f"import os; os.environ.get({SERVES!r}) and "
    '__import__("logging").getLogger("grpc").addHandler(__import__("logging").StreamHandler())\n'
)
LEADS_ELSEWHERE = re.compile(
    r".*\.(pth|egg-link)|__editable__.*|(sitecustomize|usercustomize)\.py|__pycache__"
)


def build_image(folder: Path) -> Path:
    """Make the environment below `folder` afresh and return its Python.

    What lies in `packages` beside it, as `pip install --target` leaves it, comes before what is
    installed beside this interpreter. Takes a fraction of a second: nothing is copied or installed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    hidden = _desk_names()
    for source in (folder.with_name(PACKAGES), *site_folders()):
        for entry in sorted(source.iterdir()) if source.is_dir() else []:
            link = site / entry.name
            if not (LEADS_ELSEWHERE.fullmatch(entry.name) or entry.name in hidden or link.exists()):
                link.symlink_to(entry)
    # By a .pth file: a sitecustomize of the system, which is found first, would hide another.
    shutil.copyfile(kaggle_paths.__file__, site / "_kaggle_paths.py")
    (site / "_kaggle_paths.pth").write_text("import _kaggle_paths; _kaggle_paths.install()\n")
    shutil.copyfile(kaggles_modules.__file__, site / "_kaggles_modules.py")
    for module in kaggles_modules.EXPORTS:
        if not (site / f"{module}.py").exists() and not (site / module).exists():
            (site / f"{module}.py").write_text(kaggles_modules.source_of(module))
    (site / "_server_errors.pth").write_text(SERVER_ERRORS)
    return python


@functools.cache  # it reads the metadata of every installed distribution
def _desk_names() -> frozenset[str]:
    """What this package and the distributions that depend on it installed, at the top level.

    These are the host's tools, which Kaggle's image lacks.
    """
    own = __name__.partition(".")[0]
    names = {own}
    for distribution in importlib.metadata.distributions():
        requires = distribution.requires or ()
        concerned = [distribution.name, *requires]
        if any(re.split(r"[^\w-]", name)[0].replace("-", "_") == own for name in concerned):
            names |= {file.parts[0] for file in distribution.files or ()}
    return frozenset(names)

"""JAX's compiled programs, kept: a network that took minutes to compile starts at once again."""

from __future__ import annotations

import shutil
from pathlib import Path

from petals.accelerators import cluster
from petals.kaggle import cache_folder, find_folders

FOLDER = "compiled"


def keep(run: str | Path) -> int:
    """Keep compiled programs in the run's folder, those of attached outputs included.

    To be called before anything is compiled. Returns how many were there already. What does not
    fit this machine or this version of JAX is not used: its key holds both.
    """
    import jax

    # Of several hosts each keeps its own: a program is there for all of them or for none.
    folder = (Path(run) if cluster.here().count == 1 else cache_folder()) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for place in find_folders(FOLDER):
        for program in place.iterdir():
            if program.is_file() and not (folder / program.name).exists():
                shutil.copyfile(program, folder / program.name)
    jax.config.update("jax_compilation_cache_dir", str(folder.resolve()))
    # Small programs count as well: there are hundreds of them.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # XLA's own caches would put the folder's path into every key.
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
    return sum(1 for _ in folder.iterdir())

"""Programs that JAX compiled, kept for later runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from petals.accelerators import cluster
from petals.kaggle import KEPT, find_folders, kept_folder

FOLDER = "compiled"


def keep(run: str | Path) -> int:
    """Keep compiled programs in the run's folder, and copy those of attached outputs into it.

    The runs of a sweep in a session share one folder, which the next session takes over. Call it
    before JAX compiles anything. Returns how many programs were there already. JAX ignores a
    program of another machine or version of JAX, since the program's key holds both.
    """
    import jax

    # With several hosts each host keeps its own programs: all hosts must find one, or none.
    alone = cluster.here().count == 1 and not os.environ.get(KEPT)
    folder = (Path(run) if alone else kept_folder()) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for place in find_folders(FOLDER):
        for program in place.iterdir():
            if program.is_file() and not (folder / program.name).exists():
                shutil.copyfile(program, folder / program.name)
    jax.config.update("jax_compilation_cache_dir", str(folder.resolve()))
    # Keep small programs too: there are hundreds of them.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # XLA's own caches would put the folder's path into every key.
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
    return sum(1 for _ in folder.iterdir())

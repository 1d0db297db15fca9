"""Programs that JAX compiles: how long that takes, and how they are kept for later runs."""

import os
import shutil
from pathlib import Path
from typing import Any

from petals.accelerators import cluster
from petals.kaggle import KEPT, attached, kept_folder

FOLDER = "compiled"
PHASES = {
    "jaxpr_trace_duration": "trace_seconds",
    "jaxpr_to_mlir_module_duration": "trace_seconds",
    "backend_compile_duration": "compile_seconds",
}
_seconds: dict[str, float] = {}  # by phase, from `keep` on


def facts() -> dict[str, Any]:
    """What JAX needed so far: seconds of tracing and of compiling, and a device's bytes at peak.

    The seconds count from `keep` on; reading a stored program counts as compiling. CPU devices do
    not know their peak. Empty where `keep` was not called.
    """
    if not _seconds:
        return {}
    import jax

    statistics = [device.memory_stats() or {} for device in jax.local_devices()]
    peaks = [each["peak_bytes_in_use"] for each in statistics if "peak_bytes_in_use" in each]
    known: dict[str, Any] = {name: round(seconds, 3) for name, seconds in _seconds.items()}
    if peaks:
        known["peak_bytes"] = max(peaks)
    return known


def seconds() -> float:
    """The seconds that JAX has traced and compiled since `keep`; 0 where `keep` was not called."""
    return sum(_seconds.values())


def device_memory() -> str:
    """The MiB in use on the first device, "" if they are not known."""
    if not _seconds:
        return ""
    import jax

    used = (jax.local_devices()[0].memory_stats() or {}).get("bytes_in_use")
    return "" if used is None else str(used >> 20)


def _count(event: str, seconds: float, **_: Any) -> None:
    if phase := PHASES.get(event.rpartition("/")[2]):
        _seconds[phase] += seconds


def keep(run: str | Path) -> int:
    """Keep compiled programs in the run's folder, and copy those of attached outputs into it.

    The runs of a sweep in a session share one folder, which the next session takes over. Call it
    before JAX compiles anything. Returns how many programs were there already. JAX ignores a
    program of another machine or version of JAX, since the program's key holds both.
    """
    import jax

    if not _seconds:
        _seconds.update(dict.fromkeys(PHASES.values(), 0.0))
        jax.monitoring.register_event_duration_secs_listener(_count)
    # With several hosts each host keeps its own programs: all hosts must find one, or none.
    alone = cluster.here().count == 1 and not os.environ.get(KEPT)
    home = Path(run) if alone else kept_folder()
    folder = home / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for place in attached(FOLDER):
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

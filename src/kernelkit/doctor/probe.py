# %% [markdown]
# Inspect a session for `kernelkit doctor`, which compares it with what kernelkit assumes about
# Kaggle. It needs the standard library only, and JAX if the machine has TPUs.

# %%
import importlib
import importlib.metadata
import json
import os
import shutil
from pathlib import Path
from typing import Any

# %% tags=["parameters"]
asked = ""  # when the doctor asked: each examination is a run of its own
accelerator = "auto"  # auto | tpu | cpu: the machine that was requested
submission = ""  # the name of the file to submit; by default "submission" with the sample's ending

# %%
INPUTS = Path("/kaggle/input")
MOST_INPUTS = 500
distributions = importlib.metadata.distributions()
packages = {one.name.lower(): one.version for one in distributions if one.name}
inputs: list[Path] = []
for depth in ("*", "*/*", "*/*/*"):
    inputs += [path for path in INPUTS.glob(depth) if path.is_dir()]
facts: dict[str, Any] = {
    "asked": asked,
    "folder": str(Path.cwd()),
    "run_type": os.environ.get("KAGGLE_KERNEL_RUN_TYPE", "none"),
    "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
    "cores": os.cpu_count(),
    "packages": dict(sorted(packages.items())),
    "inputs": sorted(path.relative_to(INPUTS).as_posix() for path in inputs)[:MOST_INPUTS],
}

# %% [markdown]
# The device goes into `metrics.json`, by which every push checks that it got the right machine.

# %%
if accelerator == "tpu":
    device: dict[str, Any] = {"kind": "cpu"}
    if "KAGGLE_REHEARSAL" in os.environ:
        device = {"kind": "tpu", "rehearsal": True}
    elif "libtpu" in packages or "TPU_ACCELERATOR_TYPE" in os.environ:
        devices = importlib.import_module("jax").devices()
        name = devices[0].device_kind
        facts["devices"] = f"{len(devices)} {name}"
        device = {"kind": devices[0].platform, "name": name, "replicas": len(devices)}
    Path("metrics.json").write_text(json.dumps({"device": device}))

# %% [markdown]
# The sample submission of the competition is the file that `kernelkit doctor --submit` submits.

# %%
samples = sorted(INPUTS.glob("competitions/*/sample_submission.*"))
if samples:
    shutil.copy(samples[0], submission or f"submission{samples[0].suffix}")
Path("facts.json").write_text(json.dumps(facts))

"""The surroundings of one run: its folders, its variables, its command line."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from local_kaggle.execution import kaggle_paths
from local_kaggle.execution.mounts import unmount
from local_kaggle.limits import Kind

CLOSED = "http://127.0.0.1:9"  # the discard port: a proxy that refuses every connection

REHEARSAL: dict[Kind, str] = {
    "tpu": "rehearsal: this TPU session is eight CPU devices on the desk, not a TPU",
    "gpu": "rehearsal: this GPU session is this machine's GPUs or two CPU devices, not Kaggle's",
}
"""What the log of such a session begins with."""


@dataclass(frozen=True)
class Sandbox:
    """The folders of one session, below `folder`, and a scratch folder that goes with it.

    `working` stands for /kaggle/working, `input` for /kaggle/input; `executed` is the notebook
    as it was executed, which Kaggle keeps to itself as well.
    """

    folder: Path
    scratch: Path

    @classmethod
    def make(cls, folder: Path) -> Sandbox:
        """Make the folders; the scratch folder is a short path, for the sake of sockets."""
        box = cls(folder, Path(tempfile.mkdtemp(prefix="kaggle-")))
        for path in (box.working, box.scratch / "home", box.tmp):
            path.mkdir(parents=True, exist_ok=True)
        return box

    @property
    def working(self) -> Path:
        return self.folder / "working"

    @property
    def input(self) -> Path:
        return self.folder / "input"

    @property
    def tmp(self) -> Path:
        """The folder of temporary files, which no other session has."""
        return self.scratch / "tmp"

    @property
    def mounts(self) -> dict[str, str]:
        """The folders that stand for Kaggle's, by their paths there."""
        return {
            "/kaggle/input": str(self.input),
            "/kaggle/working": str(self.working),
            "/kaggle/temp": str(self.tmp),
        }

    def discard(self) -> None:
        """Remove home, temporary files and the mounts; outputs and log stay."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        unmount(self.input)

    def environment(self, image: Path, runs_on: Kind, *, internet: bool) -> dict[str, str]:
        """The whole environment of the run: Kaggle's variables and nothing of the desk's.

        `image` is the folder of the Python environment. `KERNELKIT_INPUT_ROOT` says where
        /kaggle/input is, since it cannot be there; code that names the path itself is led there
        by `kaggle_paths`. On a TPU rehearsal JAX sees eight devices.
        """
        variables = {
            "PATH": os.pathsep.join([str(image / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": str(self.scratch / "home"),
            "TMPDIR": str(self.tmp),
            "LANG": "C.UTF-8",
            "KAGGLE_KERNEL_RUN_TYPE": "Batch",
            "KERNELKIT_INPUT_ROOT": str(self.input),
            kaggle_paths.MOUNTS: json.dumps(self.mounts),
            "JUPYTER_PATH": str(image / "share" / "jupyter"),
            "MPLCONFIGDIR": str(image.parent / "matplotlib"),  # shared: a new one lists fonts
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "PYTHONUNBUFFERED": "1",
            "TF_CPP_MIN_LOG_LEVEL": "2",
        }
        if "LD_LIBRARY_PATH" in os.environ:
            variables["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        if runs_on != "gpu":
            variables["CUDA_VISIBLE_DEVICES"] = "-1"
        if runs_on != "cpu":
            variables["KAGGLE_REHEARSAL"] = runs_on
        if runs_on == "tpu":
            variables["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
            variables["JAX_PLATFORMS"] = "cpu"
        return variables | ({} if internet else _no_internet())


def command(python: Path, kernel_type: str, language: str) -> list[str]:
    """The command that runs `source.ipynb` or `script.py` of the session's folder.

    Papermill without a kernel's name, as Kaggle does it: a notebook has to bring its own.
    """
    if kernel_type != "notebook":
        # By runpy, which compiles it as an import does: `kaggle_paths` sees it.
        run = "import runpy; runpy.run_path('../script.py', run_name='__main__')"
        return [str(python), "-c", run]
    return [
        str(python),
        "-m",
        "papermill",
        "../source.ipynb",
        "../executed.ipynb",
        "--no-progress-bar",
        "--autosave-cell-every",
        "0",
        "--log-level",
        "WARNING",
        "--stdout-file",
        "/dev/stdout",
        "--stderr-file",
        "/dev/stderr",
    ]


def _no_internet() -> dict[str, str]:
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    local = "localhost,127.0.0.1"
    return dict.fromkeys(names, CLOSED) | {
        "no_proxy": local,
        "NO_PROXY": local,
        "PIP_NO_INDEX": "1",
    }

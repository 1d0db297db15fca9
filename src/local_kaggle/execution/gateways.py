"""A competition's gateway and the notebook whose inference server it asks, side by side.

The gateway comes with the competition's files, as `kaggle_evaluation/<name>_gateway.py`. The two
run in sandboxes of their own and meet in one closed network, where the gateway finds the notebook
under the host name `inference_server`. What it shows to the notebook lies in /kaggle/shared.
"""

from dataclasses import dataclass
from pathlib import Path

from local_kaggle.execution import processes, walls
from local_kaggle.execution.image import SERVES
from local_kaggle.execution.sandbox import EVALUATION, MountedSource, Sandbox, link_files

RERUN = "KAGGLE_IS_COMPETITION_RERUN"  # set in a session that runs for a competition's score
GATEWAYS = f"{EVALUATION}/*_gateway.py"
FOLDER, LOG, RESULT = "gateway", "gateway.log", "result.json"
VERDICT = "verdict.json"  # in place of a result, where the notebook ended before the gateway
HOSTS = "127.0.0.1 localhost inference_server gateway\n"
# The gateway shares a file by a bind mount, which needs rights that it has on Kaggle alone.
MOUNT = '#!/bin/sh\n[ "$1" = --bind ] || exit 0\nexec cp -RLT "$2" "$3"\n'


@dataclass(frozen=True)
class Gateway:
    """A competition's gateway: its module, and its data in `hidden` and `public`."""

    module: str
    competition: str
    hidden: Path
    public: Path

    def sandbox(self, session: Path, image: Path) -> Sandbox:
        """The gateway's own, inside the folder of a session."""
        folder, data = session / FOLDER, self.hidden
        (folder / "shared").mkdir(parents=True, exist_ok=True)
        (folder / "hosts").write_text(HOSTS)
        if not (data / EVALUATION).is_dir():
            data = folder / "data"
            link_files(self.hidden, data)
            link_files(self.public / EVALUATION, data / EVALUATION)
        source = MountedSource("competitions", self.competition, data)
        box = Sandbox(folder, image, [source], gateway=folder)
        for program in ("mount", "umount"):
            (box.source / program).write_text(MOUNT)
            (box.source / program).chmod(0o755)
        return box

    def command(
        self, box: Sandbox, notebook: list[str], environment: dict[str, str], working: Path
    ) -> list[str]:
        """The command that runs the notebook's own, and the gateway in its `box`, in one network.

        `environment` and `working` are the notebook's.
        """
        own = box.environment()
        own["PATH"] = f"/kaggle/src:{own['PATH']}"
        for name in (processes.VARIABLE, RERUN):
            own[name] = environment[name]
        gateway = box.enclosed([f"{box.image}/bin/python", "-m", self.module])
        spec = {
            "log": str(box.folder / LOG),
            "verdict": str(box.folder / VERDICT),
            "gateway": {"args": gateway, "env": own, "cwd": str(box.working)},
            "notebook": {
                "args": notebook,
                "env": {**environment, SERVES: "1"},
                "cwd": str(working),
            },
        }
        return walls.side_by_side(spec, box.builder)


def find(competition: str, hidden: Path, public: Path) -> Gateway | None:
    """The gateway among a competition's files; None where the notebook itself writes the file."""
    files = [*hidden.glob(GATEWAYS), *public.glob(GATEWAYS)]
    return Gateway(f"{EVALUATION}.{files[0].stem}", competition, hidden, public) if files else None

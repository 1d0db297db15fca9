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

FOLDER, LOG, RESULT = "gateway", "gateway.log", "result.json"
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

    def data(self, place: Path) -> Path:
        """The hidden folder; where it lacks `kaggle_evaluation`, links at `place` add it."""
        if (self.hidden / EVALUATION).is_dir():
            return self.hidden
        link_files(self.hidden, place)
        link_files(self.public / EVALUATION, place / EVALUATION)
        return place


def find(competition: str, hidden: Path, public: Path) -> Gateway | None:
    """The gateway among a competition's files; None where the notebook itself writes the file."""
    for folder in (hidden, public):
        for file in sorted((folder / EVALUATION).glob("*_gateway.py")):
            return Gateway(f"{EVALUATION}.{file.stem}", competition, hidden, public)
    return None


class Pair:
    """The sandbox `box` of a gateway, inside the folder of a session."""

    def __init__(self, session: Path, image: Path, gateway: Gateway) -> None:
        folder = session / FOLDER
        (folder / "shared").mkdir(parents=True, exist_ok=True)
        (folder / "hosts").write_text(HOSTS)
        source = MountedSource("competitions", gateway.competition, gateway.data(folder / "data"))
        self.module = gateway.module
        self.box = Sandbox(folder, image, [source], gateway=folder)
        for program in ("mount", "umount"):
            (self.box.source / program).write_text(MOUNT)
            (self.box.source / program).chmod(0o755)

    def command(self, notebook: list[str], environment: dict[str, str], working: Path) -> list[str]:
        """The command that runs the notebook's own and the gateway in one network."""
        own = self.box.environment()
        own["PATH"] = f"/kaggle/src:{own['PATH']}"
        for name in (processes.VARIABLE, "KAGGLE_IS_COMPETITION_RERUN"):
            own[name] = environment[name]
        gateway = self.box.enclosed([f"{self.box.image}/bin/python", "-m", self.module])
        spec = {
            "log": str(self.box.folder / LOG),
            "result": str(self.box.working / RESULT),
            "gateway": {"args": gateway, "env": own, "cwd": str(self.box.working)},
            "notebook": {
                "args": notebook,
                "env": {**environment, SERVES: "1"},
                "cwd": str(working),
            },
        }
        return walls.side_by_side(spec, self.box.builder)

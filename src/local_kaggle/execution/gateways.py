"""A competition's gateway and the notebook whose inference server it asks, side by side.

The gateway comes with the competition's files, as `kaggle_evaluation/<name>_gateway.py`. The two
run in sandboxes of their own and meet in one closed network, where the gateway finds the notebook
under the host name `inference_server`. What it shows to the notebook lies in /kaggle/shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from local_kaggle.execution import processes, walls
from local_kaggle.execution.image import SERVES
from local_kaggle.execution.sandbox import MountedSource, Peer, Sandbox, link_files

EVALUATION = "kaggle_evaluation"
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


def find(competition: str, hidden: Path, public: Path) -> Gateway | None:
    """The gateway among a competition's files; None where the notebook itself writes the file."""
    for folder in (hidden, public):
        for file in sorted((folder / EVALUATION).glob("*_gateway.py")):
            return Gateway(f"{EVALUATION}.{file.stem}", competition, hidden, public)
    return None


def evaluation_path(sources: Sequence[MountedSource], box: Sandbox) -> dict[str, str]:
    """The variable that makes a competition's `kaggle_evaluation` importable, as on Kaggle."""
    for source in sources:
        if source.kind == "competitions" and (source.folder / EVALUATION).is_dir():
            return {"PYTHONPATH": f"{box.inside('/kaggle/input')}/{source.place}"}
    return {}


@dataclass(frozen=True)
class Pair:
    """The gateway's sandbox, and what the sandbox of the notebook shares with it."""

    gateway: Gateway
    box: Sandbox
    peer: Peer

    @classmethod
    def make(cls, session: Path, gateway: Gateway) -> Pair:
        """Make the gateway's folders inside those of the session."""
        folder = session / FOLDER
        hosts, shared = folder / "hosts", folder / "shared"
        shared.mkdir(parents=True, exist_ok=True)
        hosts.write_text(HOSTS)
        box = Sandbox.make(folder, Peer(hosts, shared, writes=True))
        for program in ("mount", "umount"):
            (box.source / program).write_text(MOUNT)
            (box.source / program).chmod(0o755)
        return cls(gateway, box, Peer(hosts, shared, writes=False))

    def command(
        self, notebook: list[str], environment: Mapping[str, str], python: Path, working: Path
    ) -> list[str]:
        """The command that runs the notebook's own and the gateway in one network."""
        source = MountedSource("competitions", self.gateway.competition, self._data())
        image = python.parent.parent
        own = self.box.environment(image, "cpu", internet=False)
        own |= evaluation_path([source], self.box)
        own["PATH"] = f"/kaggle/src:{own['PATH']}"
        for name in (processes.VARIABLE, "KAGGLE_IS_COMPETITION_RERUN"):
            own[name] = environment[name]
        command = [str(python), "-m", self.gateway.module]
        gateway = self.box.enclosed(command, [source], image, internet=False)
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

    def _data(self) -> Path:
        """The hidden folder, with the public one's `kaggle_evaluation` where it lacks its own."""
        hidden = self.gateway.hidden
        if (hidden / EVALUATION).is_dir():
            return hidden
        data = self.box.folder / "data"
        link_files(hidden, data)
        link_files(self.gateway.public / EVALUATION, data / EVALUATION)
        return data

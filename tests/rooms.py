"""The rooms of the house, and the rooms below each, which are all that it may import.

A room is a folder of `src/` or a module that stands alone; a module belongs to the longest
name that leads to it. `tests/test_walls.py` holds every import against this table.
"""

PETALS_GROUND = ["errors", "storage", "progress", "tables", "kaggle"]
KERNELKIT_GROUND = [
    "errors",
    "files",
    "processes",
    "machines",
    "project",
    "shown",
    "terminal",
]


def _below(package: str, rooms: dict[str, str]) -> dict[str, frozenset[str]]:
    return {
        f"{package}.{room}" if room else package: frozenset(
            f"{package}.{one}" for one in below.split()
        )
        for room, below in rooms.items()
    }


_ground = " ".join(PETALS_GROUND)
_tools = " ".join(KERNELKIT_GROUND)

ROOMS = {
    **_below(
        "petals",
        {
            "": "",
            "errors": "",
            "storage": "errors",
            "progress": "",
            "tables": "",
            "versions": "",
            "settings": "errors",
            "kaggle": "",
            "accelerators": _ground,
            "data": _ground,
            "models": _ground,
            "evaluation": f"{_ground} data accelerators",
            "training": f"{_ground} data accelerators models evaluation",
            "ahead_of_time": f"{_ground} settings data accelerators models evaluation training",
            "comparison": f"{_ground} data evaluation",
            "plots": f"{_ground} data evaluation comparison",
            "run_folder": f"{_ground} versions data accelerators evaluation models plots",
            "classify": f"{_ground} data accelerators evaluation models plots run_folder",
            "prepare": f"{_ground} data",
        },
    ),
    **_below(
        "kernelkit",
        {
            "": "",
            "errors": "",
            "files": "errors",
            "processes": "",
            "machines": "errors",
            "project": "errors shown",
            "shown": "",
            "terminal": "",
            "notebooks": _tools,
            "wheels": _tools,
            "wheels.session": "",
            "pages": _tools,
            "kaggle_api": _tools,
            "bundle": f"{_tools} notebooks wheels.session",
            "runs": f"{_tools} notebooks bundle pages",
            "local_kaggle": _tools,
            "local_kaggle.catalogue": _tools,
            "local_kaggle.limits": _tools,
            "local_kaggle.signed": _tools,
            "local_kaggle.store": _tools,
            "local_kaggle.serving": _tools,
            "local_kaggle.faults.schedule": _tools,
            "local_kaggle.execution": f"{_tools} local_kaggle.catalogue local_kaggle.limits "
            "local_kaggle.store",
            "local_kaggle.state": f"{_tools} local_kaggle.catalogue local_kaggle.limits "
            "local_kaggle.signed local_kaggle.store local_kaggle.faults.schedule "
            "local_kaggle.execution",
            "local_kaggle.faults": f"{_tools} local_kaggle.faults.schedule local_kaggle.serving "
            "local_kaggle.signed local_kaggle.state",
            "local_kaggle.services": f"{_tools} local_kaggle.catalogue local_kaggle.serving "
            "local_kaggle.faults local_kaggle.faults.schedule local_kaggle.execution "
            "local_kaggle.state",
            "local_kaggle.app": f"{_tools} local_kaggle.services local_kaggle.faults "
            "local_kaggle.state",
            "local_kaggle.server": f"{_tools} local_kaggle.app local_kaggle.limits "
            "local_kaggle.faults.schedule local_kaggle.serving local_kaggle.state",
            "local_kaggle.standalone": f"{_tools} local_kaggle.catalogue local_kaggle.server "
            "local_kaggle.faults.schedule",
            "tpu": f"{_tools} notebooks",
            "push": f"{_tools} notebooks kaggle_api bundle runs tpu wheels local_kaggle.server "
            "local_kaggle.catalogue",
            "queue": f"{_tools} notebooks kaggle_api bundle runs push",
            "start": f"{_tools} notebooks kaggle_api",
            "sweep": "",
            "sweep.config": f"{_tools} notebooks bundle",
            "sweep.store": f"{_tools} pages sweep.config",
            "sweep.workers": f"{_tools} runs sweep.config sweep.store",
            "sweep.report": f"{_tools} pages sweep.config sweep.store",
            "sweep.backends": f"{_tools} notebooks bundle push runs sweep.config sweep.store "
            "sweep.workers sweep.report sweep.search wheels.session",
            "sweep.search": f"{_tools} pages sweep.config sweep.store sweep.workers sweep.report",
            "commands": f"{_tools} push queue runs start tpu sweep.command local_kaggle.standalone",
            "__main__": "commands",
            "sweep.command": f"{_tools} sweep.config sweep.store sweep.workers sweep.report "
            "sweep.backends sweep.search",
        },
    ),
}

# The one import that runs upward: away from Kaggle, flowers are drawn where no photos are.
UPWARD = {("petals.data.source", "petals.prepare.synthetic")}

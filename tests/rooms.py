"""The rooms of the house, and the rooms below each, which are all that it may import.

A room is a folder of `src/` or a module that stands alone; a module belongs to the longest
name that leads to it. `tests/test_walls.py` holds every import against this table.
"""

PETALS_GROUND = ["errors", "storage", "progress", "tables", "kaggle", "junk"]
KERNELKIT_GROUND = [
    "errors",
    "files",
    "processes",
    "machines",
    "project",
    "shown",
    "terminal",
]


def _below(package, rooms):
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
            "junk": "",
            "kaggle": "junk",
            "accelerators": _ground,
            "augment": _ground,
            "data": f"{_ground} settings augment",
            "models": _ground,
            "evaluation": f"{_ground} augment data accelerators",
            "training": f"{_ground} augment data accelerators models evaluation",
            "ahead_of_time": f"{_ground} settings augment data accelerators models evaluation "
            "training",
            "comparison": f"{_ground} settings data evaluation",
            "plots": f"{_ground} data evaluation",
            "resources": f"{_ground} accelerators",
            "run_folder": f"{_ground} versions resources data accelerators evaluation models plots",
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
            "kaggle_api": _tools,
            "run_folders": _tools,
            "reports": f"{_tools} notebooks run_folders",
            "running": f"{_tools} notebooks run_folders reports",
            "tpu": f"{_tools} notebooks",
            "workspace": f"{_tools} kaggle_api",
            "plans": f"{_tools} notebooks kaggle_api wheels.session",
            "datasets": f"{_tools} kaggle_api plans workspace",
            "submissions": f"{_tools} kaggle_api workspace",
            "checks": f"{_tools} notebooks kaggle_api tpu wheels workspace plans datasets "
            "run_folders",
            "pushes": f"{_tools} notebooks kaggle_api run_folders reports running workspace "
            "plans tpu checks submissions",
            "pulls": f"{_tools} notebooks kaggle_api workspace plans",
            "queue": f"{_tools} notebooks kaggle_api run_folders workspace plans checks pushes",
            "start": f"{_tools} notebooks kaggle_api plans",
            "doctor": f"{_tools} notebooks kaggle_api run_folders plans workspace submissions",
            "sweep": f"{_tools} notebooks plans run_folders reports",
            "live": f"{_tools} run_folders reports",
            "sweep.workers": f"{_tools} run_folders running sweep",
            "sweep.backends": f"{_tools} notebooks plans checks pushes run_folders sweep "
            "sweep.workers",
            "commands.completion": f"{_tools} notebooks workspace plans checks",
            "commands.options": "terminal commands.completion",
            "assistant": f"{_tools} run_folders reports",
            "commands.start": f"{_tools} commands.options start doctor assistant",
            "commands.run": f"{_tools} commands.options running tpu",
            "commands.kaggle": f"{_tools} commands.options commands.completion pushes pulls "
            "submissions datasets queue",
            "commands.compare": f"{_tools} commands.options reports sweep sweep.command live",
            "commands": f"{_tools} commands.options commands.start "
            "commands.run commands.kaggle commands.compare",
            "__main__": "commands",
            "sweep.command": f"{_tools} notebooks live reports sweep sweep.workers sweep.backends",
        },
    ),
    **_below(
        "local_kaggle",
        {
            "errors": "",
            "catalogue": "errors",
            "limits": "",
            "store": "errors",
            "serving": "errors",
            "faults.schedule": "",
            "execution": "catalogue limits store",
            "state": "catalogue errors limits store faults.schedule execution",
            "faults": "faults.schedule serving state",
            "wire": "faults faults.schedule state",
            "topics": "catalogue errors state wire",
            "files": "catalogue faults faults.schedule state wire",
            "kernels": "catalogue execution faults faults.schedule files limits serving state wire",
            "competitions": "catalogue files kernels execution state wire",
            "app": "competitions errors faults files kernels state topics wire",
            "server": "app errors execution serving state",
            "command": "catalogue errors server faults.schedule state",
            "__main__": "command",
            "": "catalogue errors execution faults.schedule limits server",
        },
    ),
}

# The one import that runs upward: away from Kaggle, flowers are drawn where no photos are.
UPWARD = {("petals.data.source", "petals.prepare.synthetic")}

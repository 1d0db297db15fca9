"""The rooms of the house, and the rooms below each, which are all that it may import.

A room is a folder of `src/` or a module that stands alone; a module belongs to the longest
name that leads to it. `tests/test_walls.py` holds every import against this table.
"""

PETALS_GROUND = [
    "errors",
    "storage",
    "progress",
    "quiet",
    "tables",
    "kaggle",
    "junk",
    "registry",
]
KERNELKIT_GROUND = [
    "errors",
    "typed",
    "files",
    "git",
    "processes",
    "machines",
    "image",
    "project",
    "interpreter",
    "shown",
    "terminal",
    "exits",
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
            "quiet": "",
            "tables": "",
            "versions": "",
            "settings": "errors registry",
            "junk": "",
            "kaggle": "junk",
            "time_left": "kaggle",
            "registry": "errors kaggle",
            "pretrained": "errors kaggle",
            "accelerators": _ground,
            "data": f"{_ground} settings",
            "augment": f"{_ground} data",
            "models": f"{_ground} registry pretrained",
            "evaluation": f"{_ground} augment data accelerators",
            "training": f"{_ground} settings augment data accelerators models evaluation",
            "ahead_of_time": f"{_ground} settings augment data accelerators models evaluation "
            "training",
            "comparison": f"{_ground} settings data evaluation",
            "plots.lettering": "",
            "plots.figures": f"{_ground} plots.lettering",
            "plots": f"{_ground} data evaluation plots.figures plots.lettering",
            "resources": f"{_ground} accelerators",
            "run_folder": f"{_ground} versions plots.figures plots.lettering",
            "classify": f"{_ground} data accelerators evaluation models plots plots.figures",
            "prepare": f"{_ground} data models",
        },
    ),
    **_below(
        "kernelkit",
        {
            "": "",
            "errors": "",
            "files": "errors typed",
            "git": "",
            "processes": "",
            "machines": "errors",
            "image": "machines",
            "typed": "errors",
            "project": "errors typed shown",
            "interpreter": "",
            "shown": "errors typed",
            "terminal": "",
            "exits": "terminal",
            "leaks": "terminal",
            "session": "",
            "notebook.language": _tools,
            "notebook.code.records": "notebook.language",
            "notebook.code.noting": f"{_tools} notebook.language notebook.code.records",
            "notebook.code": f"{_tools} notebook.language notebook.code.records "
            "notebook.code.noting",
            "notebook": f"{_tools} notebook.language",
            "notebook.interface": f"{_tools} notebook.language notebook.code.records notebook.code "
            "notebook",
            "notebook.project_rules": f"{_tools} notebook.interface",
            "notebook.files": f"{_tools} notebook.language notebook.code.records notebook.code "
            "notebook",
            "rehearsal": _tools,
            "kaggle.transport": _tools,
            "kaggle.services": f"{_tools} kaggle.transport",
            "kaggle": f"{_tools} kaggle.transport kaggle.services",
            "kaggle.context": f"{_tools} rehearsal kaggle.transport kaggle",
            "kaggle.exchange": f"{_tools} kaggle.transport kaggle.services kaggle",
            "kaggle.downloading": f"{_tools} kaggle.transport kaggle kaggle.exchange",
            "kaggle.uploading": f"{_tools} leaks kaggle.transport kaggle.services kaggle "
            "kaggle.context kaggle.exchange",
            "runs": f"{_tools} session notebook",
            "session_records": f"{_tools} session notebook runs",
            "scores": f"{_tools} notebook runs session_records",
            "running.executing": f"{_tools} notebook notebook.interface runs",
            "running": f"{_tools} notebook.code notebook notebook.interface runs scores "
            "running.executing",
            "pages.cells": f"{_tools} notebook",
            "pages.shared": f"{_tools} notebook runs session_records scores",
            "pages.judged": f"{_tools} runs session_records scores pages.shared",
            "pages.shown_first": f"{_tools} pages.cells pages.shared",
            "pages.one_run": f"{_tools} notebook notebook.interface runs session_records scores "
            "pages.cells pages.shared pages.judged pages.shown_first",
            "pages.many_runs": f"{_tools} runs scores pages.shared",
            "pages": f"{_tools} notebook runs session_records scores pages.shared pages.one_run "
            "pages.many_runs",
            "tpu.compiler": _tools,
            "tpu": f"{_tools} notebook notebook.interface scores tpu.compiler",
            "push.added": f"{_tools} session notebook notebook.files",
            "push.bundle": f"{_tools} notebook.code.records notebook.code notebook "
            "notebook.interface notebook.files push.added",
            "push.datasets": f"{_tools} kaggle kaggle.exchange kaggle.uploading",
            "push.described": f"{_tools} kaggle",
            "push.assumed": f"{_tools} notebook.code.records notebook.code notebook rehearsal "
            "kaggle push.described",
            "push.planned": f"{_tools} notebook notebook.interface notebook.project_rules kaggle "
            "push.bundle "
            "push.datasets push.described push.assumed",
            "submissions": f"{_tools} kaggle.transport kaggle kaggle.context kaggle.exchange runs "
            "scores pages.one_run",
            "push.known": f"{_tools} kaggle kaggle.context session_records",
            "push.asked": f"{_tools} rehearsal kaggle kaggle.exchange runs push.bundle "
            "push.datasets push.planned submissions push.known",
            "push.checks.findings": f"{_tools} tpu",
            "push.checks.locations": "",
            "push.checks.modules": f"{_tools} notebook.language notebook.code.records "
            "notebook.code notebook.files runs push.planned push.known push.checks.findings "
            "push.checks.locations",
            "push.checks.code": f"{_tools} notebook.language notebook.code.records notebook.code "
            "rehearsal kaggle push.described push.assumed push.planned push.checks.findings "
            "push.checks.locations push.checks.modules",
            "push.checks": f"{_tools} leaks notebook notebook.interface notebook.project_rules "
            "kaggle push.added "
            "push.bundle push.described push.planned push.known push.asked "
            "push.checks.findings push.checks.modules push.checks.code",
            "push.checked": f"{_tools} notebook notebook.interface kaggle.context runs tpu "
            "push.described push.planned push.known push.asked push.checks.findings "
            "push.checks.code push.checks",
            "push.rehearsed": f"{_tools} notebook.code rehearsal kaggle kaggle.context "
            "kaggle.downloading push.datasets push.planned push.known",
            "push.sending": f"{_tools} notebook.interface rehearsal kaggle.transport kaggle "
            "kaggle.exchange kaggle.uploading push.bundle push.planned push.known push.asked tpu",
            "push.awaited": f"{_tools} session kaggle.transport kaggle kaggle.context "
            "kaggle.exchange runs session_records push.planned push.known push.sending",
            "push.outputs": f"{_tools} session kaggle.transport kaggle kaggle.exchange runs "
            "session_records push.known",
            "push.delivered": f"{_tools} session runs session_records scores pages.one_run tpu "
            "push.planned submissions push.known push.awaited push.outputs",
            "push": f"{_tools} notebook.interface rehearsal kaggle.context runs session_records "
            "pages push.described push.planned submissions push.known push.asked "
            "push.checks.findings push.checks push.checked push.rehearsed push.sending "
            "push.awaited push.delivered",
            "hidden.tables": _tools,
            "hidden.competition": f"{_tools} notebook.code notebook.files hidden.tables",
            "hidden.division": f"{_tools} hidden.tables hidden.competition",
            "hidden.data": f"{_tools} rehearsal hidden.tables hidden.competition hidden.division",
            "hidden": f"{_tools} notebook.files rehearsal kaggle.context session_records scores "
            "push.planned push.known push.rehearsed push.delivered push hidden.tables "
            "hidden.competition hidden.data",
            "edits": f"{_tools} notebook kaggle kaggle.context push.bundle push.planned push.known",
            "watching": f"{_tools} notebook.interface kaggle.transport kaggle kaggle.context runs "
            "session_records scores push.planned submissions push.known push.asked push.checked "
            "push.rehearsed push.delivered push",
            "start": f"{_tools} notebook kaggle push.added push.bundle push.described push.assumed "
            "push.planned "
            "push.known push.checked",
            "doctor": f"{_tools} rehearsal kaggle kaggle.context session_records push.described "
            "push.planned submissions push.known push watching",
            "sweep.planning": f"{_tools} notebook notebook.interface notebook.files",
            "sweep.sweep_folder": f"{_tools} notebook.interface sweep.planning",
            "sweep.search": f"{_tools} scores sweep.planning sweep.sweep_folder",
            "sweep.results": f"{_tools} notebook.interface runs session_records scores "
            "pages.shared pages.many_runs sweep.planning sweep.sweep_folder",
            "sweep": f"{_tools} runs session_records pages.many_runs sweep.planning "
            "sweep.sweep_folder sweep.results sweep.search",
            "sweep.workers": f"{_tools} notebook.interface runs scores running pages.one_run "
            "sweep.planning sweep.sweep_folder sweep.search",
            "sweep.backends": f"{_tools} notebook notebook.interface notebook.project_rules "
            "kaggle runs session_records "
            "scores push.datasets push.described push.planned push.checks.findings "
            "push.checks.code push sweep.planning sweep.sweep_folder sweep.results sweep.search "
            "sweep sweep.workers",
            "sweep.run_sweep": f"{_tools} notebook notebook.interface notebook.project_rules "
            "running pages.shared pages "
            "sweep.planning sweep.sweep_folder sweep.search sweep sweep.workers sweep.backends",
            "cli": f"{_tools} notebook notebook.interface push.described push.known push.checks",
            "cli.commands": f"{_tools} kaggle.uploading running pages.one_run pages push.planned "
            "push.checked push hidden edits watching start doctor sweep sweep.run_sweep cli",
            "__main__": "cli",
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
            "faults": "",
            "execution": "catalogue limits store",
            "state": "catalogue errors limits store faults execution",
            "fault_responses": "faults serving state",
            "wire": "faults fault_responses state",
            "topics": "catalogue errors state wire",
            "files": "catalogue faults fault_responses limits state wire",
            "kernels": "catalogue execution faults fault_responses files limits serving state wire",
            "competitions": "catalogue errors files kernels execution state wire",
            "app": "competitions errors fault_responses files kernels state topics wire",
            "server": "app competitions errors execution serving state",
            "command": "catalogue errors faults limits server state",
            "__main__": "command",
            "": "catalogue competitions errors execution faults limits server",
        },
    ),
}

# The one import that runs upward: at home, drawn flowers stand in where no photos are.
UPWARD = {("petals.data.source", "petals.prepare.drawn_flowers")}

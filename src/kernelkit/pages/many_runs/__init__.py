"""The page of many runs: of a sweep, or of a folder of runs.

Begin with `runs_page`: a `ShownRun` is a run as the page has it, a `RunsPage` the page.
`index_page` gathers the runs of a folder; those of a sweep the room `sweep` gathers. What the page
says and draws of them is made in the browser: `scripts/runs/page.js`.

May import `runs`, `scores`, `shared` and the ground floor.
"""

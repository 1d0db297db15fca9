"""What the reports and the pages of many runs share.

Begin with `standalone`: it makes the one file that a page is, and puts its scripts together.
`trail` has the links between pages and `naming` calls the runs; `ending` judges how a run ended.
`sections` reads the files that `[tool.kernelkit.shown]` names. `thumbnail` keeps the small picture
of a run; `attempts.attempt` returns what went wrong with one page, so that the others are written.

May import `runs`, `session_records`, `scores`, `notebook` and the ground floor.
"""

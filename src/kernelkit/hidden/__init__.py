"""A code competition's second run, rehearsed: its hidden data, its projection, its findings.

Begin with `hidden_run.rehearse_hidden_run`, or with `hidden_data.make_hidden_data` for the data
alone. May import `push`, `rehearsal`, `kaggle`, `runs`, `notebook` and the ground floor.
"""

"""A code competition's second run, rehearsed: its projection, and what of a notebook broke in it.

Begin with `hidden_run.rehearse_hidden_run`. Its data is made in `hidden.data`; what `hidden.tables`
reads is compared in `public_and_hidden` and `hidden_breaks`. May import `push`,
`rehearsal`, `kaggle`, `scores`, `session_records`, `runs`, `notebook` and the ground floor.
"""

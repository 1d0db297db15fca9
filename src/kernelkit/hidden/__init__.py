"""A code competition's second run, rehearsed: its data, what broke, and what more rows would take.

Begin with `hidden_run.rehearse_hidden_run`. The room `data` makes the data, of the tables that
`competition` finds, `tables` reads and `division` divides. `public_and_hidden` has both test sets,
public and hidden: by them `hidden_breaks` says what broke, and `projection` the time and memory for
the real number of rows. May import `push`, `rehearsal`, `kaggle`, `scores`, `session_records`,
`notebook` and the ground floor.
"""

"""The doctor: test what the kit assumes about Kaggle, and keep what was seen there.

    examination  the account is asked, `probe` is pushed, and the table is written
    assumptions  what is assumed, and how what was seen is judged by it
    probe        the notebook that inspects a session; it runs there, and imports nothing of the kit

Begin with `examination.examine`. May import `push`, `watching`, `submissions`, `rehearsal`,
`kaggle`, `session_records` and the ground floor.
"""

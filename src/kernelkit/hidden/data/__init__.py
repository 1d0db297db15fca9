"""The data of a code competition's second run: tables divided by SQL, or what a command makes.

Begin with `hidden_data.make_hidden_data`, which calls one of these:

    from_tables   by SQL: `division` says which rows become hidden, `new_ids` how they are called,
                  and `hidden_tables` and `hidden_files` what is written
    from_command  by a command of the project

Both return a `hidden_content`. `scoring_rules` says how the answers are scored. May import
`hidden.competition`, `hidden.tables`, `rehearsal` and the ground floor.
"""

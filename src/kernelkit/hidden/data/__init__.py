"""The data of a code competition's second run: tables divided by SQL, or what a command makes.

Begin with `hidden_data.make_hidden_data`, which calls one of these:

    from_tables   by SQL: the room `division` says which rows become hidden, `hidden_tables` what
                  each table holds then, and `hidden_files` which files come along
    from_command  by a command of the project

Both return a `HiddenContent`. `scoring_rules` says how the answers are scored. May import
`hidden.division`, `hidden.competition`, `hidden.tables`, `rehearsal` and the ground floor.
"""

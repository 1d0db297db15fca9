"""The data of a code competition's second run: tables divided by SQL, or what a command makes.

Begin with `hidden_data.make_hidden_data`; `from_tables` is the way by SQL, `from_command` the
other. May import `rehearsal`, `notebook` and the ground floor.
"""

"""Which tables a competition has, and which of their columns are what.

Begin with `competition_tables.find`, which says which files are its tables, then
`columns.find_columns`. What neither the tables nor the settings tell is an `unknown`; one error
asks for all of them. `gateway_files` says which files a gateway serves. May import `tables`,
`notebook` and the ground floor.
"""

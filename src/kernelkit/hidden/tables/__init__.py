"""The tables of a competition: where they lie, how they are read, and which columns are what.

Begin with `competition_tables.find`, which tells what counts as a competition's tables, then
`columns.find_columns`; what neither the tables nor the settings tell is an `unknown`, all of which
are asked for in one error. `table_engine` reads, divides and writes tables by DuckDB; `table_files`
finds them, and reads submissions and answers row after row; `gateway_files` says what a gateway
serves. May import `notebook` and the ground floor.
"""

"""The tables of a competition: where they lie, and how DuckDB reads and writes them.

Begin with `competition_tables.find`, which tells what counts as a competition's tables, and then
`table_engine.TableEngine`. `table_files` reads submissions and answers without DuckDB, and
`gateway_files` says what a competition's gateway serves. May import `notebook` and
the ground floor.
"""

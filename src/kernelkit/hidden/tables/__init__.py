"""Tables in CSV and Parquet files: found by their names, read, divided by SQL, and written.

Begin with `table_engine.TableEngine`, which is DuckDB. `table_files` finds the tables of a folder,
and reads submissions and answers row after row. May import the ground floor.
"""

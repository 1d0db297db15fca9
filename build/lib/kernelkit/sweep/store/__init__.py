"""What a sweep keeps on disk: a record for each run, and the table of results."""

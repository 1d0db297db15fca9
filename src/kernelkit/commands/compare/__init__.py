"""Commands for many runs: `sweep` starts them, `report` and `watch` show them."""

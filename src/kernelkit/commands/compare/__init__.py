"""Commands for many runs: `sweep` starts them, `report` shows them."""

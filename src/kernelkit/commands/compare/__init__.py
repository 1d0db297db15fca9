"""Commands over many runs: `sweep` makes them, `report` shows them."""

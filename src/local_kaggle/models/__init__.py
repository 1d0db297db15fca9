"""Models: so far a list of those in the catalogue. May import `api` and `state`."""

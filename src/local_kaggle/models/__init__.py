"""Models: for now only a list of those in the catalogue. May import `api` and `state`."""

"""Forums and topics of the catalogue, to be read. May import `api`, `catalogue` and `state`."""

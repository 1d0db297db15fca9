"""Files behind signed links: downloads with ranges, archives, and uploads that can be resumed.

Begin with `storage`. May import `api`, `faults` and `state`.
"""

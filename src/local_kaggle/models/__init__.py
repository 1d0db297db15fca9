"""Models and their variations: those of the catalogue, and those that users upload.

Begin with `models`. May import `api`, `catalogue`, `files` and `state`.
"""

"""Datasets: those of the catalogue, and those that users upload.

Begin with `datasets`. May import `api`, `files` and `state`.
"""

"""Start: an empty folder becomes a repository that rehearses, sweeps and pushes.

Begin with `new_repository.init`; `pulled` reads another's notebook from Kaggle and runs nothing
of it. May import the ground, `notebooks` and `kaggle_api`.
"""

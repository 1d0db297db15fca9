"""Turn an empty folder into a repository that rehearses, sweeps and pushes.

Begin with `new_repository.init`; `pulled` reads someone else's notebook from Kaggle without running
it. May import the ground, `notebooks` and `kaggle_api`.
"""

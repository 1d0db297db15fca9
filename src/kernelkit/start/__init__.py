"""Turn an empty folder into a repository that rehearses, sweeps and pushes.

Begin with `new_repository.init`. May import the ground, `notebooks`, `kaggle_api` and `plans`.
"""

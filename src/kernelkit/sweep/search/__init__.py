"""A search instead of a grid: Optuna chooses the runs, learns from their scores, and prunes.

Begin with `search.Search`, which the workers ask for runs. `space` says which points there are,
and which of them have run. May import `planning`, the sweep's folder, `scores` and the ground
floor.
"""

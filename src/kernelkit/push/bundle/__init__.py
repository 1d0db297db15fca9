"""What travels: the notebook with the modules that it imports, its settings, its wheels.

Begin with `build.build`, which packs a notebook so that it needs only Kaggle's image. May import
`notebook`, `kaggle`, `rehearsal`, `session` and the ground floor.
"""

"""A notebook with the modules it imports inside, ready to run on Kaggle's image alone.

Begin with `build.build`. Imports `kernelkit.notebooks` and `kernelkit.project`.
"""

"""Every check that runs before anything is sent to Kaggle.

Begin with `preflight`.
"""

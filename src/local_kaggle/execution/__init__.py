"""Sessions of the local Kaggle: image, mounts, sandbox, process, log.

Begin with `sessions.Sessions`. May import `catalogue`, `limits` and `store`.
"""

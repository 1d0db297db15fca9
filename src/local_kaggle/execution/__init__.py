"""Sessions of the local Kaggle: image, mounts, sandbox, process, log.

Begin with `sessions.Sessions`.
"""

"""Uploading a folder as a private dataset, and waiting until it is ready.

Begin with `dataset`.
"""

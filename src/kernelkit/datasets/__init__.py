"""Uploading a folder as a private dataset or as a model, and waiting until kernels can use it.

Begin with `folders`.
"""

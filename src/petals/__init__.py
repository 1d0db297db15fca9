"""Flowers on TPUs: data, models, training and evaluation, for use inside a notebook."""

__version__ = "0.1.0"

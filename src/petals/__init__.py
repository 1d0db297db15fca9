"""Flowers on TPUs: data, models, training and evaluation, for use inside a notebook."""

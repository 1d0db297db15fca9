"""Notebooks from the desk to Kaggle and back: run, push, sweep, report."""

__version__ = "0.1.0"

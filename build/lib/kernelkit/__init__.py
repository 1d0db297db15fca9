"""Notebooks from the desk to Kaggle and back: run, push, sweep, report."""

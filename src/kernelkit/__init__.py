"""Develop Kaggle notebooks locally: run, push, sweep, report."""

"""Kaggle's API through the official client: typed answers, sorted failures, bounded retries.

Begin with `client.Kaggle`; `retries` says when a request is repeated. Imports `kernelkit.errors`.
"""

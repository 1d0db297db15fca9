"""Kaggle's API through the official client: typed answers, classified failures, bounded retries.

Begin with `client.Kaggle`; `retries` decides when a request is repeated. Imports
`kernelkit.errors`.
"""

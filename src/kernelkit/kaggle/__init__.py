"""Kaggle's API through the official client: typed answers, classified failures, bounded retries.

Begin with `client.Kaggle`; `retries` decides when a request is repeated, `context` is what every
command that talks to Kaggle works with. May import `rehearsal`, `credentials` and the ground floor.
"""

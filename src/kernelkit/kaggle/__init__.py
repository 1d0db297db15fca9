"""Kaggle's API through the official client: checked answers, classified failures, bounded retries.

Begin with `context`, which every command that talks to Kaggle works with, and which starts a
rehearsal's Kaggle where a command asks for it; then `client.Kaggle`. `failures` says what a failed
request means, `retries` when it is repeated. Below them are `connection` and `calls`. `exchange`
moves files. May import `rehearsal` and the ground floor.
"""

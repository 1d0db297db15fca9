"""Kaggle as one account sees it: each call that the kit makes, and what the answers mean.

Begin with `context`, which every command that talks to Kaggle works with, and which starts a
rehearsal's Kaggle where a command asks for it. It gives a `client.Kaggle`, whose answers are
values, and whose `calls` has a method for each call; `retries` repeats what may pass. `timing` says
how long anything may take; `kernel` and `metadata_words` are what things are called. `transport`
makes the requests, `exchange` moves a file, `downloading` and `uploading` many. May import
`rehearsal` and the ground floor.
"""

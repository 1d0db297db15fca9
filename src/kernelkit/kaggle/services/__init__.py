"""Kaggle's competitions, datasets and models: a method for each call that the kit makes.

A module has the calls of one service of Kaggle's API, each sent once; `client.Kaggle` holds them as
`competitions`, `datasets`, `models` and `blobs`, and repeats what may be repeated. `blobs` has the
files that datasets and models are made of. May import `kaggle.transport` and the ground floor.
"""

"""Kaggle as one account sees it: its kernels as values, and what may pass repeated.

Begin with `client.Kaggle`. `kernels` has a method for each call about kernels, and `answers` what
comes of them; the calls about all else are in `services`. `retries` says when a failed call is
repeated; `kernel` and `metadata_words` are what things are called. Commands get a `Kaggle` from
`context`. `transport` makes the requests, `exchange` moves a file, `downloading` and `uploading`
many. May import the ground floor.
"""

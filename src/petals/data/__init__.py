"""From TFRecord shards to batches: find the data, inspect it, feed it to training.

Begin with `source.find_source`, then `pipeline.Batches`. Imports only `augment` and the ground
floor of petals; `source` alone reaches up to `petals.prepare`, lazily, for the drawn flowers.
"""

"""From TFRecord shards to batches: where the data is, what it holds, how it is fed.

Begin with `source.find_source`, then `pipeline.Batches`. Imports only `augment` and the ground
floor of petals; `source` alone reaches up to `petals.prepare`, lazily, for the drawn flowers.
"""

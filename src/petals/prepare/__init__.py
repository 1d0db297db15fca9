"""At the desk only, never in a bundle: TFRecords from photos, drawn flowers, rehearsal data.

Begin with `ingest.make_tfrecords` or `synthetic.ensure_dataset`. Imports `petals.data`.
"""

"""Make datasets at the desk: TFRecords from photos, drawn flowers, rehearsal data.

Begin with `ingest.make_tfrecords` or `synthetic.ensure_dataset`. Never part of a bundle. Imports
`petals.data`.
"""

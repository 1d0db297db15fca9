"""Make datasets at the desk: TFRecords from photos, drawn flowers in any size, rehearsal data.

Begin with `ingest.make_tfrecords` or `drawn_flowers.at_size`. Never part of a bundle. Imports
`petals.data` and `petals.models`.
"""

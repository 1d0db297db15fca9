"""Draw flowers of 104 kinds: `picture` draws one, `dataset` a whole set of TFRecords."""

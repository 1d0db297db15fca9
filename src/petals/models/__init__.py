"""A classifier: a backbone with its weights, pooling and a softmax head.

A new backbone is one line in `petals.registry`. Begin with `build.build`. Imports only the
ground floor of petals.
"""

"""Which machine this is: TPU, GPU or CPU, on one host or several, and the Keras that drives it.

Begin with `detect.detect`. Imports only the ground floor of petals.
"""

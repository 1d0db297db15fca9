"""Augmentation: the host draws random numbers for each image, the device changes the pixels.

Begin with `augmentation`; `draws` has the levels to choose from, and `layer` puts the change in
front of a model. Imports only `data` and the ground floor of petals.
"""

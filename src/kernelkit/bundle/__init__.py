"""Bundles: a notebook packed with the modules it imports, so that it needs only Kaggle's image.

Begin with `build.build`. May import `kernelkit.notebooks`, `kernelkit.wheels.session` (whose source
is packed in) and the ground floor.
"""

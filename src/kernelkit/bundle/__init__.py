"""Bundles: a notebook packed with the modules it imports, ready to run on Kaggle's image alone.

Begin with `build.build`. May import `kernelkit.notebooks`, `kernelkit.wheels.session`, whose source
is packed in, and the ground floor.
"""

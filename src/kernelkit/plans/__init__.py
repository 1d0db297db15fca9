"""A push before it is sent: the kernel's settings, the parameters, the notebook with its modules.

Begin with `plan`; `build` packs the notebook with what it imports, so that it needs only Kaggle's
image. May import `notebooks`, `kaggle_api`, `wheels.session` (whose source is packed in) and the
ground modules.
"""

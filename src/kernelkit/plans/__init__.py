"""A push before it is sent: the kernel's settings, the parameters and the bundle.

Begin with `plan`. May import `bundle`, `notebooks` and the ground modules.
"""

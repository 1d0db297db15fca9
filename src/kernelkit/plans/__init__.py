"""What a push would send: the settings of its kernel, its parameters and its bundle.

Begin with `plan`. May import `bundle`, `notebooks` and the ground modules.
"""

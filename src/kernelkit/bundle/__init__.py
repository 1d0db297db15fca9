"""A notebook with the modules it imports inside, ready to run on Kaggle's image alone.

Begin with `build.build`. May import `kernelkit.notebooks`, `kernelkit.wheels.session`, whose source
rides along, and the ground floor.
"""

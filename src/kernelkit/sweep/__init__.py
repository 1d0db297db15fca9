"""Many runs of one notebook from one YAML file, one table, nothing lost.

Begin with `command.sweep`. Inside a session only `backends.in_session` and what it imports run:
nothing of `kernelkit.pushes`, `kernelkit.kaggle_api` or `local_kaggle`.
"""

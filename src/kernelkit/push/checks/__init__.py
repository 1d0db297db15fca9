"""Everything that is looked at before a push is sent, each check from a plan to findings.

Begin with `preflight`. May import `push.plan`, `push.bundle`, `tpu`, `runs`, `kaggle`, `notebook`
and the ground floor.
"""

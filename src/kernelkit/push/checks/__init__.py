"""Everything that is looked at before a push is sent, each check from a plan to findings.

Begin with `preflight`, whose checks need no network; those of `on_kaggle` ask Kaggle, and
`compiled` the TPU's compiler. Nothing is uploaded here. May import `push.request`, `push.plan`,
`push.ledger`, `push.push_context`, `push.bundle`, `tpu`, `runs`, `kaggle`, `notebook`,
`credentials` and the ground floor.
"""

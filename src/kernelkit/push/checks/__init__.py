"""Everything that is looked at before a push is sent, each check from a plan to findings.

Begin with `preflight`, whose checks need no network. Those of `on_kaggle` look at what Kaggle said,
an `Account`, and `compiled` asks the TPU's compiler. `findings.show` tells what was found, and ends
the push at an error. Nothing asks Kaggle here. May import `push.request`, `push.plan`,
`push.account`, `push.ledger`, `push.push_context`, `push.bundle`, `tpu`, `session_records`,
`runs`, `rehearsal`, `kaggle`, `notebook`, `leaks` and the ground floor.
"""

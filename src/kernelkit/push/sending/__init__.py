"""From a plan that nothing speaks against to one version on Kaggle, at most.

    wheels  the wheels that a plan needs, found in the package index and downloaded
    ready   what the push needs on Kaggle is there: its wheels and its attached folders
    sent    the version, in the ledger before it is sent; or an identical push, taken up

Begin with `sent.send`. May import `push.checks`, `push.checks.code`, `push.known`, `push.planned`,
`push.datasets`, `push.bundle`, `kaggle`, `notebook` and the ground floor.
"""

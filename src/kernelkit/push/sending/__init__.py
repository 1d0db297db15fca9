"""From a plan that nothing speaks against to one version on Kaggle, at most.

    ready      what the push needs on Kaggle is there: its wheels and its attached folders
    sent       the version, in the ledger before it is sent; or an identical push, taken up
    save_once  the request that starts a session, which never starts two
    arrived    which versions on Kaggle show the numbers of our pushes, also of killed commands
    saved      whether Kaggle saved what was sent: its machine, sources and internet

Begin with `sent.send`. May import `push.asked`, `push.known`, `push.planned`, `push.bundle`,
`tpu`, `kaggle`, `rehearsal`, `notebook` and the ground floor.
"""

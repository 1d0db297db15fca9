"""What is known before a push is sent: by this repository, and by Kaggle.

    ledger          the pushes of this repository, each written before it is sent
    push_context    the context of a command about pushes: Kaggle's, with the ledger
    session_images  what earlier sessions reported of Kaggle's images
    wheels          the wheels that a plan needs for the Python that is known of its machine
    account         what Kaggle says of the account, its sessions and hours, and a plan's inputs
    identical       whether an earlier push is the same, and what becomes of it

Begin with `ledger.Push`, a line of the ledger, and with `account.ask`. May import `push.planned`,
`push.datasets`, `push.bundle`, `submissions`, `session_records`, `runs`, `kaggle`, `rehearsal` and
the ground floor.
"""

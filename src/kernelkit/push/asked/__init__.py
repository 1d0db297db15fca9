"""What others are asked before a push is sent: the package index for wheels, Kaggle for the rest.

    wheels     the wheels that a plan needs for the Python that is known of its machine
    account    what Kaggle says of the account, its sessions and hours, and a plan's inputs
    identical  whether an earlier push is the same, and what becomes of it

Begin with `account.ask`. May import `push.known`, `push.planned`, `push.datasets`, `push.bundle`,
`submissions`, `runs`, `kaggle`, `rehearsal` and the ground floor.
"""

"""What every command that talks to Kaggle needs: runs folder, ledger, connection, time limits.

Begin with `context`. May import `kaggle_api` and the ground modules.
"""

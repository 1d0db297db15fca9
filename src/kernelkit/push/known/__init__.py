"""What this repository knows of its pushes, and of Kaggle's images from them.

    ledger          every push, written before it is sent
    push_context    the context of a command about pushes: Kaggle's, with the ledger, the folders
                    of results, and the copies that a pull makes
    session_images  what earlier sessions reported of Kaggle's images

Begin with `ledger.Push`, a line of the ledger. May import `session_records`, `kaggle` and the
ground floor.
"""

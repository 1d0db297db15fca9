"""What a report shows before the notebook: the pictures and tables of the run.

    first     which of them stand there, and which picture stands for the run
    pictures  those that the notebook shows, and those that the run left as files
    headings  the heading above each

Begin with `first.chosen`. May import `pages.cells`, `pages.shared` and the ground floor.
"""

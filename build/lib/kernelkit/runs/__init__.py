"""Runs on this machine, and what any run leaves: folder, log, report, index page.

Begin with `run_notebook.run_notebook` or `run_folder`. Never imports the Kaggle client.
"""

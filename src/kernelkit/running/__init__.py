"""A run of a notebook on this machine: its parameters, its folder, its measures, its report.

    run_notebook      a run, from the notebook and its values to what is told at its end
    chosen_folder     the folder of a run: a new one, or that of the same run if it did not finish
    lacking_packages  the packages that this Python lacks for it
    show_parameters   the notebook's parameters, for whoever wants to set them

Begin with `run_notebook.run_notebook`; the room `executing` executes the notebook. May import
`notebook`, `runs`, `scores` and the ground floor.
"""

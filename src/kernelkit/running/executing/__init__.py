"""Execute a notebook with papermill: its process, what it prints, and what failed.

    execute         the notebook with its values, kept in the run's folder however it ends
    kernel_manager  how its process is started, and how what it writes reaches the terminal
    resources       the memory and CPU that it uses, which say why a process died

Begin with `execute.execute`. May import `notebook`, `runs` and the ground floor.
"""

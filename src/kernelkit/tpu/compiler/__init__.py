"""The TPU's compiler on this machine: the environment that has it, and the project's command in it.

    environment  `.venv-tpu`, made when it is first needed, and other versions of libtpu beside it
    compiling    runs the project's command, and reads what it says of each program

Begin with `compiling.compile_programs`, and `environment.python_of`, the Python that it takes. May
import only the ground floor.
"""

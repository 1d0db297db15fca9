"""`python -m local_kaggle` is the command `local-kaggle`."""

from local_kaggle.command import command

if __name__ == "__main__":
    command(prog_name="local-kaggle")

"""The errors of the local Kaggle."""


class LocalKaggleError(Exception):
    """One line that says what to do; a command ends with `exit_code`."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code

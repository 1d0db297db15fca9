"""Words of Kaggle's files of metadata: the kinds of inputs, and owners that are to be filled in."""

SOURCES = ("dataset", "competition", "kernel", "model")  # the kinds of a kernel's inputs
PLACEHOLDERS = (  # of owners
    "INSERT_USERNAME",
    "INSERT_USERNAME_HERE",
    "USERNAME",
    "YOUR_USERNAME",
    "KAGGLE_USERNAME",
    "YOUR_KAGGLE_USERNAME",
)


def is_placeholder(owner: str) -> bool:
    """Whether the owner in an id stands for a user name that is still to be filled in."""
    return owner.upper().replace("-", "_").strip("_") in PLACEHOLDERS


def owned(source: str, username: str) -> str:
    """A source such as "owner/slug", with `username` for the owner if that is a placeholder."""
    owner, slash, name = source.partition("/")
    return f"{username}/{name}" if slash and is_placeholder(owner) else source

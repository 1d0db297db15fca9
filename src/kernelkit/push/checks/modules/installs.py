"""What the commands of code install, as far as their words say, and what code brings of modules."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from kernelkit.notebook.code.records import Command, Reading
from kernelkit.notebook.language import shell
from kernelkit.push.planned.plan import Plan

# The words after which a program names what it installs for Python.
VERBS = {"pip": ("install",), "uv": ("add", "sync"), "conda": ("install",), "mamba": ("install",)}
NEWEST = {"-U", "-I", "--upgrade", "--force-reinstall", "--ignore-installed"}
# Words by which an install takes files of the session, or what is not known.
OF_SESSION = ("--no-index", "-f*", "--find-links*", "*.whl*", "*/*", "*{*", "*$*", ".", ".[[]*")
LISTS = ("-r*", "--requirement*")  # files that name packages
# The options with a value that says nothing of what is installed, as the help of pip, uv and conda
# lists them: all but -e, -r and -f.
WITH_VALUE = """
-c --constraint -t --target --platform --python-version --implementation --abi --root --prefix --src
--upgrade-strategy -C --config-settings --config-setting --global-option --no-binary --only-binary
--progress-bar --root-user-action --report --group -i --index-url --extra-index-url --python --log
--keyring-provider --proxy --retries --timeout --exists-action --trusted-host --cert --client-cert
--cache-dir --use-feature --use-deprecated --index --default-index --python-platform --link-mode
--index-strategy -p -n --name --channel
"""
TAKES_VALUE = frozenset(WITH_VALUE.split())
# Words of commands that copy, unpack or build what may hold modules.
COPIES = {"unzip", "tar", "clone", "cp", "setup.py"}


@dataclass(frozen=True)
class Install:
    """A command that installs.

    packages       what it installs by name
    changed        those of them of which it asks for another version than may be there
    has_url        whether it names an address of the internet
    is_of_session  whether it takes files of the session, as far as that is known
    may_be_any     whether it may bring any package: it names files, or nothing that is known here
    """

    packages: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    has_url: bool = False
    is_of_session: bool = False
    may_be_any: bool = False


class BroughtByCode:
    """The modules that a plan's code may bring.

    may_be_any  whether it may bring any: it installs files, or adds a folder of the session to
                `sys.path`
    packages    what it installs by name
    copies      whether it copies or unpacks something, which may hold modules that no list knows
    computed    whether it adds a folder to `sys.path` that is not known
    """

    def __init__(self, plan: Plan) -> None:
        self.may_be_any = False
        self.packages: set[str] = set()
        self.copies = False
        self.computed = False
        for _, reading in plan.bundle.readings:
            self._add(reading)

    def installs(self, distribution: str) -> bool:
        """Whether it installs a distribution, or one whose name begins so, as autogluon.tabular."""
        return any(
            name == distribution or name.startswith(f"{distribution}-") for name in self.packages
        )

    def _add(self, reading: Reading) -> None:
        for command in reading.commands:
            install = of_command(command)
            self.may_be_any |= install.may_be_any
            self.packages |= install.packages
            self.copies |= not COPIES.isdisjoint(command.words)
        for folder in reading.folders:
            if folder is None:
                self.computed = True
            else:
                self.may_be_any |= folder.path.startswith(("/", "../input"))


def of_command(command: Command) -> Install:
    """What a command installs; empty if it installs nothing."""
    after_verb = _after_verb(shell.plain(command.words))
    if after_verb is None:
        return Install()
    words = list(_without_values(_apart(after_verb)))
    is_newest = not NEWEST.isdisjoint(words)
    packages = set()
    changed = set()
    for requirement in _requirements(words):
        name = canonicalize_name(requirement.name)
        packages.add(name)
        if is_newest or requirement.specifier or requirement.url:
            changed.add(name)
    is_of_session = _has(words, OF_SESSION)
    return Install(
        packages=frozenset(packages),
        changed=frozenset(changed),
        has_url=any("://" in word and "file://" not in word for word in after_verb),
        is_of_session=is_of_session,
        may_be_any=is_of_session or _has(words, LISTS) or not packages,
    )


def _after_verb(words: Sequence[str]) -> Sequence[str] | None:
    """The words of a command after `install` or the like; None if it installs nothing."""
    program, *others = words or [""]
    for number, word in enumerate(others):
        if word in VERBS.get(program, ()):
            return others[number + 1 :]
    return None


def _apart(words: Sequence[str]) -> Iterator[str]:
    """The words, with an option for each letter behind a dash: `-q -U` of `-qU`."""
    for word in words:
        letters = word.removeprefix("-")
        if letters != word and letters.isalpha():
            for letter in letters:
                yield f"-{letter}"
        else:
            yield word


def _without_values(words: Iterable[str]) -> Iterator[str]:
    """The words without the values of the options in `TAKES_VALUE`."""
    is_value = False
    for word in words:
        option, equals, _ = word.partition("=")
        takes_value = option in TAKES_VALUE
        if not is_value:
            yield option if takes_value else word
        is_value = takes_value and not equals and not is_value


def _has(words: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(word, pattern) for word in words for pattern in patterns)


def _requirements(words: Sequence[str]) -> list[Requirement]:
    """The words that name packages, such as "jax[tpu]==0.4.17", and no options or paths."""
    found = []
    for word in words:
        try:
            found.append(Requirement(word))
        except InvalidRequirement:
            continue
    return found

"""The checks of kernel-metadata.json: its keys, names, sources, machine and image, and that it
names the competition of a submission.

Kaggle silently accepts many mistakes: a misspelt key, a source with a prefix, a machine that no
longer exists. These checks find each of them. (An image that would pin a TPU run to the CPU is not
sent, see `Plan.save_fields`.)
"""

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from kernelkit import errors, machines
from kernelkit.kaggle.metadata_words import PLACEHOLDERS
from kernelkit.push.checks.findings import MINOR, Finding, error, guess
from kernelkit.push.described.metadata import SHAPES, SHORTEST_TITLE, Metadata, Settings, bare
from kernelkit.push.known.ledger import Ledger
from kernelkit.push.planned.plan import Plan


def submission(plan: Plan) -> Iterator[Finding]:
    """A submission without a competition to submit to."""
    if plan.request.submit is not None and not plan.metadata.competition:
        yield error(
            "--submit needs a competition: add one to competition_sources in "
            f"{plan.metadata.path.name}"
        )


def keys(plan: Plan) -> Iterator[Finding]:
    """Values of the wrong type, and keys that Kaggle's client would ignore."""
    for misfit in plan.metadata.misfits:
        kind = misfit.kinds[0].__name__
        yield error(f"{misfit.name} must be a JSON {kind}, not {misfit.value!r}")
    ignored = []
    for key, value in _unknown(plan.metadata).items():
        meant = _meant(key, value, plan.metadata.settings)
        if meant:
            yield error(f"Kaggle ignores the unknown key {key!r}: did you mean {meant}?")
        else:
            ignored.append(key)
    if ignored:
        text = f"Kaggle ignores these keys of its metadata: {', '.join(ignored)}"
        if re.search("gpu|tpu|accelerator", text):
            text += f" (machine_shape names a machine, such as {machines.TODAY['gpu']})"
        yield guess(text, MINOR)


def _unknown(metadata: Metadata) -> dict[str, Any]:
    """The keys of a file that are no settings, with their values.

    Comments are left out, such as "_comment" or "//", values that change nothing, and lists that
    another key has, too.
    """
    lists = [each for each in asdict(metadata.settings).values() if isinstance(each, list)]
    unknown = {}
    for key, value in metadata.others.items():
        is_comment = not key[:1].isalpha()
        is_without_effect = value in (None, "", []) or value in lists
        if not is_comment and not is_without_effect:
            unknown[key] = value
    return unknown


def _meant(key: str, value: object, settings: Settings) -> str:
    """The setting of which an unknown key is a misspelling; "" if it is none.

    It is one that the file does not set.
    """
    said = asdict(settings)
    unset = {name: default for name, default in asdict(Settings()).items() if said[name] == default}
    if isinstance(value, bool):
        unset = {name: default for name, default in unset.items() if isinstance(default, bool)}
    return errors.near(key, unset)


def identity(plan: Plan) -> Iterator[Finding]:
    """An id and a title that match, and that Kaggle accepts."""
    from slugify import slugify  # as Kaggle's client derives it

    metadata = plan.metadata
    settings = metadata.settings
    name = settings.id
    if not re.fullmatch(r"[\w-]+/[\w-]+", name):
        parts = name.rstrip("/").split("/")
        owner = parts[-2] if len(parts) > 1 else ""
        slug = parts[-1]
        if not re.fullmatch(r"[\w-]+", owner):
            owner = PLACEHOLDERS[0]
        if not re.fullmatch(r"[\w-]+", slug):
            slug = slugify(settings.title)
        yield error(f'id {name!r} is not OWNER/SLUG: write "{owner}/{slug}"')
        return
    for kind, text in (("slug", metadata.slug), ("title", settings.title)):
        if len(text) < SHORTEST_TITLE:
            yield error(
                f"the {kind} {text!r} has fewer than the five characters that Kaggle demands: "
                "choose longer ones for title and id"
            )
            return
    derived = slugify(settings.title)
    # What Kaggle makes of other letters is not known: in public ids it leaves them out.
    if not settings.title.isascii() or derived == metadata.slug.lower():
        return
    pushed = {push.name.slug for push in Ledger(plan.project.runs).of()}
    if settings.id_no or metadata.slug in pushed:  # Kaggle has this kernel, whose slug stays
        return
    yield guess(
        f"the title {settings.title!r} gives a new kernel the slug {derived!r}, not "
        f"{metadata.slug!r} as its id says: unless a kernel with that id exists, the first push "
        "may land there"
    )


def code(plan: Plan) -> Iterator[Finding]:
    """The language and the type of the code file."""
    language = plan.metadata.settings.language
    kind = plan.metadata.settings.kernel_type
    if language != "python":
        name = plan.metadata.code_file.name
        yield error(f'language is {language!r}, and {name} is Python: write "language": "python"')
    if kind not in ("notebook", "script"):
        yield error(f'kernel_type is {kind!r}: kernelkit pushes a "notebook" or a "script"')


def sources(plan: Plan) -> Iterator[Finding]:
    """Sources in a form that Kaggle drops or refuses."""
    for kind, (pattern, form) in SHAPES.items():
        for source in plan.metadata.sources[kind]:
            if not re.fullmatch(pattern, source):
                meant = bare(kind, source)
                advice = f': write "{meant}"' if meant else ""
                yield error(f"{kind}_sources: {source!r} is not {form}{advice}")


def machine(plan: Plan) -> Iterator[Finding]:
    """A machine that is retired or contradicts other settings, and a time beyond its limit."""
    settings, machine = plan.metadata.settings, plan.metadata.machine
    # `kaggle kernels pull -m` writes "Gpu", for which Kaggle chooses one.
    is_listed = machine.shape in machines.BY_SHAPE or machines.is_kind(machine.shape)
    if not is_listed:
        yield error(machines.unlisted_because(machine.shape))
        return
    if settings.enable_gpu and settings.enable_tpu:
        yield error("enable_gpu and enable_tpu are both true: choose one")
    for kind, is_on in (("gpu", settings.enable_gpu), ("tpu", settings.enable_tpu)):
        if is_on and plan.metadata.shape and machine.kind != kind:
            yield error(
                f"enable_{kind} is true, but machine_shape is {machine.shape} ({machine.words})"
            )
    wanted = plan.request.timeout
    if wanted and wanted > plan.minutes:
        yield error(
            f"--timeout {wanted:g} exceeds Kaggle's limit for a "
            f"{machine.kind.upper()} session: {plan.minutes:g} minutes"
        )


def image(plan: Plan) -> Iterator[Finding]:
    """A way of pinning an image that Kaggle does not know; a push to a TPU leaves the pin out."""
    pinning = plan.metadata.settings.docker_image_pinning_type
    if pinning not in (None, "original", "latest"):
        yield error(f"docker_image_pinning_type is {pinning!r}: write original or latest")

"""Findings as annotations of a GitHub job, which shows them in the files of a pull request."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

import click

from kernelkit.files import from_here
from kernelkit.push.checks.findings import Finding
from kernelkit.terminal import safe_text

LEVELS = {"error": "error", "warning": "warning", "guess": "warning"}  # others are notices
_PLACE = re.compile(
    r"([^\s:,(]+\.(?:ipynb|py|json|md|Rmd))(?:\[cell \d+\])?(?:, line (\d+)|:(\d+))?"
)


def annotate(findings: Iterable[Finding], metadata: Path) -> None:
    """In a GitHub job, print each finding as an annotation of the file that it is about.

    `metadata`: the file of a finding that names no other one. Annotations go to stderr, so that the
    output of --json stays lines of JSON.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    for finding in findings:
        level = LEVELS.get(finding.level, "notice")
        where = _where(finding.text, metadata)
        text = (
            safe_text.plain(finding.text)
            .replace("%", "%25")
            .replace("\r", "%0D")
            .replace("\n", "%0A")
        )
        click.echo(f"::{level} {where}::{text}", err=True)


def _where(text: str, metadata: Path) -> str:
    """The file that a finding names, and its line, in the form that GitHub reads."""
    named = _PLACE.search(text)
    if named is None:
        return f"file={_escaped(from_here(metadata))}"
    file, line = named[1], named[2] or named[3]
    for folder in (Path.cwd(), metadata.parent):
        path = folder / file
        if path.is_file():
            where = f"file={_escaped(from_here(path))}"
            # A notebook's lines are those of its cells, not of its file.
            return f"{where},line={line}" if line and path.suffix != ".ipynb" else where
    return f"file={_escaped(from_here(metadata))}"


def _escaped(value: str) -> str:
    return safe_text.one_line(value).replace("%", "%25").replace(",", "%2C").replace(":", "%3A")

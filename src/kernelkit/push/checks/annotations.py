"""Findings as annotations of a GitHub job, which shows them in the files of a pull request."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

import click

from kernelkit.push.checks.findings import Finding
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import from_here

_PLACE = re.compile(
    r"([^\s:,(]+\.(?:ipynb|py|json|md|Rmd))(?:\[cell \d+\])?(?:, line (\d+)|:(\d+))?"
)


def annotate(findings: Iterable[Finding], file: Path | None = None) -> None:
    """In a GitHub job, print each finding as an annotation of the file that it is about.

    `file`: the metadata, for a finding that names no other file. They go to stderr, so that the
    output of --json stays lines of JSON.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    for finding in findings:
        properties = _properties(finding.text, file)
        text = (
            safe_text.plain(finding.text)
            .replace("%", "%25")
            .replace("\r", "%0D")
            .replace("\n", "%0A")
        )
        level = "error" if finding.level == "error" else "warning"
        click.echo(f"::{level}{properties}::{text}", err=True)


def _properties(text: str, file: Path | None) -> str:
    """Where a finding is, in the form that GitHub reads."""
    named = _PLACE.search(text)
    folders = [Path.cwd(), file.parent] if file else [Path.cwd()]
    for folder in folders if named else []:
        path = folder / named[1]  # type: ignore[index]
        if path.is_file():
            line = named[2] or named[3]  # type: ignore[index]
            where = f" file={_escaped(from_here(path))}"
            # A notebook's lines are those of its cells, not of its file.
            return f"{where},line={line}" if line and path.suffix != ".ipynb" else where
    return f" file={_escaped(from_here(file))}" if file else ""


def _escaped(value: str) -> str:
    return safe_text.one_line(value).replace("%", "%25").replace(",", "%2C").replace(":", "%3A")

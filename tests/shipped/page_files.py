"""Writes what a page of the docs shows as files, here and below: each block whose title names one.

`python page_files.py PAGE`. A notebook's block becomes its only cell.
"""

import re
import sys
from pathlib import Path

import nbformat

TITLED = re.compile(r'^```\w+ title="([\w./-]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)

for name, text in TITLED.findall(Path(sys.argv[1]).read_text()):
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".ipynb":
        cell = nbformat.v4.new_code_cell(text)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), file)
    else:
        file.write_text(text)

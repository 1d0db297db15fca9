"""The script of a page, put together from files that import one another."""

import pytest

from kernelkit.pages.many_runs.runs_page import SCRIPT as MANY_RUNS
from kernelkit.pages.one_run.report_page import SCRIPT as REPORT
from kernelkit.pages.shared import standalone


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """`scripts({file: text})` writes files that are bundled in place of the kit's own."""
    monkeypatch.setattr(standalone, "SCRIPTS", tmp_path)

    def written(texts):
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    yield written
    standalone.bundled.cache_clear()


def test_each_file_is_a_function_after_those_of_its_imports(scripts):
    inner = "export const least = 2;\nconst own = 3;\nexport function sum() {\n  return own;\n}\n"
    outer = 'import { least, sum } from "../inner.js";\nimport { sum as again } from "./x.js";\n'
    with pytest.raises(FileNotFoundError):
        scripts({"inner.js": inner, "a/outer.js": outer})
        standalone.bundled("a/outer.js")
    scripts({"a/outer.js": outer.splitlines()[0] + "\nsum(least);\n"})
    assert standalone.bundled("a/outer.js").splitlines() == [
        '"use strict";',
        "const modules = {};",
        'modules["inner.js"] = (() => {',
        *("const least = 2;", "const own = 3;", "function sum() {", "  return own;", "}", ""),
        *("return { least, sum };", "})();"),
        'modules["a/outer.js"] = (() => {',
        'const { least, sum } = modules["inner.js"];',
        *("sum(least);", "", "return {  };", "})();"),
    ]


def test_files_that_import_one_another_are_refused(scripts):
    scripts({"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'})
    with pytest.raises(ValueError, match=r"import one another: a\.js > b\.js > a\.js"):
        standalone.bundled("a.js")


def test_every_file_is_in_a_page():
    code = standalone.bundled(REPORT) + standalone.bundled(MANY_RUNS)
    files = [path.relative_to(standalone.SCRIPTS) for path in standalone.SCRIPTS.rglob("*.js")]
    assert [file for file in files if f'modules["{file.as_posix()}"] =' not in code] == []
    assert "import {" not in code

from local_kaggle.execution.image import build_image
from local_kaggle.execution.sandbox import Sandbox


def test_packages_that_are_laid_beside_it_come_first(tmp_path, output_of):
    (tmp_path / "packages" / "numpy").mkdir(parents=True)
    (tmp_path / "packages" / "numpy" / "__init__.py").write_text("laid = True")
    python = build_image(tmp_path / "image")
    assert output_of("import numpy; print(numpy.laid)", python) == "True\n"


def test_no_entry_leads_elsewhere(python):
    site = next((python.parent.parent / "lib").glob("python*/site-packages"))
    leading = {path.name for pattern in ("*.pth", "__editable__*") for path in site.glob(pattern)}
    assert leading == {"_kaggle_paths.pth", "_server_errors.pth"}


def test_a_notebook_is_converted_there_as_at_the_desk(python, output_of, tmp_path):
    code = (
        "import nbformat, nbconvert; "
        "print(nbconvert.HTMLExporter(template_name='basic').from_notebook_node("
        "nbformat.v4.new_notebook())[0] is not None)"
    )
    box = Sandbox(tmp_path, python.parent.parent)
    path = box.environment()["JUPYTER_PATH"]
    box.discard()
    assert output_of(code, JUPYTER_PATH=path).endswith("True\n")

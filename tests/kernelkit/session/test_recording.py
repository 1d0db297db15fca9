"""What a session shows is kept, within bounds, and comes back as a notebook's outputs."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import nbformat
import pytest

from kernelkit.runs import kit_folder
from kernelkit.session import recording
from kernelkit.session.recording import MOST_BYTES, Recorder
from kernelkit.session_records import executed_cells


def cells(*sources):
    return [nbformat.v4.new_code_cell(source) for source in sources]


class Session:
    """A recorder and what the desk makes of its files."""

    def __init__(self, folder):
        self.folder = folder
        self.recorder = Recorder(str(kit_folder.path(folder, kit_folder.SESSION)))

    def cell(self, source):
        self.recorder.attempt(self.recorder.begin_cell, source)

    def send(self, kind, **content):
        self.recorder.attempt(self.recorder.take, kind, content)

    def stream(self, text, name="stdout"):
        self.send("stream", name=name, text=text)

    def show(self, identity=None, update=False, clear=(), **data):
        kind = "update_display_data" if update else "display_data"
        data = {name.replace("_", "/"): value for name, value in data.items()}
        self.send(kind, data=data, metadata={}, transient={"display_id": identity})

    def close(self):
        self.recorder.attempt(self.recorder.close)

    def outputs(self, *sources):
        """The outputs of the cells with these sources, by the desk."""
        self.close()
        self.recorder.over = True
        read = executed_cells.with_outputs(cells(*sources), self.folder)
        return [cell.outputs for cell in read]

    @property
    def size(self):
        place = kit_folder.path(self.folder, kit_folder.SESSION)
        return sum(path.stat().st_size for path in place.iterdir())


@pytest.fixture
def session(tmp_path):
    started = Session(tmp_path)
    yield started
    started.recorder.over = True


def test_what_cells_show_comes_back_to_them_in_order(session):
    session.cell("first")
    session.stream("one\n")
    session.show(text_plain="a table", text_html="<table></table>")
    session.stream("two\n")
    session.cell("second")
    session.send("error", ename="ValueError", evalue="withered", traceback=["line"])
    first, second, third = session.outputs("first", "second", "third")
    assert [output.output_type for output in first] == ["stream", "display_data", "stream"]
    assert first[1].data == {"text/plain": "a table", "text/html": "<table></table>"}
    assert second[0].evalue == "withered"
    assert third == []


def test_cells_of_the_same_text_get_their_own_outputs_and_cells_that_ran_have_counts(session):
    for number in range(2):
        session.cell("same")
        session.stream(f"{number}\n")
        session.cell("run inside of it")  # as %%capture does
    session.close()
    read = executed_cells.with_outputs(cells("same", "between", "same", "never"), session.folder)
    texts = ["".join(output.text for output in cell.outputs) for cell in read]
    assert texts == ["0\n", "", "1\n", ""]
    assert [cell.execution_count for cell in read] == [1, None, 2, None]


def test_thousands_of_updates_of_a_progress_bar_leave_its_end(session):
    session.cell("bar")
    for step in range(5_000):
        session.stream(f"\r{step}/5000 {'#' * (step // 100)}", "stderr")
        session.stream(f"\rstep {step}")
    session.stream("\nended\n")
    (shown,) = session.outputs("bar")
    assert len(shown) == 2
    assert shown[1].text.endswith("step 4999\nended\n")
    assert session.size < 10_000


def test_an_output_that_is_updated_thousands_of_times_is_kept_once(session):
    session.cell("display")
    session.show("d1", text_plain="begun")
    for step in range(5_000):
        session.show("d1", update=True, text_plain=f"update {step}")
    (shown,) = session.outputs("display")
    assert [output.data["text/plain"] for output in shown] == ["update 4999"]
    assert session.size < 1_000


def test_an_update_in_a_later_cell_changes_the_output_where_it_was_shown(session):
    session.cell("display")
    session.show("d1", text_plain="begun")
    session.cell("later")
    session.show("d1", update=True, text_plain="ended")
    display, later = session.outputs("display", "later")
    assert display[0].data["text/plain"] == "ended"
    assert later == []


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize("wait", [True, False])
def test_an_output_that_was_cleared_is_gone(session, written, wait):
    session.cell("frames")
    for frame in range(100):
        session.send("clear_output", wait=wait)
        session.stream(f"frame {frame}\n")
        session.show(text_plain=f"picture {frame}")
        if written:
            session.recorder.attempt(session.recorder.write)
    (shown,) = session.outputs("frames")
    assert [output.get("text") or output.data["text/plain"] for output in shown] == [
        "frame 99\n",
        "picture 99",
    ]


def test_what_an_output_widget_clears_is_not_the_cells(session):
    session.cell("interact")
    session.stream("before\n")
    session.send("comm_msg", comm_id="c", data={"method": "update", "state": {"msg_id": "m"}})
    session.send("clear_output", wait=True)
    session.stream("of the widget\n")
    session.send("comm_msg", comm_id="c", data={"method": "update", "state": {"value": 3}})
    session.send("clear_output", wait=False)
    session.send("comm_msg", comm_id="c", data={"method": "update", "state": {"msg_id": ""}})
    (shown,) = session.outputs("interact")
    assert [output.text for output in shown] == ["before\nof the widget\n"]
    session.recorder.over = False
    session.cell("frames")
    session.send("comm_msg", comm_id="another", data={"state": [1]})
    session.stream("one\n")
    session.send("clear_output", wait=True)
    session.stream("two\n")
    assert session.outputs("interact", "frames")[1][0].text == "two\n"


def test_of_a_long_text_both_ends_are_kept_and_it_says_so(session):
    session.cell("loud")
    line = "x" * 99 + "\n"
    session.stream("begun\n")
    for _ in range(200):
        session.stream(line * 10_000)  # 200 MB in all
    session.stream("ended\n")
    (shown,) = session.outputs("loud")
    text = shown[0].text
    assert text.startswith("begun\nxxx")
    assert text.endswith("xxx\nended\n")
    assert "characters omitted" in text
    assert len(text) < recording.LONGEST_TEXT + 200


def test_two_hundred_megabytes_of_text_take_little_memory(session):
    session.cell("loud")
    block = ("x" * 99 + "\n") * 100_000
    tracemalloc.start()
    for _ in range(20):
        session.stream(block)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000


def test_at_the_bound_the_largest_pictures_go_first_and_it_is_said(session):
    session.cell("pictures")
    session.show(text_html="<table>" + "x" * 3_000_000)
    for number in range(30):
        size = 2_000_000 if number % 10 == 0 else 900_000
        session.show(image_png=chr(65 + number) * size, text_plain=str(number))
    session.stream("ended\n")
    (shown,) = session.outputs("pictures")
    assert session.size <= MOST_BYTES
    kept = [output for output in shown if "image/png" in output.get("data", {})]
    lost = [o for o in shown if o.get("data", {}).get("text/plain", "").startswith("[left out")]
    assert len(kept) + len(lost) == 30
    assert {len(output.data["image/png"]) for output in kept} == {900_000}
    assert "text/html" in shown[0].data
    assert shown[-1].text == "ended\n"


def test_updates_that_were_replaced_go_before_any_picture(session):
    session.cell("live plot")
    session.show("plot", image_png="A" * 500_000)
    session.show(image_png="B" * 900_000)
    for _ in range(100):
        session.show("plot", update=True, image_png="C" * 500_000)
        session.recorder.attempt(session.recorder.write)
    (shown,) = session.outputs("live plot")
    assert session.size <= MOST_BYTES
    assert [output.data["image/png"][0] for output in shown] == ["C", "B"]


def test_a_process_that_is_killed_leaves_what_was_shown_until_then(tmp_path):
    folder = kit_folder.path(tmp_path, kit_folder.SESSION)
    source = (
        "import os, signal, sys, time\n"
        "from kernelkit.session import recording\n"
        "recording.PAUSE_SECONDS = 0.05\n"
        f"recorder = recording.Recorder({str(folder)!r})\n"
        "recorder.attempt(recorder.begin_cell, 'long')\n"
        "recorder.attempt(recorder.take, 'stream', {'name': 'stdout', 'text': '37 of 100'})\n"
        "time.sleep(0.5)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", source])
    (read,) = executed_cells.with_outputs(cells("long"), tmp_path)
    assert read.outputs[0].text == "37 of 100"


def test_whatever_goes_wrong_is_one_line_and_ends_nothing(tmp_path, capfd):
    (tmp_path / "file").write_text("")
    recorder = Recorder(str(tmp_path / "file" / "below"))
    recorder.attempt(recorder.begin_cell, "x")
    recorder.attempt(recorder.close)
    recorder.attempt(recorder.take, "stream", {"no": "text"})
    written = capfd.readouterr().err
    assert written.count("\n") == 1
    assert "the report lacks what cells show from here on: NotADirectoryError" in written


def test_a_message_of_another_shape_is_one_line(session, capfd):
    session.cell("x")
    session.send("stream", text=None)
    assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # JAX's, if a test imported it
def test_a_process_that_was_forked_keeps_nothing(session):
    session.cell("fork")
    pid = os.fork()
    if not pid:
        session.stream("child\n")
        os._exit(0)
    os.waitpid(pid, 0)
    session.stream("parent\n")
    assert session.outputs("fork")[0][0].text == "parent\n"


def test_a_file_that_was_closed_changes_no_more(session):
    session.cell("fails")
    session.stream("before\n")
    session.close()
    file = next(kit_folder.path(session.folder, kit_folder.SESSION).iterdir())
    before = file.read_bytes()
    session.stream("of a thread\n")
    session.cell("goes on")
    session.stream("after\n")
    fails, goes_on = session.outputs("fails", "goes on")
    assert file.read_bytes() == before
    assert fails[0].text == "before\n"
    assert goes_on[0].text == "after\n"


@pytest.mark.parametrize(
    "line",
    [
        "not JSON",
        "[]",
        '{"output": 3}',
        '{"output": {"output_type": "stream"}}',
        '{"output": {"output_type": "display_data", "data": {"text/plain": {"a": 1}}}}',
        '{"output": {"output_type": "error", "traceback": 3}}',
        '{"update": {"data": []}, "id": "never shown"}',
        '{"output": {"output_type": "pyout"}}',
        "[" * 100_000,
    ],
)
def test_a_record_of_any_shape_makes_a_valid_notebook(tmp_path, line):
    place = kit_folder.path(tmp_path, kit_folder.SESSION, "shown-001.jsonl")
    place.parent.mkdir(parents=True)
    place.write_text(f'{{"cell": "{recording.mark("x")}"}}\n{line}\n')
    read = executed_cells.with_outputs(cells("x"), tmp_path)
    nbformat.validate(nbformat.v4.new_notebook(cells=read))


SCRIPT = """
import matplotlib
matplotlib.use("agg")
import sys
sys.path.insert(0, {source!r})
from kernelkit.session import recording
end = recording.begin("kernelkit_session")
from matplotlib.pyplot import figure, plot, show, title, suptitle
import matplotlib.pyplot as plt
plot([1, 2]); title("the first")
show()
figure(); suptitle("the second"); plot([2, 1]); current = plt.gcf().number
show()
assert plt.gcf().number == current
show()
end()
"""


@pytest.mark.long
def test_the_figures_of_a_script_are_kept_where_matplotlib_shows_them(tmp_path):
    source = str(Path(recording.__file__).parents[2])
    (tmp_path / "script.py").write_text(SCRIPT.format(source=source))
    subprocess.run([sys.executable, "-W", "ignore", "script.py"], cwd=tmp_path, check=True)
    lines = (tmp_path / "kernelkit_session" / "shown-001.jsonl").read_text().splitlines()
    data = [json.loads(line)["output"]["data"] for line in lines]
    assert [each["text/plain"] for each in data] == ["the first", "the second"]
    assert all(each["image/png"].startswith("iVBOR") for each in data)

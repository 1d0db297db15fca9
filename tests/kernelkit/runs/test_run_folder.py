"""What is kept of a run does no harm to a terminal."""

import json

from kernelkit.runs import kit_folder, run_folder


def test_the_log_is_kept_without_control_sequences(tmp_path):
    log = json.dumps([{"data": "\x1b]0;title\x07\x1b[31mred\x1b[0m\x9b5n\n"}], ensure_ascii=False)
    run_folder.keep(tmp_path, log, "")
    assert kit_folder.path(tmp_path, kit_folder.LOG_TEXT).read_text() == "red\n"
    kept = kit_folder.path(tmp_path, kit_folder.LOG).read_text()
    assert all(c == "\n" or " " <= c < "\x7f" for c in kept)
    assert json.loads(kept) == json.loads(log)

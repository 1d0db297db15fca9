from __future__ import annotations

import pytest

from kernelkit.local_kaggle import Limits

SLEEP = "import time; time.sleep(60)"


@pytest.fixture(scope="module")
def limits() -> Limits:
    return Limits(lag_seconds=3600, queue_seconds=0, sessions={"cpu": 2, "gpu": 2, "tpu": 1})


def test_a_push_past_the_session_cap_is_refused_but_keeps_its_text(desk):
    desk.save("tpu-one", "print(1)", machineShape="TpuV5E8")
    desk.finish("tpu-one")
    desk.save("tpu-one", SLEEP, machineShape="TpuV5E8")
    desk.save("tpu-two", "print('first')")
    refused = desk.save("tpu-two", "print('second')", machineShape="TpuV5E8")
    assert refused["error"] == "Maximum batch TPU session count of 1 reached."
    assert "versionNumber" not in refused
    kernel = desk.call("GetKernel", userName="tester", kernelSlug="tpu-two")
    assert kernel["blob"]["source"] == "print('second')"
    assert kernel["metadata"]["currentVersionNumber"] == 1
    desk.call("DeleteKernel", userName="tester", kernelSlug="tpu-one")
    assert "error" not in desk.save("tpu-two", "print('third')", machineShape="TpuV5E8")
    desk.finish("tpu-two", 2)


def test_a_queued_session_counts_and_a_second_one_of_the_same_kernel_starts_beside_it(desk):
    desk.save("cpu-beside", SLEEP)
    assert desk.save("cpu-beside", SLEEP)["versionNumber"] == 2
    assert "CPU session count of 2" in desk.save("cpu-more", SLEEP)["error"]
    desk.call("DeleteKernel", userName="tester", kernelSlug="cpu-beside")
    assert desk.post("GetKernel", userName="tester", kernelSlug="cpu-beside").status_code == 403


def test_a_reader_that_names_no_version_is_told_of_the_one_before(desk):
    desk.save("no-label", "raise SystemExit(1)")
    assert desk.finish("no-label") == "ERROR"
    desk.save("no-label", "print('fine')")
    assert desk.finish("no-label", 2) == "COMPLETE"
    assert desk.status("no-label") == "ERROR"


def test_a_source_of_a_megabyte_is_refused(desk):
    answer = desk.save("too-large", "#" * 1_000_000)
    assert "must be less than 1 megabytes" in answer["error"]
    assert "error" not in desk.save("large-enough", "#" * 999_999)
    desk.finish("large-enough")


def test_sources_are_refused_in_the_answer_while_the_run_goes_on(desk):
    (desk.kaggle.catalogue / "competitions" / "flowers").mkdir(parents=True)
    answer = desk.save(
        "some-sources", "print(1)",
        competitionDataSources=["flowers", "c/flowers", "weeds"],
        datasetDataSources=["datasets/a/b", "a/b"],
        kernelDataSources=["a/b"], modelDataSources=["a/b/c/d/1"],
    )  # fmt: skip
    assert answer["invalidCompetitionSources"] == ["c/flowers", "weeds"]
    assert answer["invalidDatasetSources"] == ["datasets/a/b", "a/b"]
    assert answer["invalidKernelSources"] == ["a/b"]
    assert answer["invalidModelSources"] == ["a/b/c/d/1"]
    assert desk.finish("some-sources") == "COMPLETE"


def test_the_slug_comes_from_the_title(desk):
    answer = desk.save("the-slug", "print(1)", newTitle="Another Title")
    assert answer["ref"] == "/code/tester/another-title"
    again = desk.save("the-slug", "print(1)", newTitle="Another Title")
    assert "already in use" in again["error"]
    desk.finish("another-title")


@pytest.mark.parametrize(
    "fields",
    [{"newTitle": "four"}, {"language": "cobol"}, {"kernelType": "book"}, {"text": ""}],
)
def test_what_kaggle_would_not_take_is_refused(desk, fields):
    assert desk.save("not-taken", **{"text": "print(1)", **fields})["error"]


def test_a_quick_save_does_not_run(desk):
    desk.save("quick-save", "print(1)", kernelExecutionType="QUICK_SAVE")
    assert desk.status("quick-save", 1) == "NEW_SCRIPT"


def test_nobody_pushes_to_another_users_kernel(desk):
    response = desk.post("SaveKernel", slug="other/theirs", text="1", language="python",
                         kernelType="script")  # fmt: skip
    assert response.status_code == 403

import pytest

from local_kaggle.limits import ServerLimits

UNRUN = {"kernelExecutionType": "QUICK_SAVE"}
SLEEP = "import time; time.sleep(60)"


LIMITS = ServerLimits(lag_seconds=3600, queue_seconds=0, sessions={"cpu": 2, "gpu": 2, "tpu": 1})


def test_a_push_past_the_session_cap_is_refused_but_keeps_its_text(context):
    context.save("tpu-one", SLEEP, machineShape="TpuV5E8")
    context.save("tpu-two", "print('first')")
    refused = context.save("tpu-two", "print('second')", machineShape="TpuV5E8")
    assert refused["error"] == "Maximum batch TPU session count of 1 reached."
    assert "versionNumber" not in refused
    kernel = context.call("GetKernel", userName="tester", kernelSlug="tpu-two")
    assert kernel["blob"]["source"] == "print('second')"
    assert kernel["metadata"]["currentVersionNumber"] == 1
    context.call("DeleteKernel", userName="tester", kernelSlug="tpu-one")
    assert "error" not in context.save("tpu-two", "print('third')", machineShape="TpuV5E8")
    for version in (1, 2):  # the next test counts sessions
        context.finish("tpu-two", version)


def test_a_queued_session_counts_and_a_second_one_of_the_same_kernel_starts_beside_it(context):
    context.save("cpu-beside", SLEEP)
    assert context.save("cpu-beside", SLEEP)["versionNumber"] == 2
    assert "CPU session count of 2" in context.save("cpu-more", SLEEP)["error"]
    context.call("DeleteKernel", userName="tester", kernelSlug="cpu-beside")
    assert context.post("GetKernel", userName="tester", kernelSlug="cpu-beside").status_code == 403


def test_a_push_during_a_deletion_makes_a_new_kernel_that_a_quick_save_does_not_run(
    context, monkeypatch
):
    def push(*_):
        context.save("saved-again", "2", **UNRUN)

    push()
    monkeypatch.setattr(context.kaggle.sessions, "remove", push)
    context.call("DeleteKernel", userName="tester", kernelSlug="saved-again")
    assert context.status("saved-again", 1) == "NEW_SCRIPT"


def test_a_reader_that_names_no_version_is_told_of_the_one_before(context):
    context.save("no-label", "raise SystemExit(1)")
    assert context.finish("no-label") == "ERROR"
    context.save("no-label", "print('fine')")
    assert context.finish("no-label", 2) == "COMPLETE"
    assert context.status("no-label") == "ERROR"


def test_a_source_of_a_megabyte_is_refused(context):
    answer = context.save("too-large", "#" * 1_000_000)
    assert "must be less than 1 megabytes" in answer["error"]
    assert "error" not in context.save("large-enough", "#" * 999_999, **UNRUN)


def test_sources_are_refused_in_the_answer_while_the_run_goes_on(context):
    (context.kaggle.catalogue / "competitions" / "flowers").mkdir(parents=True)
    refused = {
        "Competition": ["c/flowers", "weeds"],
        "Dataset": ["datasets/a/b", "a/b"],
        "Kernel": ["a/b", f"a/b/{'9' * 5000}"],
        "Model": ["a/b/c/d/1", f"a/b/c/d/{'9' * 30}"],
    }
    sources = {f"{kind.lower()}DataSources": names for kind, names in refused.items()}
    sources["competitionDataSources"] = ["flowers", *refused["Competition"]]
    answer = context.save("some-sources", "print(1)", **sources)
    for kind, names in refused.items():
        assert answer[f"invalid{kind}Sources"] == names
    assert context.finish("some-sources") == "COMPLETE"


def test_the_slug_comes_from_the_title(context):
    answer = context.save("the-slug", "print(1)", newTitle="Another Title", **UNRUN)
    assert answer["ref"] == "/code/tester/another-title"
    again = context.save("the-slug", "print(1)", newTitle="Another Title")
    assert "already in use" in again["error"]


@pytest.mark.parametrize(
    "fields",
    [{"newTitle": "four"}, {"language": "cobol"}, {"kernelType": "book"}, {"text": ""}],
)
def test_what_kaggle_would_not_take_is_refused(context, fields):
    assert context.save("not-taken", **{"text": "print(1)", **fields})["error"]


def test_a_slug_without_its_owner_is_understood_beside_an_id(context):
    kinds = {"language": "python", "kernelType": "script", **UNRUN}
    kernel = context.call("SaveKernel", slug="tester/known-by-id", text="1", **kinds)["kernelId"]
    again = context.call("SaveKernel", slug="known-by-id", id=kernel, text="2", **kinds)
    assert again["versionNumber"] == 2


def test_nobody_pushes_to_another_users_kernel(context):
    response = context.post(
        "SaveKernel", slug="other/theirs", text="1", language="python", kernelType="script"
    )
    assert response.status_code == 403

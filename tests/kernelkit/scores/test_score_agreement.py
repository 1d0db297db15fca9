import pytest

from kernelkit.scores.score_agreement import ScoreAgreement


def test_equal_scores_share_their_mean_rank():
    pairs = [(0.1, 1.0), (0.2, 2.0), (0.2, 3.0), (0.4, 4.0), (0.5, 5.0)]
    assert ScoreAgreement.of(pairs).correlation == pytest.approx(0.9747, abs=1e-4)  # as SciPy's


def test_few_runs_are_not_compared():
    agreement = ScoreAgreement.of([(0.1, 0.9), (0.2, 0.8)])
    assert agreement.correlation is None
    assert agreement.contradicting == (False, False)
    assert agreement.in_words("garden", "2 runs") == ""


def test_only_the_run_out_of_order_contradicts():
    pairs = [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (0.4, 0.4), (0.5, 0.05)]
    assert ScoreAgreement.of(pairs).contradicting == (False, False, False, False, True)

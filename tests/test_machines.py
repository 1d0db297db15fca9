"""Kaggle's machines and figures stand once at the desk and once in the local Kaggle."""

from kernelkit import machines
from local_kaggle import ServerLimits, limits


def test_both_packages_know_the_same_machines():
    shapes = {
        kind: [m.shape for m in machines.MACHINES if m.kind == kind] for kind in machines.LIMITS
    }
    assert {kind: list(names) for kind, names in limits.SHAPES.items()} == shapes
    assert {kind: names[0] for kind, names in shapes.items()} | {"none": ""} == machines.TODAY
    assert limits.RETIRED == machines.RETIRED


def test_both_packages_know_the_same_limits():
    allowed = ServerLimits()
    for kind, account in machines.LIMITS.items():
        assert allowed.sessions[kind] == account.sessions
        assert allowed.session_seconds[kind] == account.hours_per_session * limits.HOUR
        weekly = account.hours_per_week and account.hours_per_week * limits.HOUR
        assert allowed.weekly_seconds.get(kind) == weekly

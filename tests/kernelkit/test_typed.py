"""Typed values of what files say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kernelkit import typed
from kernelkit.typed import declared


@dataclass(frozen=True)
class Leaf:
    name: str
    width: float = 1.0


@dataclass(frozen=True)
class Plant:
    title: str
    leaves: tuple[Leaf, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    tags: Sequence[str] = declared(list, each=r"\w+")
    soil: Mapping[str, Any] = declared(dict, keys=["sand", "clay"])
    height: int | None = None
    seeds: Sequence[int] | int = 0
    shown: bool = declared(True)


def test_values_have_their_declared_types():
    given = {"title": "fern", "leaves": [{"name": "a"}], "counts": {"x": 2}, "seeds": [1, 2]}
    plant = typed.read(Plant, given)
    assert plant.leaves == (Leaf("a"),)
    assert (plant.counts, plant.seeds, plant.height) == ({"x": 2}, [1, 2], None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "it is not a table"),
        ({}, "it has no title"),
        ({"titel": "a"}, "it has no key 'titel': did you mean title?"),
        ({"title": 1}, "title is not a text"),
        ({"title": "a\0b"}, "title is not a text"),
        ({"title": "\ud83c"}, "title is not a text"),
        ({"leaves": [{"name": "a"}, {}]}, "entry 2 of leaves has no name"),
        ({"leaves": [{"name": "a", "width": "1"}]}, "width of entry 1 of leaves is not a number"),
        ({"leaves": [{"name": "a", "width": float("nan")}]}, "is not a number"),
        ({"counts": {"x": True}}, "x of counts is not a whole number"),
        ({"counts": {"x": 10**400}}, "x of counts is not a whole number"),
        ({"tags": ["a", "b c"]}, "entry 2 of tags is something else"),
        ({"soil": {"sad": 1}}, "soil has no key 'sad': did you mean sand?"),
        ({"height": "tall"}, "height is not a whole number"),
        ({"seeds": "many"}, "seeds is not a list or a whole number"),
        ({"seeds": [1, "a"]}, "entry 2 of seeds is not a whole number"),
        ({"shown": 1}, "shown is not true or false"),
    ],
)
def test_what_is_wrong_is_named(given, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        typed.read(Plant, given)


def test_a_message_does_not_repeat_the_value():
    with pytest.raises(ValueError, match="tags is something else") as caught:
        typed.read(Plant, {"title": "a", "tags": ["https://me:token@example.com"]})
    assert "token" not in str(caught.value)


def test_what_the_kit_wrote_is_kept_without_what_a_later_version_added():
    assert typed.read_whole(Plant, {"title": "fern", "colour": "green"}) == Plant("fern")


@pytest.mark.parametrize("given", [None, [], {}, {"title": 3}, {"title": "a", "height": "b"}])
def test_what_has_another_type_is_not_kept(given):
    assert typed.read_whole(Plant, given) is None


def test_what_does_not_fit_is_parted_from_what_does():
    taken, others, misfits = typed.divide(Plant, {"title": "fern", "height": "tall", "age": 3})
    assert (taken, others) == ({"title": "fern"}, {"age": 3})
    assert [misfit.name for misfit in misfits] == ["height"]
